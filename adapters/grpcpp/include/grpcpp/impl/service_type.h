// Service: the base of generated services.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>

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

  bool has_async_methods() const { return false; }
  bool has_callback_methods() const { return false; }
  bool has_generic_methods() const { return false; }
  bool has_synchronous_methods() const { return !methods_.empty(); }

  // For the library.
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
    internal::RpcServiceMethod& method = *methods_[static_cast<std::size_t>(index)];
    method.SetHandler(handler);
    method.SetMethodType(internal::RpcMethod::BIDI_STREAMING);
  }
  internal::MethodHandler* GetHandler(int index) {
    return methods_[static_cast<std::size_t>(index)]->handler();
  }

  // A service that has such methods does not compile.
  template <class T>
  void MarkMethodAsync(T) {
    refuse<T>();
  }
  template <class T>
  void MarkMethodRaw(T) {
    static_assert(!internal::is_missing<T>, "coracle::grpcpp has no raw methods yet");
  }
  template <class T>
  void MarkMethodGeneric(T) {
    static_assert(!internal::is_missing<T>, "coracle::grpcpp has no generic methods yet");
  }
  template <class T>
  void MarkMethodCallback(T, internal::MethodHandler*) {
    static_assert(!internal::is_missing<T>, "coracle::grpcpp has no callback API yet");
  }
  template <class T>
  void MarkMethodRawCallback(T, internal::MethodHandler*) {
    static_assert(!internal::is_missing<T>, "coracle::grpcpp has no raw methods yet");
  }

 private:
  template <class T>
  static void refuse() {
    static_assert(!internal::is_missing<T>,
                  "the servers of coracle::grpcpp have no completion queues yet: use the synchronous API, or "
                  "Coracle's own services");
  }
  std::vector<std::unique_ptr<internal::RpcServiceMethod>> methods_;
};

}  // namespace grpc
