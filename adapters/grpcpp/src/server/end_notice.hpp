// end_notice: puts an event into a queue when a call of a server, or its end, has ended.
#pragma once

#include "adapters/grpcpp/src/queue/queue_core.hpp"
#include "adapters/grpcpp/src/server/server_call_core.hpp"

#include <memory>
#include <utility>

namespace grpc::internal {

// The event itself. An operation of the queue begins with it.
class end_notice final : public end_observer, public queue_event {
 public:
  // fails: the event of a call that was cancelled is not ok.
  end_notice(std::shared_ptr<queue_core> to, void* tag, bool fails)
      : queue_event(tag), to_(std::move(to)), fails_(fails) {
    to_->begin();
  }
  void ended(std::unique_ptr<end_observer> self, bool cancelled) noexcept override {
    ok = !fails_ || !cancelled;
    const std::shared_ptr<queue_core> to = std::move(to_);  // an event in a queue does not keep it
    static_cast<void>(self.release());
    to->push(std::unique_ptr<queue_event>(this));
  }

 private:
  std::shared_ptr<queue_core> to_;
  const bool fails_;
};

}  // namespace grpc::internal
