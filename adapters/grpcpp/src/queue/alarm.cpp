// Alarm.
#include <grpcpp/alarm.h>

#include "adapters/grpcpp/src/queue/callback_queue.hpp"
#include "adapters/grpcpp/src/queue/queue_core.hpp"
#include "adapters/grpcpp/src/values/deadlines.hpp"

#include "coracle/coro/sleep.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/runtime/start.hpp"

#include <mutex>
#include <utility>

namespace grpc {

namespace internal {

namespace {

coracle::task<bool> rest(coracle::time_point end) {
  co_await coracle::sleep_until(end);
  co_return true;
}

// Puts the event into the queue; it is not ok if the alarm was cancelled.
struct push_at_end {
  std::shared_ptr<queue_core> queue;
  std::unique_ptr<queue_event> event;
  void operator()(const coracle::outcome<bool>& o) {
    event->ok = o.ok();
    queue->push(std::move(event));
  }
};

// Calls a function, once.
class alarm_callback final : public callback_tag {
 public:
  explicit alarm_callback(std::function<void(bool)>&& call) : call_(std::move(call)) {}

 private:
  void run(bool ok) override {
    const std::unique_ptr<alarm_callback> self(this);
    call_(ok);
  }
  std::function<void(bool)> call_;
};

}  // namespace

// A sleep on the loop of the queue, which throws when it is cancelled. A thread that has taken the event may
// set the alarm again, or destroy it, before set() has returned on another.
class alarm_core {
 public:
  void set(std::shared_ptr<queue_core> queue, gpr_timespec deadline, void* tag) {
    auto event = std::make_unique<queue_event>(tag);
    if (until(deadline) <= coracle::duration::zero()) return push_now(*queue, std::move(event), true);
    const std::lock_guard lock(changing_);
    const coracle::time_point end = point_of(deadline);
    coracle::loop& where = queue->clients().at(0);
    queue_core& to = *queue;
    running_ = to.begin_with(
        [&] { return coracle::start(where, rest(end), push_at_end{std::move(queue), std::move(event)}); });
  }
  void cancel() {
    const std::lock_guard lock(changing_);
    running_.cancel();
  }

 private:
  std::mutex changing_;
  coracle::started running_;
};

}  // namespace internal

Alarm::Alarm() : core_(std::make_shared<internal::alarm_core>()) {}
Alarm::Alarm(Alarm&& other) noexcept = default;
Alarm& Alarm::operator=(Alarm&& other) noexcept = default;
Alarm::~Alarm() { Cancel(); }

void Alarm::Cancel() {
  if (core_) core_->cancel();
}

void Alarm::set(CompletionQueue& queue, gpr_timespec deadline, void* tag) {
  const auto kept = core_;
  kept->set(queue.core(), deadline, tag);
}

void Alarm::set(std::function<void(bool)> call, gpr_timespec deadline) {
  auto tag = std::make_unique<internal::alarm_callback>(std::move(call));
  set(internal::callback_queue(), deadline, static_cast<internal::callback_tag*>(tag.get()));
  static_cast<void>(tag.release());
}

}  // namespace grpc
