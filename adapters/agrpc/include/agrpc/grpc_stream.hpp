// grpc_stream: one operation after the other, with waits that can be cancelled, as in version 2 of asio-grpc.
#pragma once

#include "agrpc/cancel_safe.hpp"
#include "agrpc/default_completion_token.hpp"
#include "agrpc/grpc_executor.hpp"
#include "agrpc/impl/library.hpp"

#include <atomic>
#include <functional>
#include <utility>

namespace agrpc::inline CORACLE_ASIO {

/// Starts operations of RPCs in a GrpcContext, and waits for each: a wait that is cancelled does not cancel the
/// operation. cleanup() must have completed before the object is destroyed, if an operation was in progress.
template <class Executor = GrpcExecutor>
class BasicGrpcStream {
 public:
  using executor_type = Executor;
  template <class OtherExecutor>
  struct rebind_executor {
    using other = BasicGrpcStream<OtherExecutor>;
  };
  explicit BasicGrpcStream(const Executor& executor) : executor_(executor) {}
  explicit BasicGrpcStream(GrpcContext& context) : executor_(context.get_executor()) {}
  BasicGrpcStream(const BasicGrpcStream&) = delete;
  BasicGrpcStream& operator=(const BasicGrpcStream&) = delete;

  [[nodiscard]] executor_type get_executor() const noexcept { return executor_; }
  /// Returns whether an operation is in progress.
  [[nodiscard]] bool is_running() const noexcept { return running_; }
  /// Calls `function(args..., token)`, which starts an operation of an RPC. No other one may be in progress.
  template <class Function, class... Args>
  BasicGrpcStream& initiate(Function&& function, Args&&... args) {
    running_ = true;
    std::invoke(std::forward<Function>(function), std::forward<Args>(args)...,
                asio::bind_executor(executor_, [this, done = safe_.token()](bool ok) {
                  running_ = false;
                  done(ok);
                }));
    return *this;
  }
  /// Waits for the operation. Signature: `void(error_code, bool)`.
  template <class Token = internal::default_token_of<Executor>>
  auto next(Token&& token = Token()) {
    return safe_.wait(std::forward<Token>(token));
  }
  /// Waits until no operation is in progress. Same signature.
  template <class Token = internal::default_token_of<Executor>>
  auto cleanup(Token&& token = Token()) {
    if (!running_) safe_.token()(false);
    return safe_.wait(std::forward<Token>(token));
  }

 private:
  Executor executor_;
  std::atomic<bool> running_ = false;
  GrpcCancelSafe safe_;
};

/// A stream in a GrpcContext.
using GrpcStream = BasicGrpcStream<>;

}  // namespace agrpc::inline CORACLE_ASIO
