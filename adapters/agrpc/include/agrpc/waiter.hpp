// waiter: an operation that continues while its results are waited for, with other waits, and cancelled waits.
#pragma once

#include "agrpc/default_completion_token.hpp"
#include "agrpc/impl/library.hpp"
#include "agrpc/impl/manual_event.hpp"

#if defined(CORACLE_STANDALONE_ASIO)
#include <asio/any_io_executor.hpp>
#include <asio/system_executor.hpp>
#else
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/system_executor.hpp>
#endif

#include <functional>
#include <utility>

namespace agrpc::inline CORACLE_ASIO {

template <class Signature, class Executor = asio::any_io_executor>
class Waiter;

/// Starts an operation, such as a read, and waits for its completion as often as wanted: a wait that is cancelled does
/// not cancel the operation.
///
///   agrpc::Waiter<void(bool)> waiter;
///   waiter.initiate(agrpc::read, rpc, request);
///   ... co_await (waiter.wait(asio::deferred) or an alarm, in a parallel group) ...
///
/// `Signature` is that of the operation's handlers; its arguments can be default-constructed and copied. The waiter must
/// outlive the operation. `Executor` is where waits complete whose handlers have no executor.
template <class... Args, class Executor>
class Waiter<void(Args...), Executor> {
 public:
  using executor_type = Executor;

  Waiter() = default;
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  /// Calls `function(args..., handler)`, which starts the operation. No other one may be in progress.
  template <class Function, class... FunctionArgs>
  void initiate(Function&& function, FunctionArgs&&... args) {
    event_.clear();
    std::invoke(std::forward<Function>(function), std::forward<FunctionArgs>(args)...,
                [this](Args... results) { event_.set(std::move(results)...); });
  }
  /// Returns whether the operation has completed.
  [[nodiscard]] bool ready() const { return event_.is_set(); }
  /// Waits for the operation. Signature: `void(error_code, Args...)`; the error is operation_aborted if the wait was
  /// cancelled, which every type of cancellation does.
  template <class Token = internal::default_token_of<Executor>>
  auto wait(Token&& token = Token()) {
    return event_.wait(asio::system_executor(), std::forward<Token>(token));
  }

 private:
  internal::manual_event<Args...> event_;
};

}  // namespace agrpc::inline CORACLE_ASIO
