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

#include <atomic>
#include <memory>
#include <thread>
#endif

#include <algorithm>
#include <chrono>
#include <concepts>
#include <type_traits>

namespace agrpc::inline CORACLE_ASIO {

/// How run() drives the two contexts. A traits class has the members that differ; `ExecutionContext` is that of Asio, such
/// as asio::io_context.
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

// The traits, with the defaults of members that they do not have.
template <class Traits, class ExecutionContext>
struct complete_run_traits {
  using step = std::chrono::microseconds;
  [[nodiscard]] static constexpr step max_latency() {
    if constexpr (requires { Traits::MAX_LATENCY; })
      return std::chrono::duration_cast<step>(Traits::MAX_LATENCY);
    else return DefaultRunTraits::MAX_LATENCY;
  }
  static bool poll(ExecutionContext& context) {
    if constexpr (requires { Traits::poll(context); }) return Traits::poll(context);
    else return DefaultRunTraits::poll(context);
  }
  static bool run_for(ExecutionContext& context, step duration) {
    if constexpr (requires { Traits::run_for(context, duration); }) return Traits::run_for(context, duration);
    else return DefaultRunTraits::run_for(context, duration);
  }
  static bool is_stopped(ExecutionContext& context) {
    if constexpr (requires { Traits::is_stopped(context); }) return Traits::is_stopped(context);
    else return DefaultRunTraits::is_stopped(context);
  }
};

#if defined(CORACLE_GRPCPP)

// Waits for work of both contexts in that of Asio, whose reactor watches the completion queue as well.
class wait_for_both {
 public:
  wait_for_both(GrpcContext& grpc_context, asio::io_context& context)
      : grpc_context_(grpc_context), context_(context), watched_(context) {}
  wait_for_both(const wait_for_both&) = delete;
  wait_for_both& operator=(const wait_for_both&) = delete;
  ~wait_for_both() { forget(); }

  void wait() {
    const coracle::grpcpp_queue_wait waiting(*grpc_context_.get_completion_queue());
    if (watched_.is_open() && watched_.native_handle() != waiting.descriptor()) forget();
    if (!watched_.is_open()) watched_.assign(waiting.descriptor());
    const auto over = std::make_shared<std::atomic<bool>>(false);
    watched_.async_wait(asio::posix::stream_descriptor::wait_read,
                        readiness{context_, std::this_thread::get_id(), over});
    // Also if an exception of a handler ends it.
    struct end_of_wait {
      std::atomic<bool>& over;
      asio::posix::stream_descriptor& watched;
      ~end_of_wait() {
        over = true;
        error_code ignored;
        watched.cancel(ignored);  // it is no work of the context
      }
    } const end{*over, watched_};
    context_.run_one();
  }

 private:
  // If another thread of the context has found it, wakes the one that waits.
  struct readiness {
    asio::io_context& context;
    std::thread::id waiter;
    std::shared_ptr<std::atomic<bool>> over;
    void operator()(const error_code&) const { (*this)(); }
    void operator()() const {
      if (std::this_thread::get_id() != waiter && !*over) asio::post(context, *this);
    }
  };
  void forget() {
    if (watched_.is_open()) watched_.release();  // it belongs to the queue
  }
  GrpcContext& grpc_context_;
  asio::io_context& context_;
  asio::posix::stream_descriptor watched_;
};

// Until both are stopped.
inline void run_waiting(GrpcContext& grpc_context, asio::io_context& context, bool with_functions) {
  reusing_memory([&] {
    wait_for_both both(grpc_context, context);
    while (!context_access::is_finished(grpc_context) || !context.stopped()) {
      const bool any = context.poll() != 0;
      if (context_access::poll(grpc_context, with_functions) || any) continue;
      if (grpc_context.is_stopped()) context.run_one();
      else if (context.stopped())
        context_access::run_while(grpc_context, with_functions, [&] { return context.stopped(); });
      else context_access::wait_elsewhere(grpc_context, with_functions, [&] { both.wait(); });
    }
    return true;
  });
}

#endif

// Asks `stop()` once before each look at the contexts, and traits whether the other one has work.
template <class Traits, class ExecutionContext, class StopCondition>
void run_both(GrpcContext& grpc_context, ExecutionContext& context, StopCondition stop, bool with_functions) {
  reusing_memory([&] {
    using traits = complete_run_traits<Traits, ExecutionContext>;
    using step = typename traits::step;
    step wait{0};
    while (!stop()) {
      const bool finished = context_access::is_finished(grpc_context);
      if (finished && traits::is_stopped(context)) break;
      // The one that has work to wait for waits. In no time, run_for() of Asio does not even process what is ready.
      bool any = finished && wait != step(0) ? traits::run_for(context, wait) : traits::poll(context);
      if (!finished && context_access::run_one(grpc_context, with_functions, wait)) any = true;
      wait = any ? step(0) : std::min(traits::max_latency(), wait + step(1) + wait);
    }
    return true;
  });
}

// Until both are stopped.
template <class Traits, class ExecutionContext>
void run_until_stopped(GrpcContext& grpc_context, ExecutionContext& context, bool with_functions) {
#if defined(CORACLE_GRPCPP)
  if constexpr (std::is_same_v<Traits, DefaultRunTraits> &&
                std::is_same_v<ExecutionContext, asio::io_context>)
    return run_waiting(grpc_context, context, with_functions);
#endif
  run_both<Traits>(grpc_context, context, [] { return false; }, with_functions);
}

}  // namespace internal

/// Processes the work of both contexts in this thread until both are stopped, out of work, or `stop_condition()` is
/// true. A context that was stopped before stays so: see GrpcContext::reset(). `Traits` is as DefaultRunTraits.
///
/// With coracle::grpcpp, an io_context, DefaultRunTraits and no condition, the thread waits for both at once. It looks at
/// them in turn otherwise: another thread may change a condition.
template <class Traits = DefaultRunTraits, class ExecutionContext, class StopCondition>
  requires std::predicate<StopCondition&>
void run(GrpcContext& grpc_context, ExecutionContext& execution_context, StopCondition stop_condition) {
  internal::run_both<Traits>(grpc_context, execution_context, stop_condition, true);
}
template <class Traits = DefaultRunTraits, class ExecutionContext>
void run(GrpcContext& grpc_context, ExecutionContext& execution_context) {
  internal::run_until_stopped<Traits>(grpc_context, execution_context, true);
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
  internal::run_until_stopped<Traits>(grpc_context, execution_context, false);
}

}  // namespace agrpc::inline CORACLE_ASIO
