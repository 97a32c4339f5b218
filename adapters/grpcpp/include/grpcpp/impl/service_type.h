// Service: the base of generated services.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/impl/server_queue_call.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace coracle {
class service;
}

namespace grpc {

/// Holds the methods. The object outlives the servers that it is registered with; their handlers run on
/// several threads.
class Service {
 public:
  Service() = default;
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  virtual ~Service() = default;

  bool has_async_methods() const { return has(api::ASYNC) || has(api::RAW); }
  bool has_callback_methods() const { return own_ || has(api::CALL_BACK) || has(api::RAW_CALL_BACK); }
  bool has_synchronous_methods() const { return has(api::SYNC); }
  /// Whether there are methods that the generic service of the server answers.
  bool has_generic_methods() const {
    return std::any_of(methods_.begin(), methods_.end(), [](const auto& method) { return !method; });
  }

  // For the library. A method of the generic service is null.
  const std::vector<std::unique_ptr<internal::RpcServiceMethod>>& methods() const { return methods_; }
  // Null, but for the services of the library.
  coracle::service* own() const { return own_; }

 protected:
  // Request the next call of a method. The objects must last until the event with `tag` was taken from
  // `notification_queue`: `ok` true means that there is a call, whose operations put their events into
  // `call_queue`; false, that the server is shut down. A call whose request does not parse ends with INTERNAL,
  // and the next one is waited for. Any thread, after the server was started.
  template <class Message>
  void RequestAsyncUnary(int index, ServerContext* context, Message* request,
                         internal::ServerAsyncStreamingInterface* stream, CompletionQueue* call_queue,
                         ServerCompletionQueue* notification_queue, void* tag) {
    internal::request_call(at(index).requests(), {context, internal::message_target::of<Message>(request),
                                                  stream, call_queue, notification_queue, tag});
  }
  void RequestAsyncClientStreaming(int index, ServerContext* context,
                                   internal::ServerAsyncStreamingInterface* stream,
                                   CompletionQueue* call_queue, ServerCompletionQueue* notification_queue,
                                   void* tag) {
    internal::request_call(at(index).requests(), {context, {}, stream, call_queue, notification_queue, tag});
  }
  template <class Message>
  void RequestAsyncServerStreaming(int index, ServerContext* context, Message* request,
                                   internal::ServerAsyncStreamingInterface* stream,
                                   CompletionQueue* call_queue, ServerCompletionQueue* notification_queue,
                                   void* tag) {
    RequestAsyncUnary(index, context, request, stream, call_queue, notification_queue, tag);
  }
  void RequestAsyncBidiStreaming(int index, ServerContext* context,
                                 internal::ServerAsyncStreamingInterface* stream, CompletionQueue* call_queue,
                                 ServerCompletionQueue* notification_queue, void* tag) {
    RequestAsyncClientStreaming(index, context, stream, call_queue, notification_queue, tag);
  }

  // The calls are answered by a service of Coracle, as if they were callbacks.
  void answer_by(coracle::service& own) { own_ = &own; }

  /// Takes the method.
  void AddMethod(internal::RpcServiceMethod* method) { methods_.emplace_back(method); }
  /// Takes the handler: the method is handled as a stream.
  void MarkMethodStreamed(int index, internal::MethodHandler* handler) {
    at(index).SetHandler(handler);
    at(index).SetMethodType(internal::RpcMethod::BIDI_STREAMING);
  }
  /// The program requests the calls of the method, by completion queues.
  void MarkMethodAsync(int index) { mark(index, api::ASYNC, nullptr); }
  void MarkMethodRaw(int index) { mark(index, api::RAW, nullptr); }
  void MarkMethodGeneric(int index) { methods_[static_cast<std::size_t>(index)].reset(); }
  /// Takes the handler.
  void MarkMethodCallback(int index, internal::MethodHandler* handler) {
    mark(index, api::CALL_BACK, handler);
  }
  void MarkMethodRawCallback(int index, internal::MethodHandler* handler) {
    mark(index, api::RAW_CALL_BACK, handler);
  }
  internal::MethodHandler* GetHandler(int index) { return at(index).handler(); }

 private:
  using api = internal::RpcServiceMethod::ApiType;
  bool has(api kind) const {
    return std::any_of(methods_.begin(), methods_.end(),
                       [kind](const auto& method) { return method && method->api_type() == kind; });
  }
  internal::RpcServiceMethod& at(int index) { return *methods_[static_cast<std::size_t>(index)]; }
  void mark(int index, api kind, internal::MethodHandler* handler) {
    at(index).SetServerApiType(kind);
    at(index).SetHandler(handler);
  }
  std::vector<std::unique_ptr<internal::RpcServiceMethod>> methods_;
  coracle::service* own_ = nullptr;
};

}  // namespace grpc
