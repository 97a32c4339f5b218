// run: a GrpcContext and an execution context of Asio in one thread.
#pragma once

#include "agrpc/grpc_context.hpp"
#include "agrpc/impl/library.hpp"

#if defined(CORACLE_GRPCPP)
#include "coracle/grpcpp_queue_wait.hpp"
#if defined(CORACLE_STANDALONE_ASIO)
#include <asio/posix/stream_descriptor.hpp>
#else
#include <boost/asio/posix/stream_descriptor.hpp>
#endif
#include <unistd.h>
#endif

#include <algorithm>
#include <chrono>
#include <concepts>
#include <type_traits>

namespace agrpc::inline CORACLE_ASIO {

/// How run() drives the two contexts. Derive from it to change a member; `ExecutionContext` is that of Asio, such as
/// asio::io_context.
struct DefaultRunTraits {
  /// How long one context may wait for its next event while the other one is not looked at. Both are looked at in turn
  /// without a wait as long as either has work that is ready; then the wait grows up to this value.
  static constexpr std::chrono::microseconds MAX_LATENCY{250};
  /// Processes what is ready. Returns whether there was any.
  template <class ExecutionContext>
  static bool poll(ExecutionContext& context) {
    return context.poll() != 0;
  }
  /// Processes work for that time. Returns whether there was any.
  template <class ExecutionContext, class Rep, class Period>
  static bool run_for(ExecutionContext& context, std::chrono::duration<Rep, Period> duration) {
    return context.run_for(duration) != 0;
  }
  template <class ExecutionContext>
  static bool is_stopped(ExecutionContext& context) {
    return context.stopped();
  }
};

namespace internal {

#if defined(CORACLE_GRPCPP)

// Waits for work of both contexts in that of Asio, whose reactor watches the completion queue as well.
inline void wait_for_both(GrpcContext& grpc_context, asio::io_context& context) {
  const coracle::grpcpp_queue_wait waiting(*grpc_context.get_completion_queue());
  // A duplicate, because a handler may shut down the server whose descriptor it is. It is closed after the wait, and
  // is no work of the context then.
  asio::posix::stream_descriptor watched(context, ::dup(waiting.descriptor()));
  watched.async_wait(asio::posix::stream_descriptor::wait_read, [](const error_code&) {});
  context.run_one();
}

// Whether run() waits for both at once.
template <class Traits, class ExecutionContext>
inline constexpr bool waits_for_both =
    std::is_same_v<Traits, DefaultRunTraits> && std::is_same_v<ExecutionContext, asio::io_context>;

template <class StopCondition>
void run_waiting(GrpcContext& grpc_context, asio::io_context& context, StopCondition stop,
                 bool with_functions) {
  reusing_memory([&] {
    grpc_context.reset();
    while (!stop()) {
      const bool any = context.poll() != 0;
      if (context_access::poll(grpc_context, with_functions) || any) continue;
      if (context.stopped())
        context_access::run_while(grpc_context, with_functions, [&] { return context.stopped() && !stop(); });
      else
        context_access::wait_elsewhere(
            grpc_context, with_functions, [&] { return !stop(); },
            [&] { wait_for_both(grpc_context, context); });
    }
    return true;
  });
}

#endif

template <class Traits, class ExecutionContext, class StopCondition>
void run_both(GrpcContext& grpc_context, ExecutionContext& context, StopCondition stop, bool with_functions) {
#if defined(CORACLE_GRPCPP)
  if constexpr (waits_for_both<Traits, ExecutionContext>)
    return run_waiting(grpc_context, context, stop, with_functions);
#endif
  reusing_memory([&] {
    using step = std::chrono::microseconds;
    const step longest = std::chrono::duration_cast<step>(Traits::MAX_LATENCY);
    step wait{0};
    grpc_context.reset();
    while (!stop()) {
      bool any = Traits::poll(context);
      if (context_access::poll(grpc_context, with_functions)) any = true;
      if (any) {
        wait = step(0);
        continue;
      }
      if (stop()) break;
      wait = std::min(longest, wait + step(1) + wait);
      // The one that has work to wait for waits.
      if (!Traits::is_stopped(context)) Traits::run_for(context, wait);
      else
        context_access::run_until(grpc_context, with_functions, std::chrono::system_clock::now() + longest);
    }
    return true;
  });
}

}  // namespace internal

/// Processes the work of both contexts in this thread until `stop_condition()` is true, by default when both are
/// stopped, out of work. `Traits` is as DefaultRunTraits.
///
/// With coracle::grpcpp, an io_context and DefaultRunTraits, the thread waits for both at once, and does not look at
/// them in turn. The condition is then asked after each piece of work: one that another thread changes takes effect
/// with the next one, so post one.
template <class Traits = DefaultRunTraits, class ExecutionContext, class StopCondition>
  requires std::predicate<StopCondition&>
void run(GrpcContext& grpc_context, ExecutionContext& execution_context, StopCondition stop_condition) {
  internal::run_both<Traits>(grpc_context, execution_context, stop_condition, true);
}
template <class Traits = DefaultRunTraits, class ExecutionContext>
void run(GrpcContext& grpc_context, ExecutionContext& execution_context) {
  agrpc::run<Traits>(grpc_context, execution_context,
                     [&] { return grpc_context.is_stopped() && Traits::is_stopped(execution_context); });
}

/// The same with the events of the completion queue alone: see GrpcContext::run_completion_queue().
template <class Traits = DefaultRunTraits, class ExecutionContext, class StopCondition>
  requires std::predicate<StopCondition&>
void run_completion_queue(GrpcContext& grpc_context, ExecutionContext& execution_context,
                          StopCondition stop_condition) {
  internal::run_both<Traits>(grpc_context, execution_context, stop_condition, false);
}
template <class Traits = DefaultRunTraits, class ExecutionContext>
void run_completion_queue(GrpcContext& grpc_context, ExecutionContext& execution_context) {
  agrpc::run_completion_queue<Traits>(grpc_context, execution_context, [&] {
    return grpc_context.is_stopped() && Traits::is_stopped(execution_context);
  });
}

}  // namespace agrpc::inline CORACLE_ASIO
