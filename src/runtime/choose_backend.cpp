#include "runtime/choose_backend.hpp"

#include "runtime/epoll/epoll_loop.hpp"
#include "runtime/kernel/kernel_backend.hpp"
#include "runtime/uring/uring_backend.hpp"

#include "coracle/base/result.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <thread>

namespace coracle::runtime_internal {

namespace {

[[noreturn]] void refuse(const std::string& reason, status_code code = status_code::failed_precondition) {
  throw status_error(status(code, reason));
}

// Every machine supports epoll: only a lack of resources can prevent it.
std::unique_ptr<backend> on_epoll(logger& log) {
  int error = 0;
  auto made = make_epoll_backend(log, error);
  if (!made) refuse("epoll is not available: " + describe_error(error), status_code::resource_exhausted);
  return made;
}

}  // namespace

backend_choice backend_choice_of(const char* environment_value) {
  const std::string_view text = environment_value ? environment_value : "";
  if (text.empty() || text == "auto") return backend_choice::automatic;
  if (text == "io_uring") return backend_choice::io_uring;
  if (text == "epoll") return backend_choice::epoll;
  refuse("CORACLE_BACKEND is \"" + std::string(text) + "\": it must be auto, io_uring or epoll");
}

std::vector<std::unique_ptr<backend>> make_backends(const runtime_options& options) {
  backend_choice choice = options.backend;
  const char* reason = "requested by the program";
  if (choice == backend_choice::automatic) {
    choice = backend_choice_of(std::getenv("CORACLE_BACKEND"));
    reason = choice == backend_choice::automatic ? "available" : "requested by CORACLE_BACKEND";
  }
  const std::size_t loops = options.loops ? options.loops : std::max(1u, std::thread::hardware_concurrency());
  logger& log = options.log ? *options.log : stderr_logger();
  std::vector<std::unique_ptr<backend>> made;
  std::string uring_failure;
  for (std::size_t i = 0; i < loops; ++i) {
    std::unique_ptr<backend> one;
    if (choice != backend_choice::epoll && uring_failure.empty()) {
      uring_faults faults = injected_faults();
      if (i >= faults.loops_with_rings) faults.setup_error = ENOMEM, faults.setups_failing = 0;
      one = make_uring_backend(log, uring_failure, faults);
      if (!one && choice == backend_choice::io_uring) refuse("io_uring is not available: " + uring_failure);
    }
    made.push_back(one ? std::move(one) : on_epoll(log));
  }
  if (log.is_enabled(log_room::runtime, log_level::info)) {
    std::string text = std::to_string(loops) + (loops == 1 ? " loop on " : " loops on ");
    text.append(made[0]->name())
        .append(": ")
        .append(uring_failure.empty() ? reason : "io_uring is not available: " + uring_failure);
    if (made[0]->name() != made.back()->name()) text += " for all loops, the remaining loops use epoll";
    log.write(log_room::runtime, log_level::info, text);
  }
  return made;
}

}  // namespace coracle::runtime_internal
