#include "adapters/grpcpp/src/server/callback_method.hpp"
#include "adapters/grpcpp/src/process/library_log.hpp"

#include "coracle/base/log.hpp"

#include <time.h>

namespace grpc::internal {
namespace {

// A thread that the system has stopped for others does not stand still for as long.
constexpr std::chrono::milliseconds long_callback{200};

// Is read for each callback, to some milliseconds.
std::chrono::nanoseconds coarse_now() noexcept {
  ::timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

thread_local callback_method* callback_of_thread = nullptr;

}  // namespace

callback_method::watch::watch(callback_method& of) noexcept
    : of_(of), outer_(std::exchange(callback_of_thread, &of)), began_(coarse_now()) {}

callback_method::watch::~watch() {
  callback_of_thread = outer_;
  const auto took = coarse_now() - began_;
  if (took >= long_callback) [[unlikely]]
    of_.log_once("took " +
                 std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()) + " ms");
}

void callback_method::log_once(const std::string& what) noexcept {
  if (logged_.load(std::memory_order_relaxed) || logged_.exchange(true)) return;
  internal::library_log()
      .in(coracle::log_room::adapters)
      .warning("grpc++: a callback of ", name_, " ", what,
               ": meanwhile other callbacks hop to other threads. If they all block, give each a "
               "thread: AddChannelArgument(CORACLE_ARG_CALLBACK_THREADS, 1)");
}

void callback_method::caller_blocks() noexcept {
  if (callback_of_thread) callback_of_thread->log_once("makes a synchronous call");
}

}  // namespace grpc::internal
