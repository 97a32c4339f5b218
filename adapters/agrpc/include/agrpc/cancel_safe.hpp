// cancel_safe: waits that can be cancelled without their operation, as in version 2 of asio-grpc.
#pragma once

#include "agrpc/default_completion_token.hpp"
#include "agrpc/impl/library.hpp"
#include "agrpc/impl/manual_event.hpp"

#include <utility>

namespace agrpc::inline CORACLE_ASIO {

template <class Signature>
class CancelSafe;

/// `token()` is the completion token of an operation, to which an executor is bound where the operation needs one;
/// `wait()` waits for that operation.
///
///   agrpc::GrpcCancelSafe safe;
///   agrpc::read(reader, response, asio::bind_executor(grpc_context, safe.token()));
///   ... co_await (agrpc::wait(alarm, deadline) || safe.wait(asio::use_awaitable)) ...
///
/// The object must outlive the operation.
template <class... Args>
class CancelSafe<void(Args...)> {
 public:
  class CompletionToken {
   public:
    explicit CompletionToken(CancelSafe& of) noexcept : of_(&of) {}
    void operator()(Args... results) const { of_->event_.set(std::move(results)...); }

   private:
    CancelSafe* of_;
  };

  CancelSafe() = default;
  CancelSafe(const CancelSafe&) = delete;
  CancelSafe& operator=(const CancelSafe&) = delete;

  /// The token of the next operation.
  [[nodiscard]] CompletionToken token() noexcept {
    event_.clear();
    return CompletionToken(*this);
  }
  /// Waits for the operation. Signature: `void(error_code, Args...)`; the error is operation_aborted if the wait was
  /// cancelled.
  template <class Token = DefaultCompletionToken>
  auto wait(Token&& token = Token()) {
    return event_.wait(asio::system_executor(), std::forward<Token>(token));
  }

 private:
  internal::manual_event<Args...> event_;
};

/// For the operations of RPCs.
using GrpcCancelSafe = CancelSafe<void(bool)>;

}  // namespace agrpc::inline CORACLE_ASIO
