// The calls of clients in the synchronous API.
#include <grpcpp/impl/client_call.h>
#include <grpcpp/impl/intercepted_calls.h>

#include "adapters/grpcpp/src/client/channel_core.hpp"
#include "adapters/grpcpp/src/client/client_context_access.hpp"
#include "adapters/grpcpp/src/client/client_stream_core.hpp"
#include "adapters/grpcpp/src/threads/blocking.hpp"
#include "adapters/grpcpp/src/values/statuses.hpp"

#include "coracle/client/start.hpp"
#include "coracle/client/unary_call.hpp"
#include "coracle/coro/block_on.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/runtime/start.hpp"

#include <exception>
#include <optional>
#include <utility>

namespace grpc::internal {

using access = client_context_access;
using coracle::bytes_message;
using coracle::task;

namespace {

Status ended(ClientContext& context, Status s) {
  if (!s.ok()) access::set_failure(context, s);
  return s;
}

// One unary call, on the stack of the thread that waits for it.
class unary_wait final : public cancel_target {
 public:
  using call_type = coracle::unary_call<bytes_message>;
  using reply_type = coracle::result<bytes_message>;

  unary_wait(const channel_on& by, coracle::method_path path, const bytes_message& request,
             const coracle::call_options& options, ClientContext& context)
      : context_(context),
        where_(by.loop),
        running_(std::in_place, call_type(by.channel, path, request, options), done{this}) {}

  Status wait(std::string& reply) {
    if (!access::attach(context_, *this, [this] { running_.start(where_); }))
      return access::cancelled_status();
    ended_.wait();
    if (failure_) std::rethrow_exception(failure_);
    if (!*result_) return access::outcome_of(context_, result_->status());
    reply = std::move(**result_).bytes();
    return {};
  }
  void cancel() noexcept override { running_.cancel(); }

 private:
  struct done {
    unary_wait* to;
    // On the loop. The waiting thread may destroy everything once the signal is set.
    void operator()(coracle::outcome<reply_type> o, call_type& call) const { to->end(std::move(o), call); }
  };
  void end(coracle::outcome<reply_type> o, call_type& call) noexcept {
    access::detach(context_);
    try {
      result_.emplace(std::move(o).value());
      access::take_initial(context_, call);
      access::set_trailing(context_, call.trailing_metadata(), result_->status());
    } catch (const coracle::coro::cancelled&) {
      result_.emplace(coracle::status::cancelled("the call was cancelled"));
    } catch (...) {
      failure_ = std::current_exception();
    }
    ended_.set();
  }

  ClientContext& context_;
  coracle::loop& where_;
  std::optional<reply_type> result_;
  std::exception_ptr failure_;
  coracle::coro::blocking_signal ended_;
  coracle::operation<call_type, done> running_;
};

// The core of a channel, if calls can be made through it.
coracle::result<channel_core*> core_of(ChannelInterface* channel) {
  channel_core* const core = channel->core();
  if (!core)
    return coracle::status::unavailable("calls cannot be made through a ChannelInterface of another class");
  if (coracle::status s = core->usable(); !s.ok()) return s;
  return core;
}

}  // namespace

Status blocking_unary(ChannelInterface* channel, const RpcMethod& method, ClientContext* context,
                      std::string&& request, std::string& reply) {
  const coracle::result<channel_core*> by = core_of(channel);
  if (!by) return ended(*context, status_of(by.status()));
  channel_on& here = (*by)->on_process();
  const auto options = (*by)->options_for(*context, here);
  if (!options) return ended(*context, status_of(options.status()));
  before_blocking();
  const bytes_message sent(std::move(request));
  unary_wait call(here, path_of(method), sent, *options, *context);
  return ended(*context, call.wait(reply));
}

// --- streams

client_stream_core::client_stream_core(channel_on& by, coracle::method_path path, ClientContext& context,
                                       const coracle::call_options& options)
    : loop_(by.loop), context_(context), call_(by.channel, path, options) {}

void client_stream_core::begin(bytes_message* request) {
  if (request) {
    half_closed_ = true;
    coracle::start(call_.write_last(*request), [](const auto&) {}).detach();
  } else {
    coracle::start(call_.start(), [](const auto&) {}).detach();
  }
}

task<> client_stream_core::cancel_call(std::shared_ptr<client_stream_core> self) {
  self->call_.cancel();
  co_return;
}

void client_stream_core::cancel() noexcept {
  cancelled_ = true;
  try {
    loop_.owner().spawn_on(loop_, cancel_call(shared_from_this()));
  } catch (const std::exception& e) {
    loop_.log().in(coracle::log_room::adapters).error("grpc++: TryCancel() failed: ", e.what());
  }
}

void client_stream_core::take_initial_metadata() {
  if (std::exchange(has_initial_, true)) return;
  access::take_initial(context_, call_);
}

task<bool> client_stream_core::start() {
  auto wait = call_.wait_for_connection();
  const coracle::status s = co_await std::move(wait);
  co_return s.ok();
}

task<bool> client_stream_core::wait_for_initial_metadata() {
  // What the server sent before the cancellation is as lost as what it sends later: as with grpc++, whose client reads
  // nothing between the two calls of the program.
  if (cancelled_) co_return false;
  auto wait = call_.wait_for_initial_metadata();
  const coracle::status s = co_await std::move(wait);
  if (s.ok()) take_initial_metadata();
  trailers_only_ = !s.ok();
  const bool ended_by_server =
      !cancelled_ && call_.peer() && s.code() != coracle::status_code::deadline_exceeded;
  co_return s.ok() || ended_by_server;
}

task<bool> client_stream_core::writes_done() {
  if (std::exchange(half_closed_, true)) co_return true;
  auto wait = call_.writes_done();
  co_await std::move(wait);
  co_return true;
}

task<coracle::status> client_stream_core::finish(coracle::message_sink* reply, bool& has_reply) {
  if (reply) {
    if (!std::exchange(half_closed_, true)) {
      auto wait = call_.writes_done();
      co_await std::move(wait);
    }
    auto wait = call_.read(*reply);
    const coracle::result<bool> got = co_await std::move(wait);
    has_reply = got.ok() && *got;
  }
  auto wait = call_.finish();
  coracle::status s = co_await std::move(wait);
  take_initial_metadata();
  access::set_trailing(context_, call_.trailing_metadata(), s);
  co_return s;
}

namespace {

// Null if the call cannot be made: `failure` is then its status.
std::shared_ptr<client_stream_core> started_call(ChannelInterface* channel, const RpcMethod& method,
                                                 ClientContext& context, bytes_message* request,
                                                 Status& failure) {
  before_blocking();
  const coracle::result<channel_core*> by = core_of(channel);
  if (!by) return failure = status_of(by.status()), nullptr;
  channel_on& here = (*by)->on_process();
  const auto options = (*by)->options_for(context, here);
  if (!options) return failure = status_of(options.status()), nullptr;
  auto core = std::make_shared<client_stream_core>(here, path_of(method), context, *options);
  if (!access::attach(context, *core, [&] { core->begin(request); }))
    return failure = access::cancelled_status(), nullptr;
  access::keep(context, core);
  return core;
}

// The end of the batch that has begun a call.
void after_begin(call_interception& seen, bool with_message) {
  interceptor_batch b;
  if (with_message) b.add(hook_point::POST_SEND_MESSAGE);
  seen.after(b);
}

}  // namespace

client_stream::client_stream(ChannelInterface* channel, const RpcMethod& method, ClientContext* context)
    : context_(context), seen_(intercept_call(channel, method, context).get()) {
  std::string none;
  if (seen_ && !begin_intercepted(nullptr, none)) return;
  core_ = started_call(channel, method, *context, nullptr, failure_);
  if (seen_) after_begin(*seen_, false);
}

client_stream::client_stream(ChannelInterface* channel, const RpcMethod& method, ClientContext* context,
                             const serialized_request& only_request)
    : context_(context), seen_(intercept_call(channel, method, context).get()) {
  std::string bytes;
  if (seen_) {
    if (!begin_intercepted(&only_request, bytes)) return;
  } else {
    failure_ = only_request.serialize(only_request.message, bytes);
  }
  if (failure_.ok()) {
    bytes_message request(std::move(bytes));
    core_ = started_call(channel, method, *context, &request, failure_);
  }
  if (seen_) after_begin(*seen_, true);
}

bool client_stream::begin_intercepted(const serialized_request* request, std::string& bytes) {
  interceptor_batch b;
  b.sends_initial = true;
  b.add(hook_point::PRE_SEND_INITIAL_METADATA);
  if (request) {
    b.send(request->message, request->serialize);
    b.add(hook_point::PRE_SEND_CLOSE);
  }
  seen_->before(b);
  if (seen_->hijacked()) {
    b.set_sent(!b.send_failed());
    seen_->after(b);
    return false;
  }
  if (request) failure_ = b.take_bytes(bytes);
  return true;
}

void client_stream::wait_for_initial_metadata() {
  const bool first = seen_ && seen_->first_receive();
  std::optional<interceptor_batch> b;
  if (first) {
    b.emplace().receives_initial = true;
    seen_->before(*b);
  }
  if (core_) run_blocking(core_->loop(), core_->wait_for_initial_metadata());
  if (!first) return;
  b->add(hook_point::POST_RECV_INITIAL_METADATA);
  seen_->after(*b);
}

bool client_stream::read(std::string& into) {
  if (!core_) return false;
  coracle::message_sink sink = sink_of(into);
  return run_blocking(core_->loop(), core_->read(sink));
}

bool client_stream::write(std::string&& message, const WriteOptions& options) {
  if (!core_) return false;
  const bytes_message sent(std::move(message));
  return run_blocking(core_->loop(), core_->write(sent, options));
}

bool client_stream::writes_done() {
  if (!seen_) return core_ && run_blocking(core_->loop(), core_->writes_done());
  interceptor_batch b;
  b.add(hook_point::PRE_SEND_CLOSE);
  seen_->before(b);
  const bool ok = seen_->hijacked() || (core_ && run_blocking(core_->loop(), core_->writes_done()));
  seen_->after(b);
  return ok;
}

Status client_stream::end(coracle::message_sink* reply, bool& has_reply) {
  if (core_) {
    failure_ = access::outcome_of(*context_, run_blocking(core_->loop(), core_->finish(reply, has_reply)));
    access::detach(*context_);
  }
  return ended(*context_, failure_);
}

Status client_stream::finish_call() {
  bool has_reply = false;
  return end(nullptr, has_reply);
}

Status client_stream::finish() {
  return seen_ ? intercepted_finish(*seen_, nullptr, nullptr) : finish_call();
}

Status client_stream::intercepted_finish(call_interception& seen, void* reply,
                                         Status (*decode)(std::string&& bytes, void* into)) {
  interceptor_batch b;
  b.receives_initial = seen.first_receive();
  b.receives_message = reply != nullptr;
  b.receives_status = true;
  b.receive(reply);
  seen.before(b);
  bool received = !b.receive_failed();
  if (!seen.hijacked() && reply) {
    std::string bytes;
    b.status = finish(bytes, received);
    if (received) {
      const Status decoded = decode(std::move(bytes), reply);
      if (b.status.ok()) b.status = decoded;
    }
  } else if (!seen.hijacked()) {
    b.status = finish_call();
  }
  if (b.receives_initial) b.add(hook_point::POST_RECV_INITIAL_METADATA);
  if (reply) b.set_received(received);
  b.add(hook_point::POST_RECV_STATUS);
  seen.after(b);
  return b.status;
}

Status client_stream::finish(std::string& reply, bool& has_reply) {
  coracle::message_sink sink = sink_of(reply);
  return end(&sink, has_reply);
}

}  // namespace grpc::internal
