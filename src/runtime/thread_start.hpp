// start_thread: a thread of the library's own.
#pragma once

#include <functional>
#include <string>
#include <thread>

namespace coracle::runtime_internal {

// Starts `body` on a thread with this name (15 characters count) and with all signals blocked but
// those that a fault of its own raises: signals are for the program's threads.
std::thread start_thread(const std::string& name, std::function<void()> body);

}  // namespace coracle::runtime_internal
