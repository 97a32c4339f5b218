// require_one_library(): a process has one library with the names of grpc++.
#pragma once

namespace grpc::internal {

// Ends the program with one line if libgrpc++ or libgrpc is in the process, too: both define the same names,
// and the linker mixes their functions. Called for each channel and server; fast if nothing was loaded since
// the last call.
void require_one_library();

}  // namespace grpc::internal
