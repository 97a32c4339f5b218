// Calls and operations that interceptors see: what the typed classes do in place of the plain ones.
#pragma once

#include <grpcpp/impl/client_call.h>
#include <grpcpp/impl/interception.h>
#include <grpcpp/impl/proto_utils.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>
#include <utility>

namespace grpc::internal {

using hook_point = experimental::InterceptionHookPoints;

template <class BaseRequest, class BaseReply>
Status intercepted_unary(call_interception& seen, ChannelInterface* channel, const RpcMethod& method,
                         ClientContext* context, const BaseRequest& request, BaseReply* reply) {
  interceptor_batch b;
  b.sends_initial = true;
  b.add(hook_point::PRE_SEND_INITIAL_METADATA);
  b.template send<BaseRequest>(request);
  b.add(hook_point::PRE_SEND_CLOSE);
  b.receives_initial = b.receives_message = b.receives_status = true;
  b.receive(reply);
  seen.before(b);
  bool received = false;
  if (seen.hijacked()) {
    received = !b.receive_failed();
    b.set_sent(!b.send_failed());
  } else {
    std::string bytes;
    b.status = b.take_bytes(bytes);
    if (b.status.ok()) b.status = blocking_unary(channel, method, context, std::move(bytes), bytes);
    if (b.status.ok()) b.status = from_bytes<BaseReply>(std::move(bytes), *reply);
    received = b.status.ok();
    b.set_sent(true);
  }
  b.add(hook_point::POST_RECV_INITIAL_METADATA);
  b.set_received(received);
  b.add(hook_point::POST_RECV_STATUS);
  seen.after(b);
  return b.status;
}

// Of either side.
template <class R, class Call>
bool intercepted_read(call_interception& seen, Call& from, R* message) {
  interceptor_batch b;
  b.receives_initial = seen.first_receive();
  b.receives_message = true;
  b.receive(message);
  seen.before(b);
  bool ok = !b.receive_failed();
  if (!seen.hijacked()) {
    std::string bytes;
    ok = from.read(bytes) && from_bytes<R>(std::move(bytes), *message).ok();
  }
  if (b.receives_initial) b.add(hook_point::POST_RECV_INITIAL_METADATA);
  b.set_received(ok);
  seen.after(b);
  return ok;
}

template <class W, class Call>
bool intercepted_write(call_interception& seen, Call& to, const W& message, const WriteOptions& options) {
  auto b = std::make_unique<interceptor_batch>();
  if (Call::is_server && seen.first_send()) {
    b->sends_initial = true;
    b->add(hook_point::PRE_SEND_INITIAL_METADATA);
  }
  b->template send<W>(message);
  if (!Call::is_server && options.is_last_message()) b->add(hook_point::PRE_SEND_CLOSE);
  seen.before(*b);
  bool ok = !b->send_failed();
  if (!seen.hijacked()) {
    std::string bytes;
    ok = b->take_bytes(bytes).ok() && to.write(std::move(bytes), options);
  }
  b->set_sent(ok);
  if (Call::is_server && options.is_last_message()) seen.pending = std::move(b);  // it leaves with the status
  else seen.after(*b);
  return ok;
}

// --- servers

// The call has begun; `request` is null if its requests are a stream.
void intercepted_begin(call_interception& seen, void* request);

// Ends the call; `reply` is null if it has none. The interceptors then see its end.
template <class Reply, class Call>
void intercepted_finish(call_interception& seen, Call& call, const Status& outcome, const Reply* reply) {
  interceptor_batch b;
  if (seen.first_send()) {
    b.sends_initial = true;
    b.add(hook_point::PRE_SEND_INITIAL_METADATA);
  }
  const bool replies = reply && outcome.ok();
  if constexpr (!std::is_void_v<Reply>) {
    if (replies) b.template send<Reply>(*reply);
  }
  b.status = outcome;
  b.add(hook_point::PRE_SEND_STATUS);
  seen.before(b);
  if (const auto written = std::move(seen.pending)) seen.after(*written);
  std::string bytes;
  if (replies && b.status.ok()) b.status = b.take_bytes(bytes);
  call.finish(b.status, std::move(bytes));
  b.set_sent(true);
  seen.after(b);
  interceptor_batch ended;
  ended.add(hook_point::POST_RECV_CLOSE);
  seen.after(ended);
}

}  // namespace grpc::internal
