#include "completion.hpp"

#include "coracle/client/then.hpp"

#include "streams.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

namespace coracle::c_abi {

event_queue::event_queue(std::shared_ptr<shared_runtime> of, const coracle_queue_options& options)
    : owner_(std::move(of)), wake_(options.wake), context_(options.context), batches_(owner_->size()) {
  for (batch& b : batches_) b.run = &event_queue::flush;
  if (!options.descriptor) return;
  descriptor_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor_ < 0) throw failure(CORACLE_FAILED, "eventfd: " + std::system_category().message(errno));
}

event_queue::~event_queue() {
  while (completion* c = pop()) delete c;
  if (descriptor_ >= 0) ::close(descriptor_);
}

void event_queue::expect() {
  const std::lock_guard lock(changing_);
  if (closed_) throw_invalid_handle(handle_kind::queue, 0);
  ++pending_;
}

void event_queue::forget() noexcept {
  const std::lock_guard lock(changing_);
  --pending_;
}

void event_queue::deliver(std::unique_ptr<completion> ended) noexcept {
  loop& here = *loop::current();
  batch& b = batches_[here.index()];
  completion* const c = ended.release();
  c->next_ = nullptr;
  if (b.last) b.last->next_ = c;
  else b.first = c;
  b.last = c;
  ++b.count;
  if (b.to) return;
  b.to = shared_from_this();
  here.at_turn_end(b);
}

void event_queue::flush(coro::runnable& w) noexcept {
  auto& b = static_cast<batch&>(w);
  const std::shared_ptr<event_queue> to = std::move(b.to);
  to->append(std::exchange(b.first, nullptr), std::exchange(b.last, nullptr), std::exchange(b.count, 0));
}

void event_queue::append(completion* first, completion* last, std::uint32_t count) noexcept {
  bool wake = false;
  {
    const std::lock_guard lock(changing_);
    wake = !first_;
    if (last_) last_->next_ = first;
    else first_ = first;
    last_ = last;
    for (completion* c = first; c; c = c->next_) c->expected_ = false;
    pending_ -= count;
    if (wake) {
      ++flushing_;
      if (descriptor_ >= 0 && !signalled_) {
        signalled_ = true;
        ::eventfd_write(descriptor_, 1);
      }
      if (waiting_) changed_.notify_one();
    }
  }
  if (!wake) return;
  if (wake_) wake_(context_);
  const std::lock_guard lock(changing_);
  if (--flushing_ == 0 && closed_) changed_.notify_all();
}

completion* event_queue::pop() noexcept {
  completion* const c = first_;
  if (!c) return nullptr;
  first_ = c->next_;
  if (!first_) last_ = nullptr;
  return c;
}

std::size_t event_queue::take(coracle_event* events, std::size_t event_size, std::size_t max,
                              std::int64_t timeout_ns) {
  completion* taken = nullptr;
  std::size_t count = 0;
  {
    std::unique_lock lock(changing_);
    if (!first_ && timeout_ns > 0) {
      ++waiting_;
      const auto ready = [this] { return first_ || closed_; };
      if (timeout_ns == std::numeric_limits<std::int64_t>::max()) changed_.wait(lock, ready);
      else changed_.wait_for(lock, std::chrono::nanoseconds(timeout_ns), ready);
      --waiting_;
    }
    completion* end = nullptr;
    taken = first_;
    for (; first_ && count < max; ++count) end = pop();
    if (end) end->next_ = nullptr;
    if (!first_ && signalled_) {
      eventfd_t ignored = 0;
      ::eventfd_read(descriptor_, &ignored);
      signalled_ = false;
    }
    if (first_ && waiting_) changed_.notify_one();
  }
  auto* to = reinterpret_cast<unsigned char*>(events);
  for (std::size_t i = 0; i < count; ++i, to += event_size) {
    completion* const next = taken->next_;
    completion::hand_out(std::unique_ptr<completion>(taken), reinterpret_cast<coracle_event*>(to),
                         event_size);
    taken = next;
  }
  return count;
}

void event_queue::close() {
  std::unique_lock lock(changing_);
  if (pending_)
    throw failure(CORACLE_BUSY,
                  std::to_string(pending_) +
                      " operations or methods of servers complete in this queue: cancel the calls "
                      "and take their events, and destroy the servers, first");
  closed_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return flushing_ == 0; });
  // They refer to this queue, and would keep it.
  completion* left = std::exchange(first_, nullptr);
  last_ = nullptr;
  lock.unlock();
  while (left) delete std::exchange(left, left->next_);
}

void blocked_thread::deliver(std::unique_ptr<completion> ended) noexcept {
  const std::lock_guard lock(changing_);
  ended_ = std::move(ended);
  changed_.notify_one();  // under the lock: the waiting thread may destroy this object as soon as it has it
}

std::unique_ptr<completion> blocked_thread::wait() {
  std::unique_lock lock(changing_);
  changed_.wait(lock, [this] { return ended_ != nullptr; });
  return std::move(ended_);
}

destination destination::of(const coracle_completion* c, const shared_runtime& on, bool required) {
  destination d;
  if (!c) {
    if (required) invalid("completion is a null pointer: the operation's event needs a queue or a callback");
    return d;
  }
  const auto read = read_struct(c, sizeof(coracle_completion), "coracle_completion");
  if ((read.queue != 0) == (read.callback != nullptr))
    invalid("coracle_completion: set exactly one of queue and callback");
  d.tag = read.tag;
  d.callback = read.callback;
  d.context = read.context;
  if (read.queue) {
    d.queue = object_of<event_queue>(read.queue);
    if (d.queue->owner().get() != &on) invalid("coracle_completion: the queue belongs to another runtime");
  }
  return d;
}

completion::completion(std::uint32_t kind, const destination& to) : to_(to) {
  event_.kind = kind;
  if (to_.queue) {
    to_.queue->expect();
    expected_ = true;
  }
}

completion::~completion() {
  if (expected_) to_.queue->forget();
}

void completion::fill() {
  event_.size = sizeof(coracle_event);
  event_.tag = to_.tag;
  event_.call = call;
  event_.status = static_cast<std::int32_t>(outcome.code());
  event_.has_message = has_message ? 1 : 0;
  event_.timeout_ns = timeout_ns;
  event_.owner = to_.callback ? nullptr : this;  // a callback's event ends with it
  const auto set = [](std::string_view text, const char*& at, std::size_t& size) {
    size = text.size();
    at = text.empty() ? nullptr : text.data();
  };
  set(message.bytes(), event_.message, event_.message_size);
  set(outcome.message(), event_.status_text, event_.status_text_size);
  set(outcome.details(), event_.status_details, event_.status_details_size);
  set(method, event_.method, event_.method_size);
  set(peer, event_.peer, event_.peer_size);
  event_.initial_metadata_count = initial.size();
  event_.trailing_metadata_count = trailing.size();
  if (initial.empty() && trailing.empty()) return;
  pairs_.reserve(initial.size() + trailing.size());
  for (const metadata* const m : {&initial, &trailing})
    for (const auto& [key, value] : *m)
      pairs_.push_back({key.data(), key.size(), value.data(), value.size()});
  if (!initial.empty()) event_.initial_metadata = pairs_.data();
  if (!trailing.empty()) event_.trailing_metadata = pairs_.data() + initial.size();
}

void completion::finish(std::unique_ptr<completion> ended) noexcept {
  if (!ended) return;
  const destination& to = ended->to_;
  if (!to.queue && !to.callback && !to.thread) return;
  try {
    ended->fill();
  } catch (...) {  // no memory for the pairs: the event has none
    ended->event_.initial_metadata_count = ended->event_.trailing_metadata_count = 0;
  }
  if (to.thread) return to.thread->deliver(std::move(ended));
  if (to.queue) {
    event_queue& queue = *to.queue;  // the queue keeps itself while it has a batch
    return queue.deliver(std::move(ended));
  }
  try {
    to.callback(&ended->event_, to.context);
  } catch (...) {  // a callback in C++
    ended->on_callback_exception();
  }
}

// Logs the exception with the method, and ends the call.
void completion::on_callback_exception() noexcept {
  const auto found = std::static_pointer_cast<call_object>(find_handle(handle_kind::call, call));
  const std::string& name = found && path().empty() ? found->path() : path();
  client::log_callback_failure(name.empty() ? "a call whose handle was released" : name.c_str(),
                               std::current_exception());
  if (found) found->on_callback_exception();
}

void completion::hand_out(std::unique_ptr<completion> ended, coracle_event* to, std::size_t size) noexcept {
  const std::size_t known = size < sizeof(coracle_event) ? size : sizeof(coracle_event);
  completion* const c = ended.release();
  std::memcpy(to, &c->event_, known);
  to->size = static_cast<std::uint32_t>(known);
}

}  // namespace coracle::c_abi

using namespace coracle::c_abi;

namespace {

// The first version of the struct had all of it.
void require_event_size(std::size_t size) {
  if (size < sizeof(coracle_event)) invalid("event_size is too small: pass sizeof(coracle_event)");
}

void take_events(coracle_queue queue, std::int64_t timeout_ns, coracle_event* events, std::size_t event_size,
                 std::size_t max, std::size_t* count) {
  *require_out(count, "count") = 0;
  require_event_size(event_size);
  require_out(events, "events");
  if (max == 0) invalid("max is 0: there must be room for one event");
  const auto from = object_of<event_queue>(queue);
  *count = from->take(events, event_size, max, timeout_ns);
}

}  // namespace

extern "C" {

int coracle_queue_create(coracle_runtime runtime, const coracle_queue_options* options, coracle_queue* out) {
  return guarded([&] {
    require_out(out, "out");
    const auto read = read_struct(options, sizeof(coracle_queue_options), "coracle_queue_options");
    *out = open_handle(handle_kind::queue, std::make_shared<event_queue>(runtime_of(runtime), read));
  });
}

int coracle_queue_take(coracle_queue queue, coracle_event* events, size_t event_size, size_t max,
                       size_t* count) {
  return guarded([&] { take_events(queue, 0, events, event_size, max, count); });
}

int coracle_queue_wait(coracle_queue queue, int64_t timeout_ns, coracle_event* events, size_t event_size,
                       size_t max, size_t* count) {
  return guarded([&] {
    require_plain_thread();
    take_events(queue, timeout_ns, events, event_size, max, count);
    if (*count == 0) {
      static_cast<void>(object_of<event_queue>(queue));  // closed meanwhile?
      throw failure(CORACLE_TIMED_OUT, "no event came in time");
    }
  });
}

int coracle_queue_descriptor(coracle_queue queue) {
  int found = -1;
  guarded([&] { found = object_of<event_queue>(queue)->descriptor(); });
  return found;
}

int coracle_queue_destroy(coracle_queue queue) {
  return guarded([&] {
    require_plain_thread();
    object_of<event_queue>(queue)->close();
    closed_object_of<event_queue>(queue);
  });
}

void coracle_event_release(coracle_event* event) {
  if (!event || !event->owner) return;
  delete static_cast<completion*>(event->owner);
  event->owner = nullptr;
}

void coracle_events_release(coracle_event* events, size_t event_size, size_t count) {
  if (!events) return;
  auto* at = reinterpret_cast<unsigned char*>(events);
  for (size_t i = 0; i < count; ++i, at += event_size)
    coracle_event_release(reinterpret_cast<coracle_event*>(at));
}

}  // extern "C"
