// waiter: an operation that continues while its results are waited for, with other waits, and cancelled waits.
#pragma once

#include "agrpc/default_completion_token.hpp"
#include "agrpc/grpc_executor.hpp"
#include "agrpc/impl/library.hpp"
#include "agrpc/impl/manual_event.hpp"

#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

namespace agrpc::inline CORACLE_ASIO {

template <class Signature, class Executor = GrpcExecutor>
class Waiter;

namespace internal {

// `executor`, or that of an I/O object or an execution context.
template <class ExecutorOrObject>
decltype(auto) executor_from(const ExecutorOrObject& executor_or_object) {
  if constexpr (::coracle::asio_internal::executor<ExecutorOrObject>) return executor_or_object;
  else return const_cast<ExecutorOrObject&>(executor_or_object).get_executor();
}
template <class T>
concept executor_or_object = ::coracle::asio_internal::executor<std::remove_cvref_t<T>> ||
                             requires(T& object) { object.get_executor(); };

}  // namespace internal

/// Starts an operation, such as a read, and waits for its completion as often as wanted: a wait that is cancelled does
/// not cancel the operation.
///
///   agrpc::Waiter<void(bool)> waiter;
///   waiter.initiate(agrpc::read, rpc, request);
///   ... co_await (waiter.wait(asio::deferred) or an alarm, in a parallel group) ...
///
/// `Signature` is that of the operation's handlers; its arguments can be default-constructed and moved. Of arguments that
/// cannot be copied, the first wait that completes gets all. The waiter must outlive the operation. Waits complete on the
/// executors of their handlers, or else on that of initiate().
template <class... Args, class Executor>
class Waiter<void(Args...), Executor> {
 public:
  using executor_type = Executor;
  template <class OtherExecutor>
  struct rebind_executor {
    using other = Waiter<void(Args...), OtherExecutor>;
  };

  Waiter() = default;
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  /// Calls `function(on, args..., handler)`, which starts the operation. No other one may be in progress. Waits whose
  /// handlers have no executor complete on `on`, an executor, or on that of `on`, an I/O object such as an RPC or an
  /// alarm.
  template <class Function, class On, class... More>
  void initiate(Function&& function, On&& on, More&&... args) {
    if constexpr (internal::executor_or_object<On>) executor_.emplace(internal::executor_from(on));
    start(std::forward<Function>(function), std::forward<On>(on), std::forward<More>(args)...);
  }
  /// Calls `function(handler)`: the executor for such waits is that of before.
  template <class Function>
  void initiate(Function&& function) {
    start(std::forward<Function>(function));
  }
  /// Returns whether the operation has completed. Any thread may call it.
  [[nodiscard]] bool is_ready() const { return event_.is_set(); }
  /// Waits for the operation, also for one that is initiated after this call. Signature: `void(error_code, Args...)`, or
  /// `void(Args...)` if Args begins with an error_code; the error is operation_aborted if the wait was cancelled, which
  /// every type of cancellation does. A wait whose handler has no executor, and that is cancelled before initiate(),
  /// completes on the thread that cancels it.
  template <class Token = internal::default_token_of<Executor>>
  auto wait(Token&& token = Token()) {
    return event_.wait(internal::later_executor<Executor>(executor_), std::forward<Token>(token));
  }

 private:
  template <class Function, class... FunctionArgs>
  void start(Function&& function, FunctionArgs&&... args) {
    event_.clear();
    std::invoke(std::forward<Function>(function), std::forward<FunctionArgs>(args)...,
                [this](Args... results) { event_.set(std::forward<Args>(results)...); });
  }

  std::optional<Executor> executor_;
  internal::manual_event<Args...> event_;
};

}  // namespace agrpc::inline CORACLE_ASIO
