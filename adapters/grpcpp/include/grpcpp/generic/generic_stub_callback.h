// GenericStubCallback: calls of any method by callbacks, without generated code.
#pragma once

#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/client_callback.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/stub_options.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace grpc {

/// Methods are named as "/package.Service/Method"; the name is copied. Any thread may use the object, which may
/// be destroyed before its calls have ended. The methods of the stubs that it replaces say the rest.
template <class Request, class Reply>
class TemplatedGenericStubCallback {
 public:
  explicit TemplatedGenericStubCallback(std::shared_ptr<ChannelInterface> channel)
      : channel_(std::move(channel)) {}

  void UnaryCall(ClientContext* context, const std::string& method, StubOptions options,
                 const Request* request, Reply* reply, std::function<void(Status)> done) {
    internal::CallbackUnaryCall(channel_.get(), named(method, internal::RpcMethod::NORMAL_RPC, options),
                                context, request, reply, std::move(done));
  }
  void PrepareUnaryCall(ClientContext* context, const std::string& method, StubOptions options,
                        const Request* request, Reply* reply, ClientUnaryReactor* reactor) {
    internal::ClientCallbackUnaryFactory::Create(channel_.get(),
                                                 named(method, internal::RpcMethod::NORMAL_RPC, options),
                                                 context, request, reply, reactor);
  }
  void PrepareBidiStreamingCall(ClientContext* context, const std::string& method, StubOptions options,
                                ClientBidiReactor<Request, Reply>* reactor) {
    internal::ClientCallbackReaderWriterFactory<Request, Reply>::Create(
        channel_.get(), named(method, internal::RpcMethod::BIDI_STREAMING, options), context, reactor);
  }

 protected:
  static internal::RpcMethod named(const std::string& method, internal::RpcMethod::RpcType type,
                                   const StubOptions& options = {}) {
    return {std::make_shared<const std::string>(method), options.suffix_for_stats(), type};
  }
  ChannelInterface* channel() const { return channel_.get(); }

 private:
  std::shared_ptr<ChannelInterface> channel_;
};

using GenericStubCallback = TemplatedGenericStubCallback<ByteBuffer, ByteBuffer>;

}  // namespace grpc
