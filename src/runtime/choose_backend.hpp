// make_backends: which way to the kernel a runtime takes, and why.
#pragma once

#include "runtime/backend.hpp"

#include "coracle/runtime/runtime.hpp"

#include <memory>
#include <string_view>
#include <vector>

namespace coracle::runtime_internal {

// What CORACLE_BACKEND's value asks for (null or "": automatic). Throws status_error for an unknown one.
backend_choice backend_choice_of(const char* environment_value);

// One backend a loop, on io_uring or epoll as the options and the environment say and the machine
// allows; logs the choice and its reason once, at info. Throws status_error as runtime's constructor says.
std::vector<std::unique_ptr<backend>> make_backends(const runtime_options& options);

}  // namespace coracle::runtime_internal
