// alarm: a timer of a GrpcContext.
#pragma once

#include "agrpc/default_completion_token.hpp"
#include "agrpc/grpc_context.hpp"
#include "agrpc/grpc_executor.hpp"
#include "agrpc/impl/initiate.hpp"
#include "agrpc/impl/library.hpp"

#include <grpcpp/alarm.h>

#include <tuple>
#include <utility>

namespace agrpc::inline CORACLE_ASIO {

namespace internal {

template <class Deadline>
struct wait_for_alarm {
  using result = bool;
  using sent = std::tuple<>;
  static constexpr bool any_cancellation = true;
  void start(GrpcContext& context, void* tag) { alarm->Set(context.get_completion_queue(), deadline, tag); }
  [[nodiscard]] static bool take(bool ok) noexcept { return ok; }
  [[nodiscard]] static sent take_sent() noexcept { return {}; }
  void cancel() { alarm->Cancel(); }
  grpc::Alarm* alarm;
  Deadline deadline;
};

// With an alarm that the operation owns, and returns.
template <class Alarm, class Deadline>
struct wait_for_own_alarm {
  using result = std::tuple<bool, Alarm>;
  using sent = std::tuple<Alarm>;
  static constexpr bool any_cancellation = true;
  void start(GrpcContext& context, void* tag) {
    alarm.native().Set(context.get_completion_queue(), deadline, tag);
  }
  [[nodiscard]] result take(bool ok) { return {ok, std::move(alarm)}; }
  [[nodiscard]] sent take_sent() { return sent(std::move(alarm)); }
  void cancel() { alarm.native().Cancel(); }
  Alarm alarm;
  Deadline deadline;
};

}  // namespace internal

/// A timer that completes in a GrpcContext. One wait at a time.
template <class Executor = GrpcExecutor>
class BasicAlarm {
 public:
  using executor_type = Executor;
  template <class OtherExecutor>
  struct rebind_executor {
    using other = BasicAlarm<OtherExecutor>;
  };

  explicit BasicAlarm(const Executor& executor) : executor_(executor) {}
  explicit BasicAlarm(GrpcContext& context) : executor_(context.get_executor()) {}

  /// Waits until `deadline`, of any type that grpc::TimePoint is specialized for, or cancel(). The handler's
  /// signature is `void(bool)`, with false after a cancellation. The alarm must not be moved meanwhile.
  /// Cancellation: all types.
  template <class Deadline, class Token = internal::default_token_of<Executor>>
  auto wait(const Deadline& deadline, Token&& token = Token()) & {
    return internal::initiate(executor_, internal::wait_for_alarm<Deadline>{&alarm_, deadline},
                              std::forward<Token>(token));
  }
  /// The same with an alarm that is kept by the operation. The signature is `void(bool, BasicAlarm)`.
  template <class Deadline, class Token = internal::default_token_of<Executor>>
  auto wait(const Deadline& deadline, Token&& token = Token()) && {
    const Executor executor = executor_;
    return internal::initiate(executor,
                              internal::wait_for_own_alarm<BasicAlarm, Deadline>{std::move(*this), deadline},
                              std::forward<Token>(token));
  }
  /// Cancels the wait, from any thread. Without a wait in progress it has no effect.
  void cancel() { alarm_.Cancel(); }

  [[nodiscard]] executor_type get_executor() const noexcept { return executor_; }
  [[nodiscard]] executor_type get_scheduler() const noexcept { return executor_; }
  /// The alarm of grpc++.
  [[nodiscard]] grpc::Alarm& native() noexcept { return alarm_; }

 private:
  Executor executor_;
  grpc::Alarm alarm_;
};

BasicAlarm(GrpcContext&) -> BasicAlarm<GrpcExecutor>;

/// A timer that completes in a GrpcContext.
using Alarm = BasicAlarm<>;

}  // namespace agrpc::inline CORACLE_ASIO
