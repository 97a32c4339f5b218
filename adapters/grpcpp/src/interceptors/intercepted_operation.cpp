#include "adapters/grpcpp/src/interceptors/intercepted_operation.hpp"

#include <utility>

namespace grpc::internal {

// Has no events of its own.
class intercepted_operation::inner_core final : public queue_core {
 public:
  explicit inner_core(std::weak_ptr<queue_core> outer) : outer_(std::move(outer)) {
    static_cast<void>(set_diverting(true));
  }
  coracle::runtime& clients() override {
    const auto outer = outer_.lock();
    return outer ? outer->clients() : client_runtime();
  }
  using queue_core::delivered;
  using queue_core::goes_back;

 private:
  void divert(std::unique_ptr<queue_event> event) noexcept override {
    auto& of = *static_cast<intercepted_operation*>(tag_of(*event));
    const bool ok = event->ok;
    of.inner_ = std::move(event);
    of.end(ok);
  }
  const std::weak_ptr<queue_core> outer_;
};

std::shared_ptr<queue_core> intercepted_operation::inner_queue(std::weak_ptr<queue_core> outer) {
  return std::make_shared<inner_core>(std::move(outer));
}

void intercepted_operation::run_ended(std::unique_ptr<intercepted_operation> self, bool succeeded) {
  if (const auto queue = self->to_.lock()) queue->begin();
  self.release()->end(succeeded);
}

void intercepted_operation::run(std::unique_ptr<intercepted_operation> self) {
  intercepted_operation& of = *self.release();
  if (const auto queue = of.to_.lock()) queue->begin();
  of.seen->before(of.batch, [&of] {
    if (of.seen->hijacked()) return of.end(true);
    const auto start = std::move(of.begin);  // the object may be gone before it returns
    start(of);
  });
}

void intercepted_operation::end(bool succeeded) {
  ok = succeeded;
  push();
}

// Without a queue the event is dropped.
void intercepted_operation::push() {
  std::unique_ptr<queue_event> self(this);
  if (const auto queue = to_.lock()) queue->push(std::move(self));
}

void intercepted_operation::deliver() {
  if (inner_) inner_core::delivered(*inner_);
}

// After goes_back() has taken `self`, another thread may push it again.
bool intercepted_operation::goes_back(std::unique_ptr<queue_event>& self) {
  if (place_.load(std::memory_order_acquire) != place::done) {
    static_cast<void>(self.release());
    if (inner_) {
      ok = inner_->ok;
      if (inner_core::goes_back(inner_)) return true;
    }
    received(*this);
    inner_.reset();
    if (seen) seen->after(batch, [this] { let_go(); });
    else place_.store(place::done, std::memory_order_relaxed);
    if (place_.exchange(place::away, std::memory_order_acq_rel) != place::done) return true;
    place_.store(place::done, std::memory_order_relaxed);
    self.reset(this);
  }
  return hidden;
}

void intercepted_operation::let_go() {
  if (give) give(*this);
  if (place_.exchange(place::done, std::memory_order_acq_rel) == place::away) push();
}

void intercepted_operation::send(serialized_message&& message) {
  sends_ = true;
  if (!message.outcome.ok()) unsent_ = std::move(message);
  else if (message.lasting) batch.send(message.lasting, message.serialize);
  else batch.send(std::move(message.bytes), message.serialize);
}

serialized_message intercepted_operation::take_sent() {
  if (unsent_) return std::move(*unsent_);
  serialized_message sent;
  sent.outcome = batch.take_bytes(sent.bytes);
  return sent;
}

}  // namespace grpc::internal
