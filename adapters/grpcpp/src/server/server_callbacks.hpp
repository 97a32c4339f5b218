// server_callbacks: where the callbacks of a server run.
#pragma once

#include "adapters/grpcpp/src/queue/callback_core.hpp"
#include "adapters/grpcpp/src/threads/queue_driver.hpp"

#include "coracle/runtime/loop.hpp"

#include <atomic>
#include <memory>
#include <vector>

namespace grpc::internal {

// Each loop has a leader that runs the callbacks of its calls, or threads run all of them. It also counts the
// calls of the callback API, which Shutdown() waits for: they may outlast what the client sees.
class server_callbacks {
 public:
  // Before the server listens, one of the two functions is called.
  server_callbacks() { of_loops_.push_back(std::make_shared<callback_core>()); }
  // One driver for each loop of the runtime.
  void lead(const std::vector<std::shared_ptr<queue_driver>>& drivers);
  void run_on_threads() noexcept { of_loops_.front()->start_on_threads(); }
  // No call is left. Not in a callback.
  void stop() noexcept {
    for (const auto& each : of_loops_) each->stop();
  }

  // Any thread:
  [[nodiscard]] const std::shared_ptr<callback_core>& of(const coracle::loop& calls) const noexcept {
    return of_loops_.size() == 1 ? of_loops_.front() : of_loops_[calls.index()];
  }
  void begin_call() noexcept { calls_.fetch_add(1, std::memory_order_relaxed); }
  void end_call() noexcept {
    if (calls_.fetch_sub(1, std::memory_order_acq_rel) == 1) calls_.notify_all();
  }
  void wait_for_calls() const noexcept {
    while (const int n = calls_.load(std::memory_order_acquire)) calls_.wait(n);
  }

 private:
  std::atomic<int> calls_{0};
  std::vector<std::shared_ptr<callback_core>> of_loops_;
};

inline void server_callbacks::lead(const std::vector<std::shared_ptr<queue_driver>>& drivers) {
  of_loops_.clear();
  for (const auto& driver : drivers) {
    of_loops_.push_back(std::make_shared<callback_core>());
    of_loops_.back()->set_driver(driver);
  }
  for (const auto& each : of_loops_) each->start();
}

}  // namespace grpc::internal
