// protobuf_log: controls what libprotobuf itself writes to stderr.
#pragma once

namespace coracle::tools {

// Disables the log from now on: commands report invalid messages with their own error messages.
void silence_protobuf();

}  // namespace coracle::tools
