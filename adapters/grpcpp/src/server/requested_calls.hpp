// requested_calls: the calls of a method that the program requests by completion queues.
#pragma once

#include <grpcpp/impl/server_queue_call.h>

#include "adapters/grpcpp/src/interceptors/interception.hpp"
#include "adapters/grpcpp/src/queue/queue_core.hpp"
#include "adapters/grpcpp/src/server/server_call_core.hpp"

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace grpc::internal {

// A request of the program, which becomes the event that tells it of its call.
class call_request : public queue_event {
 public:
  // intercepted: the tag is an intercepted_operation.
  call_request(std::shared_ptr<requested_calls> from, const wanted_call& wanted, bool intercepted);
  // An event that the program did not take: its call ends.
  ~call_request() override;
  // After the event was taken: the interceptors of the call, or null.
  [[nodiscard]] const std::shared_ptr<call_interception>& seen() const noexcept { return seen_; }

 private:
  friend class requested_calls;
  void deliver() override;
  bool goes_back(std::unique_ptr<queue_event>& self) override;
  // Where the event is put: a queue of its own if it is the inner one of an intercepted_operation.
  [[nodiscard]] std::shared_ptr<queue_core> queue_of_event() const;

  std::shared_ptr<requested_calls> from_;
  wanted_call wanted_;
  std::shared_ptr<call_interception> seen_;
  std::shared_ptr<queue_core> queue_;  // null in the queue, which owns the object then
  std::shared_ptr<server_call_core> call_;  // null: the server is shut down
  const bool intercepted_;
  bool goes_back_ = false;
};

// Gives each call to a request. Calls wait for requests, and requests for calls. Those of one loop find each
// other first: where each queue drives a loop, the call then never leaves its thread. Others have what is left.
class requested_calls final : public call_starter, public std::enable_shared_from_this<requested_calls> {
 public:
  // Null interceptors: none see the calls. loops: of the server.
  requested_calls(std::shared_ptr<const server_interceptors> seen_by, std::size_t loops)
      : seen_by_(std::move(seen_by)), waiting_(loops) {}
  [[nodiscard]] const std::shared_ptr<const server_interceptors>& interceptors() const noexcept {
    return seen_by_;
  }
  coracle::status begin(std::shared_ptr<server_call_core> call) override;
  void forget(server_call_core& call) noexcept override;

  // Any thread.
  void request(std::unique_ptr<call_request> next);
  // Requests another call, and takes the request. False: the queue is shut down.
  bool request_again(std::unique_ptr<queue_event>& which);
  // Ends the requests, and the calls that wait; and those that come later.
  void shut_down();
  [[nodiscard]] bool is_shut_down();

 private:
  // After begin() of its queue.
  void wait_for_call(std::unique_ptr<call_request> next);
  // Gives the call to the program.
  static void give(std::unique_ptr<call_request> to, std::shared_ptr<server_call_core> call);
  struct waiting {
    std::deque<std::unique_ptr<call_request>> requests;  // by queues that drive the loop
    std::deque<std::shared_ptr<server_call_core>> calls;
  };
  // With the lock: takes the first one of that loop, or of the next one that has any; null: there is none.
  template <class Waiting>
  Waiting take_first(std::deque<Waiting> waiting::* kind, std::size_t first);

  const std::shared_ptr<const server_interceptors> seen_by_;
  std::mutex changing_;
  std::vector<waiting> waiting_;
  std::size_t requested_ = 0;
  bool shut_down_ = false;
};

}  // namespace grpc::internal
