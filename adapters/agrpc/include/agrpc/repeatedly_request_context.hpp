// repeatedly_request_context: one RPC of agrpc::repeatedly_request() with a function as handler.
#pragma once

#include "agrpc/impl/library.hpp"

#include <memory>
#include <tuple>
#include <utility>

namespace agrpc::inline CORACLE_ASIO {

namespace internal {

struct generic_rpc;  // of <agrpc/repeatedly_request.hpp>

}  // namespace internal

/// Owns what an RPC of a server needs: its context, its request if it has a single one, and its responder. `Rpc` is
/// internal. Keep it until the RPC was finished.
template <class Rpc>
class RepeatedlyRequestContext {
 public:
  explicit RepeatedlyRequestContext(std::unique_ptr<Rpc> of) noexcept : of_(std::move(of)) {}

  /// The grpc::ServerContext.
  [[nodiscard]] auto& server_context() const noexcept { return of_->server_context; }
  /// The request of a unary or server-streaming RPC.
  [[nodiscard]] auto& request() const noexcept
    requires Rpc::has_request
  {
    return of_->request;
  }
  /// The writer, reader or reader-writer.
  [[nodiscard]] auto& responder() const noexcept { return of_->responder; }
  /// References to these, in the order of a handler's parameters.
  [[nodiscard]] auto args() const noexcept { return of_->args(); }

 private:
  std::unique_ptr<Rpc> of_;
};

/// That of a grpc::AsyncGenericService. The allocator has no effect.
template <class Allocator = std::allocator<void>>
using GenericRepeatedlyRequestContext = RepeatedlyRequestContext<internal::generic_rpc>;

}  // namespace agrpc::inline CORACLE_ASIO
