// server_rpc_ptr: an RPC that its handler keeps.
#pragma once

#include "agrpc/impl/library.hpp"
#include "agrpc/server_rpc.hpp"

#include <memory>
#include <utility>

namespace agrpc::inline CORACLE_ASIO {

/// Owns an RPC, and its request: the handlers of register_callback_rpc_handler() get it. When it is destroyed, an RPC
/// that was not finished is cancelled.
template <class Rpc>
class ServerRPCPtr {
 public:
  using ServerRPC = Rpc;

  ServerRPCPtr() noexcept = default;
  ServerRPCPtr(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] Rpc* get() const noexcept { return rpc_; }
  [[nodiscard]] Rpc& operator*() const noexcept { return *rpc_; }
  [[nodiscard]] Rpc* operator->() const noexcept { return rpc_; }
  [[nodiscard]] explicit operator bool() const noexcept { return rpc_ != nullptr; }
  /// The request. Precondition: the method has a single one.
  [[nodiscard]] typename Rpc::Request& request() const noexcept
    requires(Rpc::TYPE == ServerRPCType::UNARY || Rpc::TYPE == ServerRPCType::SERVER_STREAMING)
  {
    return *request_;
  }
  void reset() noexcept { *this = ServerRPCPtr(); }
  friend void swap(ServerRPCPtr& a, ServerRPCPtr& b) noexcept {
    std::swap(a.rpc_, b.rpc_);
    std::swap(a.request_, b.request_);
    std::swap(a.keep_, b.keep_);
  }

  ServerRPCPtr(ServerRPCPtr&& other) noexcept
      : rpc_(std::exchange(other.rpc_, nullptr)),
        request_(std::exchange(other.request_, nullptr)),
        keep_(std::move(other.keep_)) {}
  ServerRPCPtr& operator=(ServerRPCPtr&& other) noexcept {
    rpc_ = std::exchange(other.rpc_, nullptr);
    request_ = std::exchange(other.request_, nullptr);
    keep_ = std::move(other.keep_);
    return *this;
  }
  ~ServerRPCPtr() = default;

  /// Internal.
  ServerRPCPtr(Rpc& rpc, typename Rpc::Request* request, std::unique_ptr<void, void (*)(void*)> keep)
      : rpc_(&rpc), request_(request), keep_(std::move(keep)) {}

 private:
  Rpc* rpc_ = nullptr;
  typename Rpc::Request* request_ = nullptr;
  std::unique_ptr<void, void (*)(void*)> keep_{nullptr, [](void*) {}};
};

}  // namespace agrpc::inline CORACLE_ASIO
