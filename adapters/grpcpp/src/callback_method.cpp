#include "callback_method.hpp"

#include "coracle/base/log.hpp"
#include "coracle/coro/block_on.hpp"
#include "coracle/runtime/loop.hpp"

#include <sys/resource.h>

namespace grpc::internal {
namespace {

// Enough to tell a method that blocks from one that met a lock that was taken, or had to wait for memory.
constexpr int trial_callbacks = 64;
constexpr int blocked_max = 3;
// What occupies a loop for so long harms its other calls, be it work or waiting. A thread that the system has
// stopped for others does not stand still for as long.
constexpr std::chrono::milliseconds long_callback{200};

thread_local callback_method* callback_of_thread = nullptr;

// How often the thread has given up its core to wait.
long waits_of_thread() noexcept {
  ::rusage used{};
  return ::getrusage(RUSAGE_THREAD, &used) == 0 ? used.ru_nvcsw : 0;
}

}  // namespace

callback_method::watch::watch(callback_method& of) noexcept
    : of_(of),
      outer_(std::exchange(callback_of_thread, &of)),
      on_loop_(coracle::loop::current() != nullptr),
      on_trial_(!on_loop_ && of.where_.load(std::memory_order_relaxed) == place::on_trial) {
  if (on_loop_) began_ = std::chrono::steady_clock::now();
  if (on_trial_) waits_ = waits_of_thread();
}

callback_method::watch::~watch() {
  callback_of_thread = outer_;
  if (on_trial_) of_.tried(waits_of_thread() != waits_);
  if (!on_loop_) return;
  const auto took = std::chrono::steady_clock::now() - began_;
  if (took >= long_callback) [[unlikely]]
    of_.move_to_threads("occupied a loop for " +
                        std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()) +
                        " ms");
}

void callback_method::tried(bool blocked) noexcept {
  if (blocked && blocked_.fetch_add(1, std::memory_order_relaxed) == blocked_max)
    return move_to_threads("blocks");
  if (tried_.fetch_add(1, std::memory_order_relaxed) + 1 != trial_callbacks) return;
  place expected = place::on_trial;
  where_.compare_exchange_strong(expected, place::loop);
}

void callback_method::move_to_threads(const std::string& why) noexcept {
  if (where_.exchange(place::threads) == place::threads) return;
  coracle::stderr_logger().warning("grpc++: a callback of ", name_, " ", why,
                                   ": from now on the callbacks of this method run on threads");
}

void callback_method::before_blocking() {
  if (callback_of_thread) callback_of_thread->move_to_threads("makes a synchronous call");
  else coracle::coro::require_no_executor();
}

}  // namespace grpc::internal
