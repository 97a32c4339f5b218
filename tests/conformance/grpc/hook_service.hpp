// hook_service: grpc.testing.HookService, which holds up the end of a pod.
#pragma once

#include "grpc/testing/xds.coracle.hpp"

#include <coracle/coro/event.hpp>
#include <coracle/server.hpp>

#include <memory>
#include <optional>

namespace interop {

namespace pb = grpc::testing;

// For a server of one loop.
class hook_service final : public pb::rpc::HookService::service {
 public:
  // All calls of Hook return it, those that wait as well.
  void set_status(coracle::status s) {
    status_ = std::move(s);
    there_.set();
  }

 private:
  coracle::reply<pb::Empty> Hook(coracle::server_context&, const pb::Empty&) override {
    while (!status_) co_await there_;
    if (!status_->ok()) co_return *status_;
    co_return pb::Empty();
  }
  coracle::reply<pb::Empty> SetReturnStatus(coracle::server_context&,
                                            const pb::SetReturnStatusRequest& request) override {
    set_status({static_cast<coracle::status_code>(request.grpc_code_to_return()),
                request.grpc_status_description()});
    return pb::Empty();
  }
  coracle::reply<pb::Empty> ClearReturnStatus(coracle::server_context&, const pb::Empty&) override {
    status_.reset();
    there_.reset();
    return pb::Empty();
  }

  std::optional<coracle::status> status_;
  coracle::event<> there_;
};

// The hook service on a port of its own, from the command START to STOP.
class hook_server {
 public:
  explicit hook_server(coracle::runtime& rt) noexcept : runtime_(rt) {}

  coracle::status carry_out(const pb::HookRequest& request) {
    switch (request.command()) {
      case pb::HookRequest::START: return start(request.server_port());
      case pb::HookRequest::STOP: return stop();
      case pb::HookRequest::RETURN:
        if (!running_) return coracle::status::failed_precondition("the hook service does not run");
        running_->service.set_status({static_cast<coracle::status_code>(request.grpc_code_to_return()),
                                      request.grpc_status_description()});
        return {};
      default: return coracle::status::invalid_argument("the command is START, STOP or RETURN");
    }
  }

 private:
  struct running {
    explicit running(coracle::runtime& rt) : server(rt) { server.add(service); }
    hook_service service;
    coracle::server server;
  };

  coracle::status start(int port) {
    if (running_) return coracle::status::failed_precondition("the hook service runs already");
    auto made = std::make_shared<running>(runtime_);
    if (auto bound = made->server.listen("*:" + std::to_string(port), coracle::insecure()); !bound.ok())
      return bound;
    running_ = std::move(made);
    return {};
  }
  coracle::status stop() {
    if (!running_) return coracle::status::failed_precondition("the hook service does not run");
    // The drain is awaited before the server is destroyed, which no loop may do: the process keeps it.
    running_->server.stop();
    stopped_.push_back(std::move(running_));
    return {};
  }

  coracle::runtime& runtime_;
  std::shared_ptr<running> running_;
  std::vector<std::shared_ptr<running>> stopped_;
};

}  // namespace interop
