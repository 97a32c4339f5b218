// library_log(): where the library's own lines go in a program with grpc++'s API.
#pragma once

#include "coracle/base/log.hpp"

#include <string>
#include <string_view>

namespace grpc::internal {

// The logger of all runtimes of the adapter. Lines go to the function of gpr_set_log_function() if the
// program has set one, and else to stderr, in the format of CORACLE_LOG_FORMAT.
//
// The levels come from CORACLE_LOG, or if that is not set, from GRPC_VERBOSITY and GRPC_TRACE, and change
// with gpr_set_log_verbosity(). Never destroyed. Any thread.
[[nodiscard]] coracle::logger& library_log() noexcept;

// Sets the levels that the values of GRPC_VERBOSITY and GRPC_TRACE ask for; both may be empty. A tracer turns
// on the lines of its room, from debug on. Returns the tracers that do not exist, separated by ", ".
std::string set_levels_of_grpc(coracle::logger& of, std::string_view verbosity, std::string_view tracers);

}  // namespace grpc::internal
