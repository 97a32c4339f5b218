// AsyncGenericService: the methods that no other service of a server has, by completion queues.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/callback_generic_service.h>  // IWYU pragma: export
#include <grpcpp/impl/server_queue_call.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <string>
#include <utility>

namespace grpc {

using GenericServerAsyncReaderWriter = ServerAsyncReaderWriter<ByteBuffer, ByteBuffer>;
using GenericServerAsyncResponseWriter = ServerAsyncResponseWriter<ByteBuffer>;
using GenericServerAsyncReader = ServerAsyncReader<ByteBuffer, ByteBuffer>;
using GenericServerAsyncWriter = ServerAsyncWriter<ByteBuffer>;

class GenericServerContext final : public ServerContext {
 public:
  /// "/package.Service/Method"; empty before the event of the call was taken.
  const std::string& method() const { return method_; }
  /// The name that the client called, with its port if it named one; empty before the event of the call was
  /// taken.
  const std::string& host() const { return authority(); }

 private:
  friend class AsyncGenericService;
  std::string method_;
};

/// Registered with ServerBuilder::RegisterAsyncGenericService(), it outlives the server. Its calls are streams in
/// both directions, whatever their methods are for the client: a unary call has one message each way.
class AsyncGenericService final {
 public:
  AsyncGenericService() = default;
  AsyncGenericService(const AsyncGenericService&) = delete;
  AsyncGenericService& operator=(const AsyncGenericService&) = delete;

  /// Requests the next call, as the Request*() functions of generated services do; any thread, after the server
  /// was started.
  void RequestCall(GenericServerContext* context, GenericServerAsyncReaderWriter* stream,
                   CompletionQueue* call_queue, ServerCompletionQueue* notification_queue, void* tag) {
    internal::wanted_call wanted{context, {}, stream, call_queue, notification_queue, tag};
    wanted.method = &context->method_;
    internal::request_call(requests_, wanted);
  }

  // For the library.
  const std::shared_ptr<internal::requested_calls>& requests() const { return requests_; }
  void set_requests(std::shared_ptr<internal::requested_calls> requests) { requests_ = std::move(requests); }

 private:
  std::shared_ptr<internal::requested_calls> requests_;
};

}  // namespace grpc
