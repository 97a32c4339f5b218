// The interceptors of servers.
#pragma once

#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/support/interceptor.h>

namespace grpc {

class ServerContextBase;

namespace internal {

class server_interception;  // private: src/interceptors/interception.hpp

}  // namespace internal

namespace experimental {

/// A call of a server, as its interceptors know it.
class ServerRpcInfo {
 public:
  enum class Type { UNARY, CLIENT_STREAMING, SERVER_STREAMING, BIDI_STREAMING };
  ServerRpcInfo(const ServerRpcInfo&) = delete;
  ServerRpcInfo& operator=(const ServerRpcInfo&) = delete;

  /// "/package.Service/Method"
  const char* method() const { return method_.name(); }
  Type type() const { return static_cast<Type>(method_.method_type()); }
  ServerContextBase* server_context() { return context_; }

 private:
  friend class internal::server_interception;
  ServerRpcInfo(ServerContextBase* context, const internal::RpcMethod& method)
      : context_(context), method_(method) {}
  ServerContextBase* context_;
  const internal::RpcMethod& method_;
};

/// Makes an interceptor for each call of a server; the call owns it. May return null: none for this call.
class ServerInterceptorFactoryInterface {
 public:
  virtual ~ServerInterceptorFactoryInterface() = default;
  virtual Interceptor* CreateServerInterceptor(ServerRpcInfo* info) = 0;
};

}  // namespace experimental
}  // namespace grpc
