// Service: the base of generated services.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

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
  bool has_callback_methods() const { return has(api::CALL_BACK) || has(api::RAW_CALL_BACK); }
  bool has_synchronous_methods() const { return has(api::SYNC); }
  /// Whether there are methods that the generic service of the server answers.
  bool has_generic_methods() const {
    return std::any_of(methods_.begin(), methods_.end(), [](const auto& method) { return !method; });
  }

  // For the library. A method of the generic service is null.
  const std::vector<std::unique_ptr<internal::RpcServiceMethod>>& methods() const { return methods_; }

 protected:
  template <class Message>
  void RequestAsyncUnary(int, ServerContext*, Message*, internal::ServerAsyncStreamingInterface*,
                         CompletionQueue*, ServerCompletionQueue*, void*) {
    refuse<Message>();
  }
  template <class T = void>
  void RequestAsyncClientStreaming(int, ServerContext*, internal::ServerAsyncStreamingInterface*,
                                   CompletionQueue*, ServerCompletionQueue*, void*) {
    refuse<T>();
  }
  template <class Message>
  void RequestAsyncServerStreaming(int, ServerContext*, Message*, internal::ServerAsyncStreamingInterface*,
                                   CompletionQueue*, ServerCompletionQueue*, void*) {
    refuse<Message>();
  }
  template <class T = void>
  void RequestAsyncBidiStreaming(int, ServerContext*, internal::ServerAsyncStreamingInterface*,
                                 CompletionQueue*, ServerCompletionQueue*, void*) {
    refuse<T>();
  }

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
  template <class T>
  static void refuse() {
    static_assert(!internal::is_missing<T>,
                  "the servers of coracle::grpcpp have no completion queues yet: use the synchronous API, or "
                  "Coracle's own services");
  }
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
};

}  // namespace grpc
