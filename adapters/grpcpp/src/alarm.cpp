// Alarm.
#include <grpcpp/alarm.h>

#include "client_runtime.hpp"
#include "deadlines.hpp"
#include "queue_core.hpp"

#include "coracle/coro/sleep.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/runtime/start.hpp"

#include <utility>

namespace grpc {

namespace internal {

namespace {

coracle::task<bool> rest(coracle::duration d) {
  co_await coracle::sleep_for(d);
  co_return true;
}

}  // namespace

// A sleep on the loop of the clients, which throws when it is cancelled.
class alarm_core {
 public:
  void set(std::shared_ptr<queue_core> queue, gpr_timespec deadline, void* tag) {
    running_ = start_for(std::move(queue), client_runtime().at(0), rest(until(deadline)),
                         std::make_unique<queue_event>(tag));
  }
  void cancel() { running_.cancel(); }

 private:
  coracle::started running_;
};

}  // namespace internal

Alarm::Alarm() : core_(std::make_unique<internal::alarm_core>()) {}
Alarm::Alarm(Alarm&& other) noexcept = default;
Alarm& Alarm::operator=(Alarm&& other) noexcept = default;
Alarm::~Alarm() = default;

void Alarm::Cancel() {
  if (core_) core_->cancel();
}

void Alarm::set(CompletionQueue& queue, gpr_timespec deadline, void* tag) {
  core_->set(queue.core(), deadline, tag);
}

}  // namespace grpc
