#include "adapters/grpcpp/src/server/requested_calls.hpp"

#include "adapters/grpcpp/src/interceptors/intercepted_operation.hpp"
#include "adapters/grpcpp/src/server/end_notice.hpp"
#include "adapters/grpcpp/src/server/server_context_access.hpp"

#include <grpcpp/completion_queue.h>
#include <grpcpp/support/async_stream.h>

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace grpc::internal {

namespace {

// The event of AsyncNotifyWhenDone() for interceptors, which see the end though the program may not.
class intercepted_done_notice final : public end_observer {
 public:
  intercepted_done_notice(std::shared_ptr<call_interception> by, const std::shared_ptr<queue_core>& to,
                          std::optional<void*> tag)
      : event_(std::make_unique<intercepted_operation>(std::move(by), to, tag.value_or(nullptr))) {
    event_->hidden = !tag;
    event_->received = [](intercepted_operation& o) {
      o.batch.add(experimental::InterceptionHookPoints::POST_RECV_CLOSE);
    };
    to->begin();
  }
  void ended(std::unique_ptr<end_observer> /*self*/, bool /*cancelled*/) noexcept override {
    event_.release()->end(true);
  }

 private:
  std::unique_ptr<intercepted_operation> event_;
};

}  // namespace

// --- requests

call_request::call_request(std::shared_ptr<requested_calls> from, const wanted_call& wanted, bool intercepted)
    : queue_event(wanted.tag), from_(std::move(from)), wanted_(wanted), intercepted_(intercepted) {}

call_request::~call_request() {
  if (call_) call_->try_cancel();
}

std::shared_ptr<queue_core> call_request::queue_of_event() const {
  return intercepted_ ? intercepted_operation::inner_queue() : wanted_.notification_queue->core();
}

void call_request::deliver() {
  if (!call_) return;
  ServerContext& context = *wanted_.context;
  if (wanted_.request.decode &&
      !wanted_.request.decode(call_->take_request(), wanted_.request.message).ok()) {
    call_end end;
    end.outcome = Status(StatusCode::INTERNAL, "the request does not parse");
    std::exchange(call_, nullptr)->finish(std::move(end), nullptr);
    goes_back_ = true;
    return;
  }
  server_context_access::bind(context, call_);
  std::shared_ptr<const server_interceptors> interceptors = from_->interceptors();
  if (wanted_.method) {
    *wanted_.method = call_->method();
    interceptors = for_generic_call(interceptors, *wanted_.method);
  }
  const std::shared_ptr<queue_core>& queue = wanted_.call_queue->core();
  seen_ = intercept_call(std::move(interceptors), context);
  wanted_.stream->bind(call_, queue, seen_);
  const auto tag = server_context_access::done_tag(context);
  if (seen_) [[unlikely]]
    call_->observe_end(std::make_unique<intercepted_done_notice>(seen_, queue, tag));
  else if (tag) call_->observe_end(std::make_unique<end_notice>(queue, *tag, false));
  call_.reset();
}

// Other threads may have found the queue drained, if it is shut down: the request then ends.
bool call_request::goes_back(std::unique_ptr<queue_event>& self) {
  if (!std::exchange(goes_back_, false)) return false;
  const std::shared_ptr<requested_calls> to = from_;  // self may be gone before it returns
  if (to->request_again(self)) return true;
  ok = false;
  return false;
}

namespace {

// The interceptors of the call see its beginning before the program does.
void request_intercepted(const std::shared_ptr<requested_calls>& from, wanted_call wanted) {
  const auto& queue = wanted.notification_queue->core();
  auto op = std::make_unique<intercepted_operation>(nullptr, queue, wanted.tag);
  op->received = [message = wanted.request.message](intercepted_operation& o) {
    o.seen = static_cast<call_request*>(o.inner_event())->seen();
    if (!o.seen) return;  // the server is shut down, or they do not want to see this one
    o.batch.receives_initial = o.seen->first_receive();
    o.batch.add(experimental::InterceptionHookPoints::POST_RECV_INITIAL_METADATA);
    if (!message) return;
    o.batch.receive(message);
    o.batch.set_received(true);
  };
  queue->begin();
  wanted.tag = op.release();
  from->request(std::make_unique<call_request>(from, wanted, true));
}

}  // namespace

void request_call(const std::shared_ptr<requested_calls>& from, const wanted_call& wanted) {
  if (from && from->interceptors()) [[unlikely]]
    return request_intercepted(from, wanted);
  if (from) return from->request(std::make_unique<call_request>(from, wanted, false));
  auto event = std::make_unique<queue_event>(wanted.tag);
  event->ok = false;
  const auto& queue = wanted.notification_queue->core();
  queue->begin();
  queue->push(std::move(event));
}

// --- calls

void requested_calls::give(std::unique_ptr<call_request> to, std::shared_ptr<server_call_core> call) {
  to->call_ = std::move(call);
  const std::shared_ptr<queue_core> queue = std::move(to->queue_);
  queue->push(std::move(to));
}

template <class Waiting>
Waiting requested_calls::take_first(std::deque<Waiting> waiting::* kind, std::size_t first) {
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    std::deque<Waiting>& from = waiting_[(first + i) % waiting_.size()].*kind;
    if (from.empty()) continue;
    Waiting taken = std::move(from.front());
    from.pop_front();
    return taken;
  }
  return nullptr;
}

coracle::status requested_calls::begin(std::shared_ptr<server_call_core> call) {
  const std::size_t loop = call->loop().index() % waiting_.size();
  std::unique_ptr<call_request> first;
  {
    const std::lock_guard lock(changing_);
    if (shut_down_) return coracle::status::unavailable("the server is shut down");
    // The queue of a loop that the watch drives has no thread that takes events, or several.
    first = take_first(&waiting::requests, queue_driver::is_on_watch() ? loop + 1 : loop);
    if (!first) {
      waiting_[loop].calls.push_back(std::move(call));
      return coracle::ok;
    }
  }
  give(std::move(first), std::move(call));
  return coracle::ok;
}

void requested_calls::forget(server_call_core& call) noexcept {
  const std::lock_guard lock(changing_);
  std::erase_if(waiting_[call.loop().index() % waiting_.size()].calls,
                [&](const auto& waits) { return waits.get() == &call; });
}

void requested_calls::request(std::unique_ptr<call_request> next) {
  next->queue_ = next->queue_of_event();
  next->queue_->begin();
  wait_for_call(std::move(next));
}

bool requested_calls::request_again(std::unique_ptr<queue_event>& which) {
  call_request& again = static_cast<call_request&>(*which);
  auto queue = again.queue_of_event();
  if (!queue->begin_unless_shut_down()) return false;
  again.queue_ = std::move(queue);
  static_cast<void>(which.release());
  wait_for_call(std::unique_ptr<call_request>(&again));
  return true;
}

void requested_calls::wait_for_call(std::unique_ptr<call_request> next) {
  const std::size_t loop = next->wanted_.notification_queue->core()->loop_of_server() % waiting_.size();
  std::shared_ptr<server_call_core> call;
  {
    const std::lock_guard lock(changing_);
    if (!shut_down_) {
      // Calls of a loop whose queue has too few requests get some of those of other queues.
      constexpr std::size_t any_after = 16;
      const std::size_t n = ++requested_;
      call = take_first(&waiting::calls, n % any_after == 0 ? n / any_after : loop);
      if (!call) {
        waiting_[loop].requests.push_back(std::move(next));
        return;
      }
    }
  }
  next->ok = call != nullptr;
  give(std::move(next), std::move(call));
}

bool requested_calls::is_shut_down() {
  const std::lock_guard lock(changing_);
  return shut_down_;
}

void requested_calls::shut_down() {
  std::vector<waiting> all(waiting_.size());
  {
    const std::lock_guard lock(changing_);
    shut_down_ = true;
    // One by one: how many there are is read without the lock.
    for (std::size_t i = 0; i < all.size(); ++i) std::swap(all[i], waiting_[i]);
  }
  for (waiting& each : all) {
    for (auto& request : each.requests) {
      request->ok = false;
      give(std::move(request), nullptr);
    }
    for (const auto& call : each.calls) call->try_cancel();
  }
}

}  // namespace grpc::internal
