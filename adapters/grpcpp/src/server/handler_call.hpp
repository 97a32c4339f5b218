// handler_call: a call of the synchronous API, whose handler runs on a thread.
#pragma once

#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/impl/server_call.h>
#include <grpcpp/server_context.h>

#include "adapters/grpcpp/src/interceptors/interception.hpp"
#include "adapters/grpcpp/src/server/server_call_core.hpp"
#include "adapters/grpcpp/src/threads/handler_pool.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace grpc::internal {

// Lasts until the handler has returned, which may be after the end of the call.
class handler_call final : public server_call, public handler_pool::job {
 public:
  // interceptors: of the server.
  handler_call(std::shared_ptr<server_call_core> call, const RpcServiceMethod& method,
               const interceptor_factories& interceptors, handler_pool& pool)
      : call_(std::move(call)), method_(method), interceptors_(interceptors), pool_(pool) {}

  // On the thread of the handler, or two.
  ServerContext& context() override { return context_; }
  std::string take_request() override { return call_->take_request(); }
  bool read(std::string& into) override;
  bool write(std::string&& message, const WriteOptions& options) override;
  void send_initial_metadata() override;
  void finish(const Status& outcome, std::string&& reply) override;

 private:
  void run() noexcept override;
  std::shared_ptr<server_call_core> call_;
  const RpcServiceMethod& method_;
  const interceptor_factories& interceptors_;
  handler_pool& pool_;
  ServerContext context_;
  std::optional<server_interception> interception_;
};

// Gives the calls of a method to the threads of a pool.
class handler_starter final : public call_starter {
 public:
  handler_starter(const RpcServiceMethod& method, const interceptor_factories& interceptors, handler_pool& on)
      : method_(method), interceptors_(interceptors), pool_(on) {}
  coracle::status begin(std::shared_ptr<server_call_core> call) override;

 private:
  const RpcServiceMethod& method_;
  const interceptor_factories& interceptors_;
  handler_pool& pool_;
};

}  // namespace grpc::internal
