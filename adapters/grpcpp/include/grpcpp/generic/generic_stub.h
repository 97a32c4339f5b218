// GenericStub: calls of any method, without generated code.
#pragma once

#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/client_callback.h>
#include <grpcpp/support/stub_options.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace grpc {

using GenericClientAsyncReaderWriter = ClientAsyncReaderWriter<ByteBuffer, ByteBuffer>;
using GenericClientAsyncResponseReader = ClientAsyncResponseReader<ByteBuffer>;

/// Methods are named as "/package.Service/Method"; the name is copied. Any thread may use the object, which may
/// be destroyed before its calls have ended. The methods of the stubs that it replaces say the rest.
template <class Request, class Reply>
class TemplatedGenericStub final {
 public:
  explicit TemplatedGenericStub(std::shared_ptr<ChannelInterface> channel) : channel_(std::move(channel)) {}

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
            channel_.get(), queue, named(method, internal::RpcMethod::NORMAL_RPC), context, request));
  }

  void UnaryCall(ClientContext* context, const std::string& method, StubOptions /*options*/,
                 const Request* request, Reply* reply, std::function<void(Status)> done) {
    internal::CallbackUnaryCall(channel_.get(), named(method, internal::RpcMethod::NORMAL_RPC), context,
                                request, reply, std::move(done));
  }
  void PrepareUnaryCall(ClientContext* context, const std::string& method, StubOptions /*options*/,
                        const Request* request, Reply* reply, ClientUnaryReactor* reactor) {
    internal::ClientCallbackUnaryFactory::Create(channel_.get(),
                                                 named(method, internal::RpcMethod::NORMAL_RPC), context,
                                                 request, reply, reactor);
  }
  void PrepareBidiStreamingCall(ClientContext* context, const std::string& method, StubOptions /*options*/,
                                ClientBidiReactor<Request, Reply>* reactor) {
    internal::ClientCallbackReaderWriterFactory<Request, Reply>::Create(
        channel_.get(), named(method, internal::RpcMethod::BIDI_STREAMING), context, reactor);
  }

 private:
  static internal::RpcMethod named(const std::string& method, internal::RpcMethod::RpcType type) {
    return {std::make_shared<const std::string>(method), type};
  }
  std::unique_ptr<ClientAsyncReaderWriter<Request, Reply>> stream(ClientContext* context,
                                                                  const std::string& method,
                                                                  CompletionQueue* queue, bool start,
                                                                  void* tag) {
    return std::unique_ptr<ClientAsyncReaderWriter<Request, Reply>>(
        internal::ClientAsyncReaderWriterFactory<Request, Reply>::Create(
            channel_.get(), queue, named(method, internal::RpcMethod::BIDI_STREAMING), context, start, tag));
  }
  std::shared_ptr<ChannelInterface> channel_;
};

using GenericStub = TemplatedGenericStub<ByteBuffer, ByteBuffer>;

}  // namespace grpc
