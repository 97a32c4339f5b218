// callback_core: a queue whose events are callbacks, and the threads that run them.
#pragma once

#include <grpcpp/impl/callback_tag.h>

#include "adapters/grpcpp/src/queue/queue_core.hpp"
#include "adapters/grpcpp/src/threads/handler_pool.hpp"

#include <limits>
#include <memory>
#include <thread>

namespace grpc::internal {

// The tag of each event is a callback_tag. Its run() is called on a thread for callbacks, after the message that
// the event has, if any, was parsed there.
//
// One thread, the leader, drives the loop of the calls and runs the callbacks between two turns: nothing hops.
// While a callback holds it up, the watch of the loop drives, and other threads run the callbacks: at once if it
// makes a synchronous call, else after 10 to 20 ms. So a callback may wait for anything that another one, or a
// call of the same loop, makes happen. If callbacks take long often, threads run all of them, for good.
class callback_core final : public queue_core {
 public:
  callback_core() = default;
  ~callback_core() override { stop(); }
  // Begins to lead the loop of the driver that the queue has. Without one, as start_on_threads().
  void start();
  // The same for a core that lasts until the process ends.
  void start_for_process();
  // Threads run all callbacks; others drive the loops where they arise.
  void start_on_threads() noexcept { set_left(true); }
  // Waits for the callbacks that run, and ends the threads. No operation is left. Not on one of them.
  void stop() noexcept;

  // Has a thread call run(ok).
  void post(callback_tag& tag, bool ok = true);

 private:
  class callback;
  bool went_back(std::unique_ptr<queue_event>& event);
  void lead() noexcept;
  // Whether the leader is held up.
  void set_left(bool left) noexcept;
  void divert(std::unique_ptr<queue_event> event) noexcept override;

  static constexpr const char* thread_name = "grpcpp-callback";
  int long_ = 0;  // what the long callbacks count for, less the short ones
  handler_pool threads_{{std::numeric_limits<std::size_t>::max()}, thread_name};
  std::thread leader_;
};

}  // namespace grpc::internal
