// client_loop: a loop for the calls whose events one queue of the program takes.
#pragma once

#include "adapters/grpcpp/src/threads/queue_driver.hpp"

#include "coracle/runtime/runtime.hpp"

#include <memory>

namespace grpc::internal {

// The thread that takes the events of the queue drives the loop meanwhile: the calls of a client with one
// thread hop between no threads. A channel has a connection of its own on each loop that it is used from.
//
// A loop outlives its queue: the next queue takes it, with the connections that channels have there. So a
// program that makes a queue for each call makes no connection for each. Loops last until the process ends.
class client_loop {
 public:
  // For a queue, until give_back(). Null: there are as many as there may be, or the system refuses one; the
  // loop of client_runtime() then serves the queue.
  static client_loop* take() noexcept;
  // No thread takes events of the queue any more. Any thread.
  void give_back() noexcept;

  [[nodiscard]] coracle::runtime& runtime() noexcept { return runtime_; }
  [[nodiscard]] const std::shared_ptr<queue_driver>& driver() const noexcept { return driver_; }

 private:
  client_loop();
  coracle::runtime runtime_;
  std::shared_ptr<queue_driver> driver_;
};

}  // namespace grpc::internal
