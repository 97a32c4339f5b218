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
  ServerRPCPtr() noexcept = default;
  ServerRPCPtr(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] Rpc* get() const noexcept { return rpc_; }
  [[nodiscard]] Rpc& operator*() const noexcept { return *rpc_; }
  [[nodiscard]] Rpc* operator->() const noexcept { return rpc_; }
  [[nodiscard]] explicit operator bool() const noexcept { return rpc_ != nullptr; }
  void reset() noexcept { *this = ServerRPCPtr(); }

  ServerRPCPtr(ServerRPCPtr&& other) noexcept
      : rpc_(std::exchange(other.rpc_, nullptr)), keep_(std::move(other.keep_)) {}
  ServerRPCPtr& operator=(ServerRPCPtr&& other) noexcept {
    rpc_ = std::exchange(other.rpc_, nullptr);
    keep_ = std::move(other.keep_);
    return *this;
  }
  ~ServerRPCPtr() = default;

  /// Internal.
  ServerRPCPtr(Rpc& rpc, std::unique_ptr<void, void (*)(void*)> keep) : rpc_(&rpc), keep_(std::move(keep)) {}

 private:
  Rpc* rpc_ = nullptr;
  std::unique_ptr<void, void (*)(void*)> keep_{nullptr, [](void*) {}};
};

}  // namespace agrpc::inline CORACLE_ASIO
