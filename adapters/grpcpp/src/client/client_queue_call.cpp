// The calls of clients in the completion-queue API.
#include <grpcpp/impl/client_queue_call.h>

#include <grpcpp/channel.h>

#include "adapters/grpcpp/src/client/channel_core.hpp"
#include "adapters/grpcpp/src/client/client_context_access.hpp"
#include "adapters/grpcpp/src/client/client_stream_core.hpp"
#include "adapters/grpcpp/src/client/queue_call_operations.hpp"
#include "adapters/grpcpp/src/queue/incoming_message.hpp"
#include "adapters/grpcpp/src/queue/queue_core.hpp"
#include "adapters/grpcpp/src/values/deadlines.hpp"
#include "adapters/grpcpp/src/values/statuses.hpp"

#include "coracle/client/unary_call.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "coracle/runtime/start.hpp"

#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace grpc::internal {

using access = client_context_access;
using coracle::bytes_message;
using coracle::task;

// Sets the status of a call, and its reply if it has one.
class end_event : public queue_event {
 public:
  end_event(void* tag, ClientContext& context, const message_target& into, Status* status)
      : queue_event(tag), reply(into), context_(context), status_(status) {}
  Status outcome;
  incoming_message reply;
  bool has_reply = false;

 protected:
  ClientContext& context_;

 private:
  void deliver() override {
    if (has_reply) {
      Status decoded = reply.decode();
      if (outcome.ok()) outcome = std::move(decoded);
    }
    if (!outcome.ok()) access::set_failure(context_, outcome);
    *status_ = std::move(outcome);
  }
  Status* status_;
};

// What a call is made from: kept until it begins.
struct call_seed {
  call_seed(ChannelInterface* by, CompletionQueue* to, const RpcMethod& method, ClientContext* of)
      : queue(to->core()), path(path_of(method)), kept_path(method.kept_name()), context(*of) {
    if (Channel* const own = by->origin()) channel = own->shared_from_this();
  }
  // The options of the call, or why it cannot be made.
  [[nodiscard]] coracle::result<coracle::call_options> options() const {
    if (!channel)
      return coracle::status::unavailable("calls cannot be made through a ChannelInterface of another class");
    if (coracle::status s = channel->core()->usable(); !s.ok()) return s;
    return channel->core()->options_for(context, channel_here());
  }
  // On the loop of the queue, if options() are there.
  [[nodiscard]] channel_on& channel_here() const { return channel->core()->on(queue->clients()); }
  std::shared_ptr<Channel> channel;
  std::shared_ptr<queue_core> queue;
  coracle::method_path path;  // as those of generated stubs, lasts as long as the program, or
  std::shared_ptr<const std::string> kept_path;  // is kept here
  ClientContext& context;
};

// --- streams

// On the loop, messages are read by read(), and by finish(), which has to find the end of the call: a message
// that it reads there waits for the next read(). finish() reads only if the program has begun no read() for
// two turns.
class queued_stream final : public queue_stream,
                            public std::enable_shared_from_this<queued_stream>,
                            public cancel_target {
 public:
  queued_stream(call_seed&& from, std::optional<serialized_message>&& request)
      : from_(std::move(from)), request_(std::move(request)) {
    if (request_ && !request_->outcome.ok()) failure_ = request_->outcome;
  }

  void start(std::optional<void*> tag) override { begin(tag); }
  void start_and_read_initial_metadata(void* tag) override {
    begin(std::nullopt);
    read_initial_metadata(tag);
  }
  // Without an event, if there is no tag.
  void begin(std::optional<void*> tag);
  void read_initial_metadata(void* tag) override;
  [[nodiscard]] bool trailers_only() const noexcept override { return core_ && core_->trailers_only(); }
  void read(const message_target& into, void* tag) override;
  void write(serialized_message&& message, const WriteOptions& options, void* tag) override;
  void writes_done(void* tag) override;
  void finish(const message_target& reply, Status* status, void* tag) override;
  // Any thread, with the lock of the context.
  void cancel() noexcept override;

 private:
  class reading_event;
  class writing_event;
  class one_read;
  class one_write;
  // Wakes finish() after a read(), unless another one has begun.
  class no_read_since final : public coracle::coro::runnable {
   public:
    explicit no_read_since(queued_stream& of) noexcept;
    void post();

   private:
    queued_stream& of_;
    std::shared_ptr<queued_stream> held_;  // while it is posted
    int turns_ = 0;
  };
  // On the loop. Each keeps the object.
  static task<bool> start_call(std::shared_ptr<queued_stream> self);
  static task<bool> wait_for_initial_metadata(std::shared_ptr<queued_stream> self);
  static task<bool> half_close(std::shared_ptr<queued_stream> self);
  static task<bool> end(std::shared_ptr<queued_stream> self, end_event& into, bool one_reply);
  static task<> drop_message(std::shared_ptr<queued_stream> self);
  // While it exists, the call is read: one at a time, and not after its end.
  struct fetch {
    fetch(queued_stream& call, bool for_read) noexcept : of(call), by_read(for_read) { of.fetching_ = true; }
    fetch(const fetch&) = delete;
    fetch& operator=(const fetch&) = delete;
    ~fetch() { of.end_fetch(*this); }
    queued_stream& of;
    const bool by_read;
    bool message = false;
  };
  void end_fetch(const fetch& f) noexcept;
  // The reads that wait until those before them have their messages, in order.
  void wait_for_turn(one_read& reader) noexcept;
  void post_next_read() noexcept;
  task<> turn();
  // Waits until there is no message any more. Otherwise the result is why the call ends with one that nothing
  // reads, whatever the server has ended it with.
  task<coracle::status> find_end();

  call_seed from_;
  std::optional<serialized_message> request_;
  Status failure_;  // of a call that could not be made
  std::shared_ptr<client_stream_core> core_;  // null before the call, and if it could not be made

  // Of the loop:
  bytes_message sent_;
  bool fetching_ = false;
  one_read* waiting_read_ = nullptr;  // the first one; it is in the list until it runs
  bool finding_end_ = false;
  bool ended_ = false;  // there is no message any more
  bool cancelled_ = false;
  bool cancelled_before_end_ = false;  // before a read() has found the end
  std::optional<std::string> fetched_ahead_;
  coracle::event<> turned_;  // one of these has changed
  no_read_since no_read_since_{*this};
};

// Puts the message of a read() into that of the program.
class queued_stream::reading_event : public queue_event {
 public:
  reading_event(void* tag, const message_target& into) : queue_event(tag), message(into) {}
  incoming_message message;

 private:
  void deliver() override {
    if (ok) ok = message.decode().ok();
  }
};

class queued_stream::writing_event : public queue_event {
 public:
  writing_event(void* tag, std::string&& bytes) : queue_event(tag), message(std::move(bytes)) {}
  bytes_message message;
};

// The wait of a read(), on the loop: no coroutine, because there are many; the wait of a write() is none either.
// Both keep the call until await_resume(), and need it no more to be destroyed.
class queued_stream::one_read : public coracle::coro::runnable {
 public:
  one_read(std::shared_ptr<queued_stream> of, incoming_message& into) noexcept
      : of_(std::move(of)), into_(into) {}
  // Only before the await, which has pointers to the object.
  one_read(one_read&& other) noexcept : of_(std::move(other.of_)), into_(other.into_) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    if (!of_->fetching_ && !of_->waiting_read_) return begin(h);
    reader_ = h;
    run = [](runnable& w) noexcept {
      auto& self = static_cast<one_read&>(w);
      queued_stream& call = *self.of_;
      call.waiting_read_ = self.next_read;
      const auto reader = std::coroutine_handle<Promise>::from_address(self.reader_.address());
      if (self.begin(reader)) return;
      if (!self.fetch_) call.post_next_read();  // or else at its end
      reader.resume();
    };
    of_->wait_for_turn(*this);
    return true;
  }
  bool await_resume() {
    const std::shared_ptr<queued_stream> held = std::move(of_);
    if (!fetch_) return has_message_;
    struct end_of_fetch {
      std::optional<fetch>& of;
      ~end_of_fetch() { of.reset(); }
    } const after{fetch_};
    return fetch_->message = wait_->await_resume();
  }

  one_read* next_read = nullptr;

 private:
  // False: there is nothing to wait for.
  template <class Promise>
  bool begin(std::coroutine_handle<Promise> h) noexcept {
    queued_stream& call = *of_;
    has_message_ = call.fetched_ahead_.has_value();
    if (has_message_) {
      into_.keep(std::move(*call.fetched_ahead_));
      call.fetched_ahead_.reset();
      call.turned_.set();
    }
    if (has_message_ || call.ended_) return false;
    fetch_.emplace(call, true);
    wait_.emplace(call.core_->read(into_.sink()));
    return wait_->await_suspend(h);
  }
  std::shared_ptr<queued_stream> of_;
  incoming_message& into_;
  std::coroutine_handle<> reader_;
  std::optional<fetch> fetch_;
  std::optional<decltype(std::declval<client_stream_core&>().read(std::declval<coracle::message_sink&>()))>
      wait_;
  bool has_message_ = false;
};

class queued_stream::one_write {
 public:
  one_write(std::shared_ptr<queued_stream> of, const bytes_message& message, const WriteOptions& options)
      : of_(std::move(of)), wait_(of_->core_->write(message, options)) {}
  [[nodiscard]] bool await_ready() { return wait_.await_ready(); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    return wait_.await_suspend(h);
  }
  bool await_resume() {
    const std::shared_ptr<queued_stream> held = std::move(of_);
    return wait_.await_resume();
  }

 private:
  std::shared_ptr<queued_stream> of_;
  decltype(std::declval<client_stream_core&>().write(std::declval<const bytes_message&>(),
                                                     WriteOptions())) wait_;
};

void queued_stream::begin(std::optional<void*> tag) {
  if (failure_.ok()) {
    const auto options = from_.options();
    if (!options) {
      failure_ = status_of(options.status());
    } else {
      auto core =
          std::make_shared<client_stream_core>(from_.channel_here(), from_.path, from_.context, *options);
      if (request_) sent_ = bytes_message(std::move(request_->bytes));
      core_ = std::move(core);
      const bool begins = access::attach(from_.context, *this, [&] {
        // First: once the event is there, another thread may end the call and destroy the context.
        access::keep(from_.context, shared_from_this());
        if (tag)
          start_for<queue_event>(
              from_.queue, core_->loop(), [this](queue_event&) { return start_call(shared_from_this()); },
              *tag);
        else coracle::start(core_->loop(), start_call(shared_from_this()), [](const auto&) {}).detach();
      });
      if (begins) return;
      core_.reset();
      failure_ = access::cancelled_status();
    }
  }
  if (tag) push_now(*from_.queue, std::make_unique<queue_event>(*tag), false);
}

void queued_stream::read_initial_metadata(void* tag) {
  if (!core_) return push_now(*from_.queue, std::make_unique<queue_event>(tag), false);
  start_for<queue_event>(
      from_.queue, core_->loop(),
      [this](queue_event&) { return wait_for_initial_metadata(shared_from_this()); }, tag);
}

void queued_stream::read(const message_target& into, void* tag) {
  if (!core_) return push_now(*from_.queue, std::make_unique<queue_event>(tag), false);
  start_for<reading_event>(
      from_.queue, core_->loop(),
      [this](reading_event& event) { return one_read(shared_from_this(), event.message); }, tag, into);
}

void queued_stream::write(serialized_message&& message, const WriteOptions& options, void* tag) {
  if (!core_ || !message.outcome.ok())
    return push_now(*from_.queue, std::make_unique<queue_event>(tag), false);
  start_for<writing_event>(
      from_.queue, core_->loop(),
      [&](writing_event& event) { return one_write(shared_from_this(), event.message, options); }, tag,
      std::move(message.bytes));
}

void queued_stream::writes_done(void* tag) {
  if (!core_) return push_now(*from_.queue, std::make_unique<queue_event>(tag), false);
  start_for<queue_event>(
      from_.queue, core_->loop(), [this](queue_event&) { return half_close(shared_from_this()); }, tag);
}

void queued_stream::finish(const message_target& reply, Status* status, void* tag) {
  if (core_)
    return start_for<end_event>(
        from_.queue, core_->loop(),
        [&](end_event& event) { return end(shared_from_this(), event, reply.decode != nullptr); }, tag,
        from_.context, reply, status);
  auto event = std::make_unique<end_event>(tag, from_.context, reply, status);
  event->outcome = failure_.ok()
                       ? Status(StatusCode::INTERNAL, "the call was not started: StartCall() comes first")
                       : failure_;
  push_now(*from_.queue, std::move(event), true);
}

void queued_stream::cancel() noexcept {
  core_->cancel();
  try {
    core_->loop().owner().spawn_on(core_->loop(), drop_message(shared_from_this()));
  } catch (const std::exception& e) {
    core_->loop().log().in(coracle::log_room::adapters).error("grpc++: TryCancel() failed: ", e.what());
  }
}

// The end of a call that was cancelled does not wait until its messages are read. Nor does what the server has ended it
// with count, unless a read() has told the program of the end: with grpc++, nothing arrives while no thread takes events.
task<> queued_stream::drop_message(std::shared_ptr<queued_stream> self) {
  self->cancelled_ = true;
  self->cancelled_before_end_ = !self->ended_;
  self->turned_.set();
  co_return;
}

task<bool> queued_stream::start_call(std::shared_ptr<queued_stream> self) {
  if (!self->request_) {
    auto wait = self->core_->start();
    co_return co_await std::move(wait);
  }
  auto wait = self->core_->write(self->sent_, WriteOptions().set_last_message());
  co_return co_await std::move(wait);
}

task<bool> queued_stream::wait_for_initial_metadata(std::shared_ptr<queued_stream> self) {
  auto wait = self->core_->wait_for_initial_metadata();
  co_return co_await std::move(wait);
}

void queued_stream::end_fetch(const fetch& f) noexcept {
  fetching_ = false;
  ended_ = !f.message;
  post_next_read();
  if (ended_ || !f.by_read) turned_.set();
  else if (finding_end_ && !waiting_read_) no_read_since_.post();
}

void queued_stream::wait_for_turn(one_read& reader) noexcept {
  one_read** last = &waiting_read_;
  while (*last) last = &(*last)->next_read;
  *last = &reader;
}

void queued_stream::post_next_read() noexcept {
  if (waiting_read_) core_->loop().post(*waiting_read_);
}

// The thread that takes the event begins the next read() between this turn of the loop and the next one, in
// which it comes after what was posted before.
queued_stream::no_read_since::no_read_since(queued_stream& of) noexcept
    : runnable{[](runnable& w) noexcept {
        auto& self = static_cast<no_read_since&>(w);
        if (--self.turns_ > 0) return self.of_.core_->loop().post_next_turn(self);
        const std::shared_ptr<queued_stream> held = std::move(self.held_);
        if (!held->fetching_) held->turned_.set();
      }},
      of_(of) {}

void queued_stream::no_read_since::post() {
  turns_ = 2;
  if (held_) return;
  held_ = of_.shared_from_this();
  of_.core_->loop().post_next_turn(*this);
}

task<bool> queued_stream::half_close(std::shared_ptr<queued_stream> self) {
  auto wait = self->core_->writes_done();
  co_return co_await std::move(wait);
}

task<> queued_stream::turn() {
  turned_.reset();
  co_await turned_;
}

task<coracle::status> queued_stream::find_end() {
  const auto& deadline = access::deadline(from_.context);
  finding_end_ = true;
  while (!ended_) {
    if (fetched_ahead_ && cancelled_) co_return coracle::status::cancelled("the call was cancelled");
    if (fetched_ahead_ && deadline) {
      coracle::with_timeout limited(until(*deadline), turn());
      coracle::status s = co_await std::move(limited);
      if (!s.ok() && fetched_ahead_) co_return s;
      continue;
    }
    if (fetching_ || fetched_ahead_ || waiting_read_) {
      turned_.reset();
      co_await turned_;
      continue;
    }
    std::string message;
    coracle::message_sink sink = sink_of(message);
    fetch one(*this, false);
    auto wait = core_->read(sink);
    one.message = co_await wait;
    if (one.message) fetched_ahead_ = std::move(message);
  }
  co_return coracle::ok;
}

task<bool> queued_stream::end(std::shared_ptr<queued_stream> self, end_event& into, bool one_reply) {
  queued_stream& call = *self;
  coracle::status unread;
  if (one_reply && !call.ended_) {
    fetch one(call, false);
    auto wait = call.core_->read(into.reply.sink());
    one.message = into.has_reply = co_await wait;
  } else if (!one_reply) {
    auto found = call.find_end();
    unread = co_await std::move(found);
  }
  bool has_reply = false;
  auto wait = call.core_->finish(nullptr, has_reply);
  const coracle::status s = co_await std::move(wait);
  into.outcome = access::outcome_of(call.from_.context, unread.ok() ? s : unread);
  if (call.cancelled_before_end_) {
    into.outcome = access::cancelled_status();
    into.has_reply = false;
  }
  access::detach(call.from_.context);
  co_return true;
}

// --- unary calls

class queued_unary final : public queue_unary {
 public:
  queued_unary(call_seed&& from, serialized_message&& request)
      : from_(std::move(from)), request_(std::move(request)) {}

  // As a stream: the initial metadata may come long before the reply.
  void read_initial_metadata(void* tag) override {
    if (!stream_) {
      stream_ = std::make_shared<queued_stream>(call_seed(from_), std::move(request_));
      stream_->begin(std::nullopt);
    }
    stream_->read_initial_metadata(tag);
  }
  void finish(const message_target& reply, Status* status, void* tag) override;

 private:
  class running;
  call_seed from_;
  serialized_message request_;
  std::shared_ptr<queued_stream> stream_;
  bool finished_ = false;
};

// A call, and the event of its end.
class queued_unary::running final : public end_event, public cancel_target {
 public:
  using call_type = coracle::unary_call<bytes_message>;
  using reply_type = coracle::result<bytes_message>;

  running(void* tag, const message_target& into, Status* status, const call_seed& from,
          bytes_message&& request)
      : end_event(tag, from.context, into, status),
        channel_(from.channel),
        kept_path_(from.kept_path),
        request_(std::move(request)) {}

  // The object is pushed into the queue at the end of the call.
  static void start(std::unique_ptr<running> self, const call_seed& from,
                    const coracle::call_options& options);
  void cancel() noexcept override { running_->cancel(); }

 private:
  struct done {
    running* to;
    void operator()(coracle::outcome<reply_type> o, call_type& call) const { to->end(std::move(o), call); }
  };
  // On the loop.
  void end(coracle::outcome<reply_type>&& o, call_type& call) noexcept;

  const std::shared_ptr<Channel> channel_;  // the program may give up its own
  const std::shared_ptr<const std::string> kept_path_;
  bytes_message request_;
  std::shared_ptr<queue_core> queue_;  // during the call: an event in a queue does not keep it
  std::optional<coracle::operation<call_type, done>> running_;  // destroyed on the loop, once it was started
};

void queued_unary::running::start(std::unique_ptr<running> self, const call_seed& from,
                                  const coracle::call_options& options) {
  running& started = *self;
  const std::shared_ptr<queue_core> queue = started.queue_ = from.queue;
  channel_on& by = from.channel_here();
  started.running_.emplace(std::in_place, call_type(by.channel, from.path, started.request_, options),
                           done{&started});
  const bool begins = queue->begin_with(
      [&] { return access::attach(started.context_, started, [&] { started.running_->start(by.loop); }); });
  if (begins) return static_cast<void>(self.release());
  started.outcome = access::cancelled_status();
  started.queue_.reset();
  queue->push(std::move(self));
}

void queued_unary::running::end(coracle::outcome<reply_type>&& o, call_type& call) noexcept {
  access::detach(context_);
  try {
    reply_type result = std::move(o).value();
    access::take_initial(context_, call);
    access::set_trailing(context_, call.trailing_metadata(), result.status());
    if (result.ok()) {
      reply.keep(std::move(*result).bytes());
      has_reply = true;
    } else {
      outcome = access::outcome_of(context_, result.status());
    }
  } catch (const coracle::coro::cancelled&) {
    outcome = access::cancelled_status();
  } catch (const std::exception& e) {
    outcome = Status(StatusCode::INTERNAL, e.what());
  }
  running_.reset();
  request_ = bytes_message();
  const std::shared_ptr<queue_core> queue = std::move(queue_);
  queue->push(std::unique_ptr<queue_event>(this));
}

void queued_unary::finish(const message_target& reply, Status* status, void* tag) {
  if (stream_) return stream_->finish(reply, status, tag);
  auto call = std::make_unique<running>(tag, reply, status, from_, bytes_message(std::move(request_.bytes)));
  if (std::exchange(finished_, true)) {
    call->outcome = Status(StatusCode::INTERNAL, "Finish() of a unary call was called before");
  } else if (request_.outcome.ok()) {
    const auto options = from_.options();
    if (options) return running::start(std::move(call), from_, *options);
    call->outcome = status_of(options.status());
  } else {
    call->outcome = request_.outcome;
  }
  push_now(*from_.queue, std::move(call), true);
}

std::shared_ptr<queue_stream> make_plain_stream(const queue_call_parts& of,
                                                std::optional<serialized_message>&& request) {
  return std::make_shared<queued_stream>(call_seed(of.channel, of.queue, of.method, of.context),
                                         std::move(request));
}

std::shared_ptr<queue_unary> make_plain_unary(const queue_call_parts& of, serialized_message&& request) {
  return std::make_shared<queued_unary>(call_seed(of.channel, of.queue, of.method, of.context),
                                        std::move(request));
}

// --- the handles

client_queue_unary::client_queue_unary(ChannelInterface* channel, CompletionQueue* queue,
                                       const RpcMethod& method, ClientContext* context,
                                       serialized_message&& request) {
  const queue_call_parts parts{channel, queue, method, context};
  if (auto seen = intercept_call(channel, method, context)) [[unlikely]]
    core_ = make_intercepted_unary(parts, std::move(request), std::move(seen));
  else core_ = make_plain_unary(parts, std::move(request));
}

void client_queue_unary::read_initial_metadata(void* tag) { core_->read_initial_metadata(tag); }
void client_queue_unary::finish(const message_target& reply, Status* status, void* tag) {
  core_->finish(reply, status, tag);
}

namespace {

std::shared_ptr<queue_stream> stream_of(const queue_call_parts& parts,
                                        std::optional<serialized_message>&& request) {
  if (auto seen = intercept_call(parts.channel, parts.method, parts.context)) [[unlikely]]
    return make_intercepted_stream(parts, std::move(request), std::move(seen));
  return make_plain_stream(parts, std::move(request));
}

}  // namespace

client_queue_stream::client_queue_stream(ChannelInterface* channel, CompletionQueue* queue,
                                         const RpcMethod& method, ClientContext* context)
    : core_(stream_of({channel, queue, method, context}, std::nullopt)), writes_with_(context) {}
client_queue_stream::client_queue_stream(ChannelInterface* channel, CompletionQueue* queue,
                                         const RpcMethod& method, ClientContext* context,
                                         serialized_message&& request)
    : core_(stream_of({channel, queue, method, context}, std::move(request))) {}

void client_queue_stream::start(void* tag) {
  if (writes_with_ && access::corked(*writes_with_)) core_->start(std::nullopt);
  else core_->start(tag);
}
void client_queue_stream::start_and_read_initial_metadata(void* tag) {
  core_->start_and_read_initial_metadata(tag);
}
void client_queue_stream::read_initial_metadata(void* tag) { core_->read_initial_metadata(tag); }
bool client_queue_stream::trailers_only() const noexcept { return core_->trailers_only(); }
void client_queue_stream::read(const message_target& into, void* tag) { core_->read(into, tag); }
void client_queue_stream::write(serialized_message&& message, const WriteOptions& options, void* tag) {
  core_->write(std::move(message), options, tag);
}
void client_queue_stream::writes_done(void* tag) { core_->writes_done(tag); }
void client_queue_stream::finish(Status* status, void* tag) { core_->finish({}, status, tag); }
void client_queue_stream::finish(const message_target& reply, Status* status, void* tag) {
  core_->finish(reply, status, tag);
}

}  // namespace grpc::internal
