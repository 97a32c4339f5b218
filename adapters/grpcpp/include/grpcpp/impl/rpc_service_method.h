// RpcServiceMethod: a method of a service with its handler.
#pragma once

#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/impl/server_call.h>

#include <memory>
#include <utility>

namespace grpc::internal {

/// Runs the handlers of a method, on threads of the server.
class MethodHandler {
 public:
  virtual ~MethodHandler() = default;
  virtual void run(server_call& call) = 0;
};

class requested_calls;  // private: src/server/requested_calls.hpp

/// Owns the handler.
class RpcServiceMethod : public RpcMethod {
 public:
  /// By which API the program answers the calls. Raw methods have messages of the type ByteBuffer.
  enum class ApiType { SYNC, ASYNC, RAW, CALL_BACK, RAW_CALL_BACK };

  RpcServiceMethod(const char* name, RpcType type, MethodHandler* handler)
      : RpcMethod(name, type), handler_(handler) {}
  MethodHandler* handler() const { return handler_.get(); }
  void SetHandler(MethodHandler* handler) { handler_.reset(handler); }
  ApiType api_type() const { return api_; }
  void SetServerApiType(ApiType api) { api_ = api; }

  // For the library: where the program requests calls, while a server has the method.
  const std::shared_ptr<requested_calls>& requests() const { return requests_; }
  void set_requests(std::shared_ptr<requested_calls> requests) { requests_ = std::move(requests); }

 private:
  std::unique_ptr<MethodHandler> handler_;
  std::shared_ptr<requested_calls> requests_;
  ApiType api_ = ApiType::SYNC;
};

}  // namespace grpc::internal
