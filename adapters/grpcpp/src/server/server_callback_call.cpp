// The calls of servers in the callback API.
#include <grpcpp/impl/server_callback_call.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include "adapters/grpcpp/src/interceptors/intercepted_operation.hpp"
#include "adapters/grpcpp/src/interceptors/intercepted_server_call.hpp"
#include "adapters/grpcpp/src/interceptors/interception.hpp"
#include "adapters/grpcpp/src/server/callback_method.hpp"
#include "adapters/grpcpp/src/server/server_call_core.hpp"
#include "adapters/grpcpp/src/server/server_context_access.hpp"

#include "coracle/runtime/start.hpp"

#include <utility>

namespace grpc::internal {

using coracle::bytes_message;
using coracle::task;
using point = experimental::InterceptionHookPoints;

// Is told of the end of the call.
class server_callback_call::end_of_call final : public end_observer {
 public:
  explicit end_of_call(server_callback_call& of) noexcept : of_(of) {}
  void ended(std::unique_ptr<end_observer> /*self*/, bool cancelled) noexcept override { of_.end(cancelled); }

 private:
  server_callback_call& of_;
};

// Is told that Finish() has ended: on the loop before end_of_call, or within Finish().
class server_callback_call::end_of_finish final : public end_observer {
 public:
  explicit end_of_finish(server_callback_call& of) noexcept : of_(of) {}
  void ended(std::unique_ptr<end_observer> /*self*/, bool) noexcept override { of_.release(false); }

 private:
  server_callback_call& of_;
};

class server_callback_call::end_of_seen_finish final : public end_observer {
 public:
  explicit end_of_seen_finish(intercepted_operation& of) noexcept : of_(of) {}
  void ended(std::unique_ptr<end_observer> /*self*/, bool cancelled) noexcept override {
    of_.end(!cancelled);
  }

 private:
  intercepted_operation& of_;
};

// What a call has besides if interceptors see it.
struct server_callback_call::interception {
  interception(server_callback_call& of, std::shared_ptr<const server_interceptors> from)
      : made_from(std::move(from)),
        finished(of, &server_callback_call::end_finish),
        ended(of, &server_callback_call::end_seen_call) {}
  std::shared_ptr<const server_interceptors> made_from;
  std::shared_ptr<call_interception> by;
  reaction finished;
  reaction ended;
};

server_callback_call::server_callback_call(callback_call_seed&& seed, CallbackServerContext& context)
    : call_(std::move(seed.call)), method_(std::move(seed.method)), context_(context) {
  if (seed.interceptors) [[unlikely]]
    seen_ = std::make_unique<interception>(*this, std::move(seed.interceptors));
  method_->callbacks().begin_call();
}

server_callback_call::~server_callback_call() { method_->callbacks().end_call(); }

void server_callback_call::reaction::run(bool ok) {
  const std::shared_ptr<callback_method> method = of_.method_;  // the call may end here
  method->run([this, ok] { (of_.*react_)(ok); });
}

void server_callback_call::start() {
  server_context_access::bind(context_, call_);
  if (!seen_) [[likely]]
    call_->observe_end(std::make_unique<end_of_call>(*this));
  post(open_, true);
}

void server_callback_call::call_open(bool) {
  if (seen_ && !seen_->by) [[unlikely]] {
    seen_->by = intercept_call(seen_->made_from, context_);  // may block
    if (!seen_->by) seen_.reset();
    call_->observe_end(std::make_unique<end_of_call>(*this));
    if (seen_) return start_seen();  // which comes here again
  }
  if (!seen_) parsed_ = parse_request();
  open();
}

// The core lasts until this has returned: the call, and the server, may end before.
void server_callback_call::post(reaction& to, bool ok) {
  const std::shared_ptr<callback_core> queue = method_->callbacks().of(call_->loop());
  queue->post(to, ok);
}

std::string server_callback_call::take_request() { return call_->take_request(); }

void server_callback_call::opened() {
  leave_cancel(true);
  release(true);
}

void server_callback_call::release(bool in_reaction) {
  if (outstanding_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  // The program may hold a lock that its OnDone() takes.
  if (in_reaction) call_done(true);
  else post(done_, true);
}

void server_callback_call::call_done(bool) {
  call_program([this] { done(); });
  delete this;
}

// --- the end of the call, on its loop

void server_callback_call::end(bool was_cancelled) {
  if (seen_) [[unlikely]] {
    auto op = make_seen(seen_->ended);
    op->received = [](intercepted_operation& o) { o.batch.add(point::POST_RECV_CLOSE); };
    return intercepted_operation::run_ended(std::move(op), was_cancelled);  // what end_seen_call() is told
  }
  if (was_cancelled) return leave_cancel(false);
  release(false);
}

// OnCancel() needs a reactor, and comes before OnDone().
void server_callback_call::leave_cancel(bool in_reaction) {
  if (cancel_waits_for_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (in_reaction) tell_cancelled(true);
  else post(cancel_, true);
}

void server_callback_call::tell_cancelled(bool) {
  call_program([this] { cancelled(); });
  release(true);
}

// --- operations

namespace {

// Starts an operation; `done` is called with its result on the loop.
template <class Wait, class Done>
void start_operation(server_call_core& call, Wait&& wait, Done done) {
  struct report {
    Done done;
    void operator()(coracle::outcome<bool> o) {
      bool ok = false;
      try {
        ok = std::move(o).value();
      } catch (...) {  // the runtime stops, or there is no memory
        ok = false;
      }
      done(ok);
    }
  };
  coracle::start(call.loop(), std::forward<Wait>(wait), report{std::move(done)}).detach();
}

// take_message(), which is private.
struct message_taker {
  server_callback_call* call;
  bool (server_callback_call::*take)(std::string&&);
};

task<bool> read_message(server_call_core::operation of, message_taker to) {
  bytes_message message;
  auto wait = server_call_core::read(std::move(of), message);
  if (!co_await std::move(wait)) co_return false;
  co_return (to.call->*to.take)(std::move(message).bytes());
}

task<bool> write_message(server_call_core::operation of, bytes_message message, coracle::write_options with,
                         sent_headers headers) {
  auto wait = server_call_core::write(std::move(of), message, with, std::move(headers));
  co_return co_await std::move(wait);
}

coracle::write_options options_of(const WriteOptions& options) {
  return {.compress = !options.get_no_compression()};
}

}  // namespace

// Of a reactor.
struct server_callback_call::end_of_operation {
  server_callback_call* call;
  reaction* to;
  // On the loop.
  void operator()(bool ok) const { call->post(*to, ok); }
  void fail() const { call->post(*to, false); }
};
struct server_callback_call::end_of_seen_operation {
  intercepted_operation* of;
  void operator()(bool ok) const { of->end(ok); }
  void fail() const { of->end(false); }
};

template <class End>
void server_callback_call::begin_headers(End told) {
  auto operation = call_->begin_operation();
  if (!operation) return told.fail();
  start_operation(*call_,
                  server_call_core::send_initial_metadata(std::move(operation),
                                                          server_context_access::take_headers(context_)),
                  told);
}

template <class End>
void server_callback_call::begin_read(End told) {
  auto operation = call_->begin_operation();
  if (!operation) return told.fail();
  const message_taker to{this, &server_callback_call::take_message};
  start_operation(*call_, read_message(std::move(operation), to), told);
}

template <class End>
void server_callback_call::begin_write(serialized_message&& message, const WriteOptions& options, End told) {
  if (!message.outcome.ok()) return told.fail();
  auto operation = call_->begin_operation();
  if (!operation) return told.fail();
  start_operation(*call_,
                  write_message(std::move(operation), bytes_message(std::move(message.bytes)),
                                options_of(options), server_context_access::take_headers(context_)),
                  told);
}

void server_callback_call::send_initial_metadata() {
  outstanding_.fetch_add(1, std::memory_order_relaxed);
  if (!seen_) [[likely]]
    return begin_headers(end_of_operation{this, &headers_});
  auto op = make_seen(headers_);
  send_first(*seen_->by, op->batch);
  op->begin = [this](intercepted_operation& o) {
    const auto held = call_->begin_operation();  // as intercepted_server_call
    begin_headers(end_of_seen_operation{&o});
  };
  intercepted_operation::run(std::move(op));
}

void server_callback_call::start_read(void* into) {
  outstanding_.fetch_add(1, std::memory_order_relaxed);
  if (!seen_) [[likely]]
    return begin_read(end_of_operation{this, &read_});
  auto op = make_seen(read_);
  op->batch.receives_message = true;
  op->batch.receive(into);
  op->begin = [this](intercepted_operation& o) {
    const auto held = call_->begin_operation();
    begin_read(end_of_seen_operation{&o});
  };
  op->received = [](intercepted_operation& o) { o.batch.set_received(o.ok); };
  intercepted_operation::run(std::move(op));
}

void server_callback_call::start_write(serialized_message&& message, const WriteOptions& options) {
  outstanding_.fetch_add(1, std::memory_order_relaxed);
  if (!seen_) [[likely]]
    return begin_write(std::move(message), options, end_of_operation{this, &write_});
  auto op = make_seen(write_);
  send_first(*seen_->by, op->batch);
  op->send(std::move(message));
  op->begin = [this, options](intercepted_operation& o) {
    const auto held = call_->begin_operation();
    begin_write(o.take_sent(), options, end_of_seen_operation{&o});
  };
  intercepted_operation::run(std::move(op));
}

void server_callback_call::finish(const Status& outcome) {
  if (seen_) [[unlikely]]
    return finish_seen(make_seen(seen_->finished), outcome, nullptr);
  call_->finish(server_context_access::take_end(context_, outcome), std::make_unique<end_of_finish>(*this));
}

void server_callback_call::finish(serialized_message&& reply) {
  if (seen_) [[unlikely]] {
    auto op = make_seen(seen_->finished);
    op->send(std::move(reply));
    return finish_seen(std::move(op), {}, nullptr);
  }
  call_end end = server_context_access::take_end(context_, reply.outcome);
  end.reply = std::move(reply.bytes);
  call_->finish(std::move(end), std::make_unique<end_of_finish>(*this));
}

void server_callback_call::finish_with_last(serialized_message&& message, const WriteOptions& options,
                                            const Status& outcome) {
  if (seen_) [[unlikely]] {
    auto op = make_seen(seen_->finished);
    op->send(std::move(message));
    return finish_seen(std::move(op), outcome, &options);
  }
  call_end end = server_context_access::take_end(context_, message.outcome.ok() ? outcome : message.outcome);
  if (message.outcome.ok()) {
    end.last_message.emplace(std::move(message.bytes));
    end.last_options = options_of(options);
  }
  call_->finish(std::move(end), std::make_unique<end_of_finish>(*this));
}

// --- for interceptors

std::unique_ptr<intercepted_operation> server_callback_call::make_seen(reaction& to) const {
  auto made = std::make_unique<intercepted_operation>(seen_->by, method_->callbacks().of(call_->loop()),
                                                      static_cast<callback_tag*>(&to));
  made->received = [](intercepted_operation& o) { o.set_sent(); };
  return made;
}

void server_callback_call::start_seen() {
  auto op = make_seen(open_);
  op->batch.receives_initial = seen_->by->first_receive();
  op->received = [this](intercepted_operation& o) {
    parsed_ = parse_request();
    o.batch.add(point::POST_RECV_INITIAL_METADATA);
    if (!request()) return;
    o.batch.receive(request());
    o.batch.set_received(parsed_);
  };
  intercepted_operation::run_ended(std::move(op), true);
}

// The operation sends the last message or the reply, if there is one.
void server_callback_call::finish_seen(std::unique_ptr<intercepted_operation> op, const Status& outcome,
                                       const WriteOptions* last) {
  send_first(*seen_->by, op->batch);
  op->batch.status = outcome;
  op->batch.add(point::PRE_SEND_STATUS);
  const bool sends = op->sends();
  const WriteOptions options = last ? *last : WriteOptions();
  op->begin = [this, sends, is_last = last != nullptr, options](intercepted_operation& o) {
    serialized_message sent;
    if (sends && (is_last || o.batch.status.ok())) sent = o.take_sent();
    call_end end =
        server_context_access::take_end(context_, sent.outcome.ok() ? o.batch.status : sent.outcome);
    if (!is_last) {
      end.reply = std::move(sent.bytes);
    } else if (sent.outcome.ok()) {
      end.last_message.emplace(std::move(sent.bytes));
      end.last_options = options_of(options);
    }
    call_->finish(std::move(end), std::make_unique<end_of_seen_finish>(o));
  };
  intercepted_operation::run(std::move(op));
}

void server_callback_call::end_seen_call(bool was_cancelled) {
  if (was_cancelled) leave_cancel(true);
  else release(true);
}

// --- reactions

void server_callback_call::end_headers(bool ok) {
  call_program([this, ok] { initial_metadata_sent(ok); });
  release(true);
}

void server_callback_call::end_read(bool ok) {
  call_program([this, ok] { read_done(ok); });
  release(true);
}

void server_callback_call::end_write(bool ok) {
  call_program([this, ok] { write_done(ok); });
  release(true);
}

}  // namespace grpc::internal

namespace grpc {

namespace internal {
namespace {

class default_reactor final : public ServerUnaryReactor {
  void OnDone() override {}  // the context owns it
};

}  // namespace
}  // namespace internal

CallbackServerContext::CallbackServerContext() = default;
CallbackServerContext::~CallbackServerContext() = default;

ServerUnaryReactor* CallbackServerContext::DefaultReactor() {
  if (!default_) default_ = std::make_unique<internal::default_reactor>();
  return default_.get();
}

}  // namespace grpc
