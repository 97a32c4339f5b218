// initiate: starts an operation of a GrpcContext with a completion token.
#pragma once

#include "agrpc/default_completion_token.hpp"
#include "agrpc/grpc_context.hpp"
#include "agrpc/impl/context_of.hpp"
#include "agrpc/impl/library.hpp"
#include "agrpc/impl/queue_operation.hpp"

#include <concepts>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace agrpc::inline CORACLE_ASIO::internal {

// An operation is described by a movable type `Step` with
//   - result: what its completion passes to a handler: a value, a tuple of values, or void;
//   - start(context, tag): starts it on the completion queue;
//   - take(ok): the result, from the outcome of the last event;
// and if it has them
//   - proceed(context, tag, ok): whether it has started a further step, after an event;
//   - cancel(): cancels it. A late cancellation has no effect;
//   - any_cancellation, true: all types of cancellation do that, and not `terminal` and `partial` alone;
//   - sent, a tuple, and take_sent(): what a receiver gets if the event is ok, which gets a stop otherwise.
template <class Step>
concept proceeding = requires(Step& s, GrpcContext& c, void* tag) {
  { s.proceed(c, tag, true) } -> std::same_as<bool>;
};
template <class Step>
concept cancellable = requires(Step& s) { s.cancel(); };

struct nothing {};
template <class T>
using stored = std::conditional_t<std::is_void_v<T>, nothing, T>;

template <class Step>
stored<typename Step::result> take(Step& step, bool ok) {
  if constexpr (std::is_void_v<typename Step::result>) {
    step.take(ok);
    return {};
  } else {
    return step.take(ok);
  }
}
// Whether the step goes on after an event.
template <class Step>
bool proceeds(Step& step, GrpcContext& context, void* tag, bool ok) {
  if constexpr (proceeding<Step>) {
    context.work_started();
    if (step.proceed(context, tag, ok)) return true;
    context.work_finished();
  }
  return false;
}

template <class T>
struct signature_of {
  using type = void(T);
};
template <>
struct signature_of<void> {
  using type = void();
};
template <class... Ts>
struct signature_of<std::tuple<Ts...>> {
  using type = void(Ts...);
};
template <class T>
inline constexpr bool is_tuple = false;
template <class... Ts>
inline constexpr bool is_tuple<std::tuple<Ts...>> = true;

// The types of cancellation that cancel the operation.
template <class Step>
[[nodiscard]] constexpr asio::cancellation_type honoured_by() noexcept {
  if constexpr (requires { Step::any_cancellation; }) return asio::cancellation_type::all;
  else return asio::cancellation_type::terminal | asio::cancellation_type::partial;
}

// An operation with a completion handler of Asio.
template <class Step, class Handler, class Candidate>
class handled_operation
    : public queue_operation,
      public ::coracle::asio_internal::completion<handled_operation<Step, Handler, Candidate>, Handler,
                                                  Candidate> {
  using base = ::coracle::asio_internal::completion<handled_operation, Handler, Candidate>;
  friend base;
  using result = stored<typename Step::result>;

 public:
  template <class H>
  handled_operation(H&& handler, const Candidate& candidate, Step&& step)
      : queue_operation(&handled_operation::processed),
        base(std::forward<H>(handler), candidate),
        step_(std::move(step)) {}

  template <class H>
  static void start(GrpcContext& context, H&& handler, const Candidate& candidate, Step&& step) {
    auto owned = base::make(std::forward<H>(handler), candidate, std::move(step));
    handled_operation& made = *owned.release();
    if constexpr (cancellable<Step>) made.template connect<canceller>(canceller{&made.step_});
    context.work_started();
    made.step_.start(context, made.tag());
  }

 private:
  struct canceller {
    Step* of;
    void operator()(asio::cancellation_type asked) const {
      if ((asked & honoured_by<Step>()) != asio::cancellation_type::none) of->cancel();
    }
  };

  static void processed(queue_operation& o, event e, GrpcContext& context) {
    auto& self = static_cast<handled_operation&>(o);
    if (e == event::abandoned) return self.abandon();
    if (proceeds(self.step_, context, self.tag(), e == event::ok)) return;
    self.result_.emplace(internal::take(self.step_, e == event::ok));
    self.finish();
  }
  template <class Executor>
  [[nodiscard]] static bool completes_here(const Executor& executor) noexcept {
    return runs_here(executor);
  }
  [[nodiscard]] result take_result() { return std::move(*result_); }
  static void call(Handler&& handler, result&& r) {
    if constexpr (std::is_void_v<typename Step::result>) std::move(handler)();
    else if constexpr (is_tuple<result>)
      std::apply([&](auto&... all) { std::move(handler)(std::move(all)...); }, r);
    else std::move(handler)(std::move(r));
  }

  Step step_;
  std::optional<result> result_;
};

// Starts the operation on the context of `Executor`, on which a handler without an executor completes.
template <class Executor>
class start_on : public ::coracle::asio_internal::with_executor<Executor> {
 public:
  using ::coracle::asio_internal::with_executor<Executor>::with_executor;
  template <class Handler, class Step>
  void operator()(Handler&& handler, Step step) const {
    const Executor executor = this->get_executor();
    handled_operation<Step, std::decay_t<Handler>, Executor>::start(
        context_of(executor), std::forward<Handler>(handler), executor, std::move(step));
  }
};

// Starts the operation on the context of the handler's executor.
class start_on_handlers_context {
 public:
  template <class Handler, class Step>
  void operator()(Handler&& handler, Step step) const {
    using executor = typename asio::associated_executor<std::decay_t<Handler>>::type;
    static_assert(
        !std::same_as<executor, asio::system_executor>,
        "the completion handler has no executor of a GrpcContext: use asio::bind_executor(grpc_context, "
        "token)");
    GrpcContext& context = context_of(asio::get_associated_executor(handler));
    handled_operation<Step, std::decay_t<Handler>, asio::system_executor>::start(
        context, std::forward<Handler>(handler), asio::system_executor(), std::move(step));
  }
};

// agrpc::use_sender, of <agrpc/use_sender.hpp>.
template <class Token>
concept sender_token = requires { typename std::remove_cvref_t<Token>::is_agrpc_sender_token; };

template <class Executor, class Step, class Token>
auto initiate(const Executor& executor, Step step, Token&& token) {
  if constexpr (sender_token<Token>) {
    return std::remove_cvref_t<Token>::make(context_of(executor), std::move(step));
  } else {
    return asio::async_initiate<Token, typename signature_of<typename Step::result>::type>(
        start_on<Executor>(executor), token, std::move(step));
  }
}

template <class Step, class Token>
auto initiate_on_token(Step step, Token&& token) {
  if constexpr (sender_token<Token>) {
    return std::remove_cvref_t<Token>::make(token.context(), std::move(step));
  } else {
    return asio::async_initiate<Token, typename signature_of<typename Step::result>::type>(
        start_on_handlers_context(), token, std::move(step));
  }
}

}  // namespace agrpc::inline CORACLE_ASIO::internal
