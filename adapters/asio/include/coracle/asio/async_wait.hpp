// async_wait: a call, an operation of a stream, a timer or a task as an asynchronous operation of Asio.
#pragma once

#include "coracle/asio/completion.hpp"
#include "coracle/asio/library.hpp"
#include "coracle/asio/loop_executor.hpp"
#include "coracle/base/result.hpp"
#include "coracle/base/status.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/client/client_stream.hpp"
#include "coracle/client/start.hpp"
#include "coracle/client/unary_call.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/outcome.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/runtime/start.hpp"
#include "coracle/server/server_context.hpp"

#include <concepts>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

namespace coracle::inline CORACLE_ASIO {

/// What the waits of Asio code inherit that works for a call of a server: the loop, the deadline, the stop
/// token and the trace context of the call, as coroutines of the library inherit them unmentioned.
///
/// Make it in the handler, on the handler's loop, and copy it freely. It is valid as long as the
/// server_context is.
class call_context {
 public:
  /// Takes the loop that this thread drives. Throws usage_error on a thread that drives none.
  explicit call_context(const server_context& context)
      : where_(loop::current()), environment_(&context.environment()) {
    CORACLE_REQUIRE(where_, "a call_context is made on the loop of the handler, before it waits in Asio");
  }
  /// The loop of the handler.
  [[nodiscard]] loop& where() const noexcept { return *where_; }
  /// The environment of the handler.
  [[nodiscard]] const coro::environment& environment() const noexcept { return *environment_; }

 private:
  loop* where_;
  const coro::environment* environment_;
};

namespace asio_internal {

// Calls a handler that has no executor where the wait ended: on the loop.
struct on_the_loop {
  template <class F>
  void execute(F&& function) const {
    std::decay_t<F> here(std::forward<F>(function));
    std::move(here)();
  }
  friend bool operator==(on_the_loop, on_the_loop) noexcept { return true; }
  friend bool operator!=(on_the_loop, on_the_loop) noexcept { return false; }
};
template <>
inline constexpr bool counts_work<on_the_loop> = false;

// What a call says that was not even begun, or failed in the library.
inline status status_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const status_error& e) {
    return e.status();
  } catch (const coro::cancelled&) {
    return status::cancelled("the wait was cancelled");
  } catch (const std::bad_alloc&) {
    return status::resource_exhausted("out of memory");
  } catch (const std::exception& e) {
    return status::internal(e.what());
  }
}

// The exception of a wait, as Asio code expects it.
inline std::exception_ptr translated(const std::exception_ptr& error) {
  if (!coro::is_cancelled(error)) return error;
  return std::make_exception_ptr(system_error(asio::error::operation_aborted, "the wait was cancelled"));
}

template <class T>
T placeholder(const std::exception_ptr& error) {
  if constexpr (std::constructible_from<T, status> && !std::same_as<T, status>) return T(status_of(error));
  else if constexpr (std::same_as<T, status>) return status_of(error);
  else {
    static_assert(std::default_initializable<T>,
                  "Asio passes a value even with an exception: let the task return a std::optional of a type "
                  "without a default constructor");
    return T();
  }
}

inline constexpr auto any_cancellation =
    asio::cancellation_type::terminal | asio::cancellation_type::partial | asio::cancellation_type::total;

// How a wait ends in Asio: the signature of its handlers, how to call one, and which cancellations it honours.
// A task, or another awaitable, may throw. What a stop leaves of it is not known here.
template <class Wait>
struct ending {
  using value = coro::awaited_t<Wait>;
  static constexpr auto cancellation = asio::cancellation_type::terminal;
  template <class T>
  struct of {
    using signature = void(std::exception_ptr, T);
  };
  template <std::same_as<void> T>
  struct of<T> {
    using signature = void(std::exception_ptr);
  };
  using signature = typename of<value>::signature;
  template <class Handler>
  static void call(Handler&& handler, outcome<value>&& o) {
    if constexpr (std::is_void_v<value>) {
      std::move(handler)(o.ok() ? std::exception_ptr() : translated(o.error()));
    } else if (o.ok()) {
      std::move(handler)(std::exception_ptr(), std::move(o.value()));
    } else {
      std::move(handler)(translated(o.error()), placeholder<value>(o.error()));
    }
  }
};

// A timer ends as one of Asio does.
template <std::derived_from<sleep_until> Wait>
struct ending<Wait> {
  using value = void;
  static constexpr auto cancellation = any_cancellation;
  using signature = void(error_code);
  template <class Handler>
  static void call(Handler&& handler, outcome<void>&& o) {
    std::move(handler)(o.ok() ? error_code() : error_code(asio::error::operation_aborted));
  }
};

// A read or a write that is cancelled leaves the stream as it was, and the call continues. What the server has
// done for a call that is cancelled is not known.
template <class Wait>
inline constexpr bool leaves_call = false;
template <class Awaiter>
inline constexpr bool leaves_call<client::begun<Awaiter>> = true;
template <>
inline constexpr bool leaves_call<client::headers_awaiter> = true;

template <client::holding_operation Wait>
struct ending<Wait> {
  using value = coro::awaited_t<Wait>;
  static constexpr auto cancellation =
      leaves_call<Wait> ? any_cancellation : asio::cancellation_type::terminal;
  template <class T>
  struct of {
    using signature = void(T);
  };
  template <std::same_as<void> T>
  struct of<T> {
    using signature = void();
  };
  using signature = typename of<value>::signature;
  template <class Handler>
  static void call(Handler&& handler, outcome<value>&& o) {
    if constexpr (std::is_void_v<value>) std::move(handler)();
    else if (o.ok()) std::move(handler)(std::move(o.value()));
    else std::move(handler)(value(status_of(o.error())));
  }
};

// A wait in progress with its handler. It is made and started where the operation is initiated, and ends on the
// loop.
template <class Handler, class Wait, class Candidate>
class wait_state : public completion<wait_state<Handler, Wait, Candidate>, Handler, Candidate> {
  using base = completion<wait_state, Handler, Candidate>;
  friend base;
  using ends = ending<Wait>;
  using value = typename ends::value;

 public:
  template <class H, class W>
  wait_state(H&& handler, const Candidate& candidate, W&& wait)
      : base(std::forward<H>(handler), candidate),
        running_(std::in_place, std::forward<W>(wait), report{this}) {}

  template <class H, class W>
  static void start(H&& handler, W&& wait, loop& where, const coro::environment* inherited,
                    const Candidate& candidate) {
    auto owned = base::make(std::forward<H>(handler), candidate, std::move(wait));
    wait_state* const made = owned.get();
    made->template connect<canceller>(canceller{&made->running_});
    made->running_.start(where, inherited);
    static_cast<void>(owned.release());
  }

 private:
  struct report {
    wait_state* of;
    void operator()(outcome<value>&& o) {
      of->outcome_.emplace(std::move(o));
      of->ended();
    }
    void operator()(const std::exception_ptr& error, Wait& ended)
      requires coro::awaited_by_itself<Wait>
    {
      of->take_outcome(error, ended);
      of->ended();
    }
  };
  struct canceller {
    operation<Wait, report>* of;
    void operator()(asio::cancellation_type asked) const noexcept {
      if ((asked & ends::cancellation) != asio::cancellation_type::none) of->cancel();
    }
  };

  // On the loop.
  void take_outcome(const std::exception_ptr& error, Wait& from) noexcept {
    if (error) {
      outcome_.emplace(outcome<value>::failure(error));
      return;
    }
    try {
      if constexpr (std::is_void_v<value>) {
        from.await_resume();
        outcome_.emplace(true);
      } else {
        outcome_.emplace(from.await_resume());
      }
    } catch (...) {
      outcome_.emplace(outcome<value>::failure(std::current_exception()));
    }
  }
  void ended() {
    try {
      this->finish();
    } catch (...) {
      fail_on_loop(std::current_exception());
    }
  }
  template <class Executor>
  [[nodiscard]] static bool completes_here(const Executor&) noexcept {
    return false;
  }
  [[nodiscard]] outcome<value> take_result() { return std::move(*outcome_); }
  static void call(Handler&& handler, outcome<value>&& o) { ends::call(std::move(handler), std::move(o)); }

  operation<Wait, report> running_;
  std::optional<outcome<value>> outcome_;
};

// Begins the wait when the completion token says so: at once, or later for a lazy one. Some tokens want an
// executor of it.
template <class Candidate>
class executor_of_wait : public with_executor<Candidate> {
 public:
  using with_executor<Candidate>::with_executor;
};
template <>
class executor_of_wait<on_the_loop> {
 public:
  explicit executor_of_wait(on_the_loop) noexcept {}

 protected:
  [[nodiscard]] static on_the_loop get_executor() noexcept { return {}; }
};

template <class Candidate>
class initiate_wait : public executor_of_wait<Candidate> {
 public:
  initiate_wait(loop& where, const coro::environment* inherited, const Candidate& candidate) noexcept
      : executor_of_wait<Candidate>(candidate), where_(&where), inherited_(inherited) {}
  template <class Handler, class Wait>
  void operator()(Handler&& handler, Wait&& wait) const {
    using state = wait_state<std::decay_t<Handler>, std::decay_t<Wait>, Candidate>;
    state::start(std::forward<Handler>(handler), std::forward<Wait>(wait), *where_, inherited_,
                 this->get_executor());
  }

 private:
  loop* where_;
  const coro::environment* inherited_;
};

template <class Token, class Candidate, class Wait>
auto initiate(const Candidate& candidate, loop& where, const coro::environment* inherited, Wait& wait,
              std::remove_reference_t<Token>& token) {
  return asio::async_initiate<Token, typename ending<Wait>::signature>(
      initiate_wait<Candidate>(where, inherited, candidate), token, std::move(wait));
}

// Makes a wait independent of what its caller keeps.
template <class Wait>
void own_message(Wait& wait) {
  if constexpr (requires { wait.own_message(); }) wait.own_message();
}
template <class Wait>
void keep(Wait& wait, const call_context& call) {
  if constexpr (client::holding_operation<Wait>) {
    const loop& chosen = wait.hold();
    // A unary call runs where it is awaited; the operations of a stream run where its first one did.
    if constexpr (!std::derived_from<Wait, client::unary_operation>)
      CORACLE_REQUIRE(
          &chosen == &call.where(),
          "async_wait() with a call_context of another loop than that of the streaming call: start "
          "the stream on the loop of the handler, or do not pass the call_context");
    else
      CORACLE_REQUIRE(&chosen.owner() == &call.where().owner(),
                      "async_wait() with a call_context of another runtime than that of the channel");
  } else {
    own_message(wait);
  }
}

template <class T>
concept plain_wait = coro::awaitable<T> && !client::holding_operation<T>;

}  // namespace asio_internal

/// Starts a unary call or an operation of a streaming call as an asynchronous operation of Asio, with any
/// completion token.
///
///   async_wait(stub.SayHello(request), [](result<HelloReply> reply) { ... });
///   auto reply = co_await async_wait(stub.SayHello(request), asio::use_awaitable);
///   std::future<result<HelloReply>> reply = async_wait(stub.SayHello(request), asio::use_future);
///
/// The signature of the handler is `void(T)` where T is what co_await of the operation would return, such as
/// result<Reply>, status or result<std::optional<Reply>>; `void()` for start() and writes_done().
///
/// The handler is called on its associated executor, which counts the operation as work; a handler without one
/// is called on the loop of the call. It is never called inside this function. Memory comes from its
/// associated allocator and is freed before the handler is called.
///
/// Cancellation through its slot ends the operation with CANCELLED: a unary call and finish() on `terminal`;
/// reads, writes and wait_for_initial_metadata() on `partial` and `total`, too, because a read that was
/// cancelled has taken no message, and the call continues.
///
/// Lifetime and threads are those of start(): nothing that was passed by reference must outlive this call,
/// except the message of read(), and any thread may call this.
///
/// An exception that leaves a handler leaves the run() of its executor's context; that of a handler without
/// executor is logged, stops the runtime and leaves runtime::run(). Throws std::bad_alloc.
template <client::holding_operation Operation, class Token>
auto async_wait(Operation operation, Token&& token) {
  loop& where = operation.hold();
  return asio_internal::initiate<Token>(asio_internal::on_the_loop(), where, nullptr, operation, token);
}

/// The same, for handlers that are called on `on` unless they have an executor of their own. The default token
/// is that of the executor type, as in `asio::use_awaitable_t<>::executor_with_default<Executor>`.
template <asio_internal::executor Executor, client::holding_operation Operation,
          class Token = asio_internal::default_token<Executor>>
auto async_wait(const Executor& on, Operation operation, Token&& token = Token()) {
  loop& where = operation.hold();
  return asio_internal::initiate<Token>(on, where, nullptr, operation, token);
}

/// Starts any awaitable on the loop `where` as an asynchronous operation of Asio: a task, a timer, a wait for
/// another state of a channel.
///
///   async_wait(loop, sleep_until(runtime.now() + 1s), [](error_code) { ... });
///   async_wait(loop, channel.wait_for_state_change(connectivity::idle),
///              [](std::exception_ptr, bool) { ... });
///
/// The signature of the handler is `void(error_code)` for sleep_until(), which all kinds of cancellation end
/// with operation_aborted, and else `void(std::exception_ptr, T)`, or `void(std::exception_ptr)` for void.
/// A task is cancelled by `terminal`; coro::cancelled then arrives as a system_error with operation_aborted.
/// If T has no default constructor and is neither a result nor a status, return a std::optional from the task.
///
/// The wait begins on the loop: inside this call if that is the current one. What its awaitable refers to must
/// outlive it.
template <asio_internal::plain_wait Wait, class Token>
auto async_wait(loop& where, Wait wait, Token&& token) {
  asio_internal::own_message(wait);
  return asio_internal::initiate<Token>(asio_internal::on_the_loop(), where, nullptr, wait, token);
}

/// The same, for handlers that are called on `on` unless they have an executor of their own.
template <asio_internal::executor Executor, asio_internal::plain_wait Wait,
          class Token = asio_internal::default_token<Executor>>
auto async_wait(const Executor& on, loop& where, Wait wait, Token&& token = Token()) {
  asio_internal::own_message(wait);
  return asio_internal::initiate<Token>(on, where, nullptr, wait, token);
}

/// Starts a wait that works for a call of a server: an operation of a stub, of the reader or the writer of the
/// handler, or any other awaitable. It runs on the loop of the handler, and inherits the deadline and the
/// stop token of the call. The signature is as above; the operations of reader and writer throw call_ended.
///
/// Throws usage_error if the operation belongs to a stream that runs on another loop, or if the channel belongs
/// to another runtime.
template <coro::awaitable Wait, class Token>
auto async_wait(const call_context& call, Wait wait, Token&& token) {
  asio_internal::keep(wait, call);
  return asio_internal::initiate<Token>(asio_internal::on_the_loop(), call.where(), &call.environment(), wait,
                                        token);
}

}  // namespace coracle::inline CORACLE_ASIO
