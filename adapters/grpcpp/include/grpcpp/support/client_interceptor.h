// The interceptors of clients.
#pragma once

#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/support/interceptor.h>

namespace grpc {

class ClientContext;

namespace internal {

class client_interception;  // private: src/interceptors/interception.cpp

}  // namespace internal

namespace experimental {

/// A call of a client, as its interceptors know it.
class ClientRpcInfo {
 public:
  enum class Type { UNARY, CLIENT_STREAMING, SERVER_STREAMING, BIDI_STREAMING, UNKNOWN };
  ClientRpcInfo(const ClientRpcInfo&) = delete;
  ClientRpcInfo& operator=(const ClientRpcInfo&) = delete;

  /// "/package.Service/Method"
  const char* method() const { return method_.name(); }
  const char* suffix_for_stats() const { return method_.suffix_for_stats(); }
  ChannelInterface* channel() { return channel_; }
  ClientContext* client_context() { return context_; }
  Type type() const { return static_cast<Type>(method_.method_type()); }

 private:
  friend class internal::client_interception;
  ClientRpcInfo(ClientContext* context, const internal::RpcMethod& method, ChannelInterface* channel)
      : context_(context), method_(method), channel_(channel) {}
  ClientContext* context_;
  const internal::RpcMethod method_;
  ChannelInterface* channel_;
};

/// Makes an interceptor for each call of a channel; the call owns it. May return null: none for this call.
class ClientInterceptorFactoryInterface {
 public:
  virtual ~ClientInterceptorFactoryInterface() = default;
  virtual Interceptor* CreateClientInterceptor(ClientRpcInfo* info) = 0;
};

/// The interceptors that `factory` makes run after those of the channel, for all channels. Once, before there
/// are calls; `factory` lasts until the process ends.
void RegisterGlobalClientInterceptorFactory(ClientInterceptorFactoryInterface* factory);
void TestOnlyResetGlobalClientInterceptorFactory();

}  // namespace experimental
}  // namespace grpc
