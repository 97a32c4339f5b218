// GenericStub: calls of any method, without generated code.
#pragma once

#include <grpcpp/generic/generic_stub_callback.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <string>

namespace grpc {

using GenericClientAsyncReaderWriter = ClientAsyncReaderWriter<ByteBuffer, ByteBuffer>;
using GenericClientAsyncResponseReader = ClientAsyncResponseReader<ByteBuffer>;

/// Makes calls by queues as well.
template <class Request, class Reply>
class TemplatedGenericStub final : public TemplatedGenericStubCallback<Request, Reply> {
  using by_callbacks = TemplatedGenericStubCallback<Request, Reply>;

 public:
  using by_callbacks::by_callbacks;
  using by_callbacks::PrepareUnaryCall;

  /// A stream that begins with StartCall().
  std::unique_ptr<ClientAsyncReaderWriter<Request, Reply>> PrepareCall(ClientContext* context,
                                                                       const std::string& method,
                                                                       CompletionQueue* queue) {
    return stream(context, method, queue, false, nullptr);
  }
  /// A stream that begins at once: an event with `tag` tells when.
  std::unique_ptr<ClientAsyncReaderWriter<Request, Reply>> Call(ClientContext* context,
                                                                const std::string& method,
                                                                CompletionQueue* queue, void* tag) {
    return stream(context, method, queue, true, tag);
  }
  std::unique_ptr<ClientAsyncResponseReader<Reply>> PrepareUnaryCall(ClientContext* context,
                                                                     const std::string& method,
                                                                     const Request& request,
                                                                     CompletionQueue* queue) {
    return std::unique_ptr<ClientAsyncResponseReader<Reply>>(
        internal::ClientAsyncResponseReaderHelper::Create<Reply>(
            this->channel(), queue, this->named(method, internal::RpcMethod::NORMAL_RPC), context, request));
  }

 private:
  std::unique_ptr<ClientAsyncReaderWriter<Request, Reply>> stream(ClientContext* context,
                                                                  const std::string& method,
                                                                  CompletionQueue* queue, bool start,
                                                                  void* tag) {
    return std::unique_ptr<ClientAsyncReaderWriter<Request, Reply>>(
        internal::ClientAsyncReaderWriterFactory<Request, Reply>::Create(
            this->channel(), queue, this->named(method, internal::RpcMethod::BIDI_STREAMING), context, start,
            tag));
  }
};

using GenericStub = TemplatedGenericStub<ByteBuffer, ByteBuffer>;

}  // namespace grpc
