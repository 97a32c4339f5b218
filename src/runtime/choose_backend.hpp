// make_backends: selects the backend of a runtime, and logs the reason.
#pragma once

#include "runtime/backend.hpp"

#include "coracle/runtime/runtime_options.hpp"

#include <memory>
#include <string_view>
#include <vector>

namespace coracle::runtime_internal {

// Parses the value of CORACLE_BACKEND (null or "": automatic). Throws status_error for an unknown value.
backend_choice backend_choice_of(const char* environment_value);

// Makes one backend per loop, io_uring or epoll, as the options, the environment and the machine allow; logs
// the choice and its reason once, at level info. Throws status_error as documented at the constructor of
// runtime.
std::vector<std::unique_ptr<backend>> make_backends(const runtime_options& options);

}  // namespace coracle::runtime_internal
