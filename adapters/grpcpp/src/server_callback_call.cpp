// The calls of servers in the callback API.
#include <grpcpp/impl/server_callback_call.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include "callback_method.hpp"
#include "callback_queue.hpp"
#include "server_call_core.hpp"
#include "server_context_access.hpp"

#include "coracle/runtime/start.hpp"

#include <utility>

namespace grpc::internal {

using coracle::bytes_message;
using coracle::task;

// Is told of the end of the call.
class server_callback_call::end_of_call final : public end_observer {
 public:
  explicit end_of_call(server_callback_call& of) noexcept : of_(of) {}
  void ended(bool cancelled) noexcept override { of_.end(cancelled); }

 private:
  server_callback_call& of_;
};

// Is told that Finish() has ended: on the loop before end_of_call, or within Finish().
class server_callback_call::end_of_finish final : public end_observer {
 public:
  explicit end_of_finish(server_callback_call& of) noexcept : of_(of) {}
  void ended(bool) noexcept override { of_.release(false); }

 private:
  server_callback_call& of_;
};

server_callback_call::server_callback_call(callback_call_seed&& seed, CallbackServerContext& context)
    : call_(std::move(seed.call)),
      method_(std::move(seed.method)),
      on_loop_(method_->on_loop()),
      context_(context) {
  method_->calls().begin();
}

server_callback_call::~server_callback_call() { method_->calls().end(); }

void server_callback_call::reaction::run(bool ok) {
  const std::shared_ptr<callback_method> method = of_.method_;  // the call may end here
  method->run([this, ok] { (of_.*react_)(ok); });
}

void server_callback_call::start() {
  server_context_access::bind(context_, call_);
  call_->observe_end(std::make_unique<end_of_call>(*this));
  react(open_, true);
}

std::string server_callback_call::take_request() { return call_->take_request(); }

void server_callback_call::opened() {
  leave_cancel(true);
  release(true);
}

void server_callback_call::react(reaction& to, bool ok) {
  if (on_loop_) to.run(ok);
  else post_callback(to, ok);
}

void server_callback_call::release(bool in_reaction) {
  if (outstanding_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  // The program may hold a lock that its OnDone() takes.
  if (in_reaction) call_done(true);
  else post_callback(done_);
}

void server_callback_call::call_done(bool) {
  call_program([this] { done(); });
  delete this;
}

// --- the end of the call, on its loop

void server_callback_call::end(bool was_cancelled) {
  if (was_cancelled) return leave_cancel(false);
  if (!on_loop_) return release(false);
  const std::shared_ptr<callback_method> method = method_;
  method->run([this] { release(true); });
}

// OnCancel() needs a reactor, and comes before OnDone().
void server_callback_call::leave_cancel(bool in_reaction) {
  if (cancel_waits_for_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (in_reaction) tell_cancelled(true);
  else react(cancel_, true);
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

void server_callback_call::send_initial_metadata() {
  outstanding_.fetch_add(1, std::memory_order_relaxed);
  auto operation = call_->begin_operation();
  if (!operation) return post_callback(headers_, false);
  start_operation(*call_,
                  server_call_core::send_initial_metadata(std::move(operation),
                                                          server_context_access::take_headers(context_)),
                  [this](bool ok) { react(headers_, ok); });
}

void server_callback_call::start_read() {
  outstanding_.fetch_add(1, std::memory_order_relaxed);
  auto operation = call_->begin_operation();
  if (!operation) return post_callback(read_, false);
  const message_taker to{this, &server_callback_call::take_message};
  start_operation(*call_, read_message(std::move(operation), to), [this](bool ok) { react(read_, ok); });
}

void server_callback_call::start_write(std::string&& message, const Status& serialized,
                                       const WriteOptions& options) {
  outstanding_.fetch_add(1, std::memory_order_relaxed);
  if (!serialized.ok()) return post_callback(write_, false);
  auto operation = call_->begin_operation();
  if (!operation) return post_callback(write_, false);
  start_operation(*call_,
                  write_message(std::move(operation), bytes_message(std::move(message)), options_of(options),
                                server_context_access::take_headers(context_)),
                  [this](bool ok) { react(write_, ok); });
}

void server_callback_call::finish(const Status& outcome, std::string&& reply) {
  call_end end = server_context_access::take_end(context_, outcome);
  end.reply = std::move(reply);
  call_->finish(std::move(end), std::make_unique<end_of_finish>(*this));
}

void server_callback_call::finish_with_last(std::string&& message, const Status& serialized,
                                            const WriteOptions& options, const Status& outcome) {
  call_end end = server_context_access::take_end(context_, serialized.ok() ? outcome : serialized);
  if (serialized.ok()) {
    end.last_message.emplace(std::move(message));
    end.last_options = options_of(options);
  }
  call_->finish(std::move(end), std::make_unique<end_of_finish>(*this));
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
