// The handlers of methods in the synchronous API, as the constructors of generated services make them.
#pragma once

#include <grpcpp/impl/guarded.h>
#include <grpcpp/impl/intercepted_calls.h>
#include <grpcpp/impl/proto_utils.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/sync_stream.h>

#include <functional>
#include <string>
#include <utility>

namespace grpc::internal {

// Calls a handler. An exception ends its call with UNKNOWN, and its text does not reach the client.
template <class Handler>
Status call_handler(Handler&& handler) {
  return guarded(handler, [] { return Status(StatusCode::UNKNOWN, "Unexpected error in RPC handling"); });
}

// Ends a call that has one reply.
template <class Reply>
void finish_with(server_call& call, Status outcome, const Reply& reply) {
  if (call_interception* const seen = call.interception()) [[unlikely]]
    return intercepted_finish<Reply>(*seen, call, outcome, &reply);
  std::string bytes;
  if (outcome.ok()) outcome = to_bytes<Reply>(reply, bytes);
  call.finish(outcome, std::move(bytes));
}

// Ends a call of another kind.
inline void finish_with(server_call& call, const Status& outcome) {
  if (call_interception* const seen = call.interception()) [[unlikely]]
    return intercepted_finish<void>(*seen, call, outcome, static_cast<const void*>(nullptr));
  call.finish(outcome);
}
// `request` is null if the requests are a stream.
inline void begin_with(server_call& call, void* request) {
  if (call_interception* const seen = call.interception()) [[unlikely]]
    intercepted_begin(*seen, request);
}

template <class Service, class Request, class Reply, class BaseRequest = Request, class BaseReply = Reply>
class RpcMethodHandler : public MethodHandler {
 public:
  using function = std::function<Status(Service*, ServerContext*, const Request*, Reply*)>;
  RpcMethodHandler(function f, Service* service) : function_(std::move(f)), service_(service) {}
  void run(server_call& call) override {
    Request request;
    Status s = from_bytes<BaseRequest>(call.take_request(), request);
    if (!s.ok()) return call.finish(s);
    begin_with(call, static_cast<BaseRequest*>(&request));
    Reply reply;
    s = call_handler([&] { return function_(service_, &call.context(), &request, &reply); });
    finish_with<BaseReply>(call, std::move(s), reply);
  }

 private:
  function function_;
  Service* service_;
};

template <class Service, class Request, class Reply>
class ClientStreamingHandler : public MethodHandler {
 public:
  using function = std::function<Status(Service*, ServerContext*, ServerReader<Request>*, Reply*)>;
  ClientStreamingHandler(function f, Service* service) : function_(std::move(f)), service_(service) {}
  void run(server_call& call) override {
    begin_with(call, nullptr);
    ServerReader<Request> reader(call);
    Reply reply;
    Status s = call_handler([&] { return function_(service_, &call.context(), &reader, &reply); });
    finish_with<Reply>(call, std::move(s), reply);
  }

 private:
  function function_;
  Service* service_;
};

template <class Service, class Request, class Reply>
class ServerStreamingHandler : public MethodHandler {
 public:
  using function = std::function<Status(Service*, ServerContext*, const Request*, ServerWriter<Reply>*)>;
  ServerStreamingHandler(function f, Service* service) : function_(std::move(f)), service_(service) {}
  void run(server_call& call) override {
    Request request;
    Status s = from_bytes<Request>(call.take_request(), request);
    if (s.ok()) {
      begin_with(call, &request);
      ServerWriter<Reply> writer(call);
      s = call_handler([&] { return function_(service_, &call.context(), &request, &writer); });
    }
    finish_with(call, s);
  }

 private:
  function function_;
  Service* service_;
};

template <class Streamer, bool IsUnary>
class TemplatedBidiStreamingHandler : public MethodHandler {
 public:
  using function = std::function<Status(ServerContext*, Streamer*)>;
  explicit TemplatedBidiStreamingHandler(function f) : function_(std::move(f)) {}
  void run(server_call& call) override {
    begin_with(call, nullptr);
    Streamer stream(call);
    finish_with(call, call_handler([&] { return function_(&call.context(), &stream); }));
  }

 private:
  function function_;
};

template <class Service, class Request, class Reply>
class BidiStreamingHandler : public TemplatedBidiStreamingHandler<ServerReaderWriter<Reply, Request>, false> {
 public:
  BidiStreamingHandler(std::function<Status(Service*, ServerContext*, ServerReaderWriter<Reply, Request>*)> f,
                       Service* service)
      : TemplatedBidiStreamingHandler<ServerReaderWriter<Reply, Request>, false>(
            [f = std::move(f), service](ServerContext* context, ServerReaderWriter<Reply, Request>* stream) {
              return f(service, context, stream);
            }) {}
};

template <class Request, class Reply>
class StreamedUnaryHandler : public TemplatedBidiStreamingHandler<ServerUnaryStreamer<Request, Reply>, true> {
 public:
  explicit StreamedUnaryHandler(std::function<Status(ServerContext*, ServerUnaryStreamer<Request, Reply>*)> f)
      : TemplatedBidiStreamingHandler<ServerUnaryStreamer<Request, Reply>, true>(std::move(f)) {}
};

template <class Request, class Reply>
class SplitServerStreamingHandler
    : public TemplatedBidiStreamingHandler<ServerSplitStreamer<Request, Reply>, false> {
 public:
  explicit SplitServerStreamingHandler(
      std::function<Status(ServerContext*, ServerSplitStreamer<Request, Reply>*)> f)
      : TemplatedBidiStreamingHandler<ServerSplitStreamer<Request, Reply>, false>(std::move(f)) {}
};

}  // namespace grpc::internal
