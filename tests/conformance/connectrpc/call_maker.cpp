#include "call_maker.hpp"

#include "call_plan.hpp"
#include "connectrpc/conformance/v1/service.coracle.hpp"
#include "error_status.hpp"
#include "header_fields.hpp"

#include <string>

namespace conformance {

namespace {

using stub = pb::rpc::ConformanceService::stub;
using result = pb::ClientResponseResult;

// The report of every kind of call after its end.
template <class Call>
void tell_end(const Call& call, const coracle::status& status, result& into) {
  tell_metadata(call.initial_metadata(), *into.mutable_response_headers());
  tell_metadata(call.trailing_metadata(), *into.mutable_response_trailers());
  if (!status.ok()) *into.mutable_error() = error_of(status);
}

template <class Reply>
void tell_reply(const Reply& reply, result& into) {
  if constexpr (requires { reply.payload(); }) *into.add_payloads() = reply.payload();
}

// Runs in parallel to the task that waits for the call's end; ends with it.
template <class Call>
coracle::task<> cancel_later(Call& call, std::chrono::milliseconds after) {
  co_await coracle::sleep_for(after);  // sleeps on purpose: the suite says when to cancel
  call.cancel();
}

// Requests a stop of a scope, which cancels the unary calls in it.
coracle::task<> stop_later(coracle::scope& work, std::chrono::milliseconds after) {
  co_await coracle::sleep_for(after);  // sleeps on purpose: the suite says when to cancel
  work.request_stop();
}

template <class Call>
coracle::task<> finish_unary(Call& call, result& into) {
  const auto reply = co_await call;
  if (reply) tell_reply(*reply, into);
  tell_end(call, reply.status(), into);
}

// One request, one reply.
template <class Call>
coracle::task<result> await_unary(Call& call, const pb::ClientCompatRequest& request) {
  const auto plan = cancel_plan_for(request);
  result observed;
  if (!plan.after_close) {
    co_await finish_unary(call, observed);
    co_return observed;
  }
  const auto& here = co_await coracle::coro::this_environment();
  coracle::scope cancelled(here), timer(here);
  cancelled.spawn(finish_unary(call, observed));
  timer.spawn(stop_later(cancelled, *plan.after_close));
  co_await cancelled.join();
  timer.request_stop();
  co_await timer.join();
  co_return observed;
}

// Sends all requests, or as many as the call accepts.
template <class Request, class Call>
coracle::task<> send_all(Call& call, const pb::ClientCompatRequest& request, result& into) {
  for (int i = 0; i < request.request_messages_size(); ++i) {
    const auto message = request_message<Request>(request, i);
    // sleeps on purpose: the suite asks for the pause
    if (request.request_delay_ms() > 0)
      co_await coracle::sleep_for(std::chrono::milliseconds(request.request_delay_ms()));
    const auto sent = co_await call.write(message);
    if (sent.ok()) continue;
    into.set_num_unsent_requests(request.request_messages_size() - i);
    co_return;
  }
}

// Reads until the call ends; returns true if another reply may come.
template <class Call>
coracle::task<bool> read_one(Call& call, const cancel_plan& plan, coracle::status& status, result& into) {
  const auto reply = co_await call.next();
  status = reply.status();
  if (!status.ok() || !*reply) co_return false;
  tell_reply(**reply, into);
  if (into.payloads_size() == plan.after_replies) call.cancel();
  co_return true;
}

template <class Call>
coracle::task<> read_all(Call& call, const cancel_plan& plan, result& into) {
  coracle::status status;
  while (co_await read_one(call, plan, status, into)) {
  }
  tell_end(call, status, into);
}

// With a concurrent cancellation, if the plan has one after the sending side was closed.
template <class Call>
coracle::task<> read_the_rest(Call& call, const cancel_plan& plan, result& into) {
  coracle::scope timer(co_await coracle::coro::this_environment());
  if (plan.after_close) timer.spawn(cancel_later(call, *plan.after_close));
  co_await read_all(call, plan, into);
  timer.request_stop();
  co_await timer.join();
}

coracle::task<result> server_stream(const stub& service, const pb::ClientCompatRequest& request) {
  result observed;
  const auto message = single_request<pb::ServerStreamRequest>(request);
  auto call = service.ServerStream(message, options_for(request));
  const auto plan = cancel_plan_for(request);
  co_await read_the_rest(call, plan, observed);
  co_return observed;
}

coracle::task<result> client_stream(const stub& service, const pb::ClientCompatRequest& request) {
  result observed;
  auto call = service.ClientStream(options_for(request));
  const auto plan = cancel_plan_for(request);
  co_await send_all<pb::ClientStreamRequest>(call, request, observed);
  if (plan.before_close) call.cancel();
  coracle::scope timer(co_await coracle::coro::this_environment());
  if (plan.after_close) timer.spawn(cancel_later(call, *plan.after_close));
  const auto reply = co_await call.finish();
  timer.request_stop();
  co_await timer.join();
  if (reply) tell_reply(*reply, observed);
  tell_end(call, reply.status(), observed);
  co_return observed;
}

coracle::task<result> half_duplex(const stub& service, const pb::ClientCompatRequest& request) {
  result observed;
  auto call = service.BidiStream(options_for(request));
  const auto plan = cancel_plan_for(request);
  co_await send_all<pb::BidiStreamRequest>(call, request, observed);
  if (plan.before_close) call.cancel();
  co_await call.writes_done();
  co_await read_the_rest(call, plan, observed);
  co_return observed;
}

// A reply is read after each request, while the call accepts any.
coracle::task<result> full_duplex(const stub& service, const pb::ClientCompatRequest& request) {
  result observed;
  auto call = service.BidiStream(options_for(request));
  const auto plan = cancel_plan_for(request);
  for (int i = 0; i < request.request_messages_size(); ++i) {
    const auto message = request_message<pb::BidiStreamRequest>(request, i);
    // sleeps on purpose: the suite asks for the pause
    if (request.request_delay_ms() > 0)
      co_await coracle::sleep_for(std::chrono::milliseconds(request.request_delay_ms()));
    const auto sent = co_await call.write(message);
    if (!sent.ok()) {
      observed.set_num_unsent_requests(request.request_messages_size() - i);
      break;
    }
    coracle::status status;
    const bool more = co_await read_one(call, plan, status, observed);
    if (more) continue;
    tell_end(call, status, observed);
    co_return observed;
  }
  if (plan.before_close) call.cancel();
  co_await call.writes_done();
  co_await read_the_rest(call, plan, observed);
  co_return observed;
}

coracle::task<result> dispatch(const stub& service, const pb::ClientCompatRequest& request) {
  const auto options = options_for(request);
  const std::string& method = request.method();
  if (method == "Unary") {
    const auto message = single_request<pb::UnaryRequest>(request);
    auto call = service.Unary(message, options);
    co_return co_await await_unary(call, request);
  }
  if (method == "IdempotentUnary") {
    const auto message = single_request<pb::IdempotentUnaryRequest>(request);
    auto call = service.IdempotentUnary(message, options);
    co_return co_await await_unary(call, request);
  }
  if (method == "Unimplemented") {
    const auto message = single_request<pb::UnimplementedRequest>(request);
    auto call = service.Unimplemented(message, options);
    co_return co_await await_unary(call, request);
  }
  if (method == "ServerStream") co_return co_await server_stream(service, request);
  if (method == "ClientStream") co_return co_await client_stream(service, request);
  if (method != "BidiStream") throw std::runtime_error("the service has no method '" + method + "'");
  if (request.stream_type() == pb::STREAM_TYPE_FULL_DUPLEX_BIDI_STREAM)
    co_return co_await full_duplex(service, request);
  co_return co_await half_duplex(service, request);
}

}  // namespace

coracle::task<result> make_call(coracle::runtime& runtime, const pb::ClientCompatRequest& request) {
  coracle::channel channel(runtime, request.host() + ":" + std::to_string(request.port()),
                           credentials_for(request), channel_options_for(request));
  const stub service(channel);
  co_return co_await dispatch(service, request);
}

}  // namespace conformance
