// sender: a call, a wait or a task as a sender, and a loop as a scheduler.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/result.hpp"
#include "coracle/base/status.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/client/start.hpp"
#include "coracle/client/unary_call.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/outcome.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/execution/provider.hpp"
#include "coracle/execution/queries.hpp"
#include "coracle/execution/stop_callback.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/runtime/start.hpp"

#include <concepts>
#include <coroutine>
#include <exception>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace coracle {

class loop_scheduler;

namespace senders {

// Which completions of a sender a wait with the result T has.
template <class T>
struct completions_of {
  using type =
      provider::completion_signatures<provider::set_value_t(T), provider::set_error_t(std::exception_ptr),
                                      provider::set_stopped_t()>;
};
template <>
struct completions_of<void> {
  using type =
      provider::completion_signatures<provider::set_value_t(), provider::set_error_t(std::exception_ptr),
                                      provider::set_stopped_t()>;
};
template <class T>
struct completions_of<result<T>> {
  using type =
      provider::completion_signatures<provider::set_value_t(T), provider::set_error_t(status),
                                      provider::set_error_t(std::exception_ptr), provider::set_stopped_t()>;
};
template <>
struct completions_of<status> {
  using type =
      provider::completion_signatures<provider::set_value_t(), provider::set_error_t(status),
                                      provider::set_error_t(std::exception_ptr), provider::set_stopped_t()>;
};

template <class Environment>
concept names_a_loop = requires(const Environment& e) {
  { provider::get_scheduler(e) } -> std::convertible_to<loop_scheduler>;
};

// Where a wait runs, if the sender does not say: on the loop of the receiver's scheduler, or on the current loop. A
// call accepts the loops of its channel's runtime, and an operation of a stream only the loop of the call.
enum class placement : std::uint8_t { given, by_receiver };

template <class Wait, class Receiver>
class operation_state {
 public:
  using operation_state_concept = provider::operation_state_t;

  operation_state(loop* where, placement how, Wait&& wait, Receiver r)
      : receiver_(std::move(r)),
        where_(where),
        how_(how),
        running_(std::in_place, std::move(wait), report{this}) {}
  operation_state(operation_state&&) = delete;

  void start() & noexcept {
    try {
      place();
      inherited_.deadline = get_deadline(provider::get_env(receiver_));
      inherited_.call = get_call(provider::get_env(receiver_));
      running_.start(*where_, &inherited_);
    } catch (...) {
      provider::set_error(std::move(receiver_), std::current_exception());
    }
  }

 private:
  using value_type = coro::awaited_t<Wait>;
  using token_type = std::remove_cvref_t<decltype(provider::get_stop_token(
      provider::get_env(std::declval<const Receiver&>())))>;
  struct cancel {
    operation_state* of;
    void operator()() const noexcept { of->running_.cancel(); }
  };
  struct report {
    operation_state* of;
    bool begin() const noexcept { return of->begin(); }
    void operator()(outcome<value_type> o) const noexcept { of->finish(std::move(o)); }
  };

  void place() {
    if (how_ == placement::given) return;
    loop* wanted = loop::current();
    if constexpr (names_a_loop<decltype(provider::get_env(receiver_))>)
      wanted = &loop_of(provider::get_scheduler(provider::get_env(receiver_)));
    if (wanted && (!where_ || &wanted->owner() == &where_->owner())) where_ = wanted;
    CORACLE_REQUIRE(
        where_, "a sender of a wait was started where no loop runs: name the loop, as_sender(loop, wait)");
  }
  static loop& loop_of(const loop_scheduler& s) noexcept;

  // On the loop, before the wait. The callback of the stop token is registered here, where the operation
  // cannot end meanwhile.
  bool begin() noexcept {
    inherited_.stop = where_->environment().stop;
    const token_type token = provider::get_stop_token(provider::get_env(receiver_));
    if (token.stop_requested()) return false;
    callback_.emplace(token, cancel{this});
    return true;
  }
  [[nodiscard]] bool stop_requested() const noexcept {
    return inherited_.stop.stop_requested() ||
           provider::get_stop_token(provider::get_env(receiver_)).stop_requested();
  }

  // The last act: the receiver may destroy this object.
  void finish(outcome<value_type> o) noexcept {
    callback_.reset();  // waits for a callback that runs on another thread
    if (!o.ok()) {
      if (o.cancelled()) return provider::set_stopped(std::move(receiver_));
      return provider::set_error(std::move(receiver_), std::exception_ptr(o.error()));
    }
    if constexpr (std::is_void_v<value_type>) provider::set_value(std::move(receiver_));
    else deliver(std::move(o).value());
  }
  template <class T>
  void deliver(T value) noexcept {
    provider::set_value(std::move(receiver_), std::move(value));
  }
  template <class T>
  void deliver(result<T> r) noexcept {
    if (r.ok()) provider::set_value(std::move(receiver_), *std::move(r));
    else fail(r.status());
  }
  void deliver(status s) noexcept {
    if (s.ok()) provider::set_value(std::move(receiver_));
    else fail(std::move(s));
  }
  void fail(status s) noexcept {
    if (s.code() == status_code::cancelled && stop_requested()) provider::set_stopped(std::move(receiver_));
    else provider::set_error(std::move(receiver_), std::move(s));
  }

  Receiver receiver_;
  loop* where_;
  placement how_;
  coro::environment inherited_;
  std::optional<typename stop_callback_of<token_type, cancel>::type> callback_;
  operation<Wait, report> running_;
};

// What is known of a sender before it is started: on which loop it completes.
template <placement How>
class attributes {
 public:
  explicit attributes(loop*) noexcept {}
};
template <>
class attributes<placement::given> {
 public:
  explicit attributes(loop* where) noexcept : where_(where) {}
  [[nodiscard]] loop_scheduler query(
      provider::get_completion_scheduler_t<provider::set_value_t>) const noexcept;

 private:
  loop* where_;
};

/// The sender of a wait, as as_sender() returns it. It can be connected once, as an rvalue, unless the wait can be
/// copied.
template <class Wait, placement How>
class [[nodiscard]] wait_sender {
 public:
  using sender_concept = provider::sender_t;
  using completion_signatures = typename completions_of<coro::awaited_t<Wait>>::type;

  wait_sender(loop* where, Wait&& wait) : where_(where), wait_(std::move(wait)) {}

  template <provider::receiver Receiver>
  [[nodiscard]] auto connect(Receiver r) && {
    return operation_state<Wait, Receiver>(where_, How, std::move(wait_), std::move(r));
  }
  template <provider::receiver Receiver>
    requires std::copy_constructible<Wait>
  [[nodiscard]] auto connect(Receiver r) const& {
    return operation_state<Wait, Receiver>(where_, How, Wait(wait_), std::move(r));
  }
  [[nodiscard]] attributes<How> get_env() const noexcept { return attributes<How>(where_); }

 private:
  loop* where_;
  Wait wait_;
};

// The wait of schedule(): none.
struct on_the_loop {
  [[nodiscard]] bool await_ready() const noexcept { return true; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  void await_resume() const noexcept {}
};
// Those of timers, which begin when the sender is started.
struct until {
  time_point when;
  sleep_until operator co_await() const noexcept { return sleep_until(when); }
};
struct after {
  duration delay;
  sleep_for operator co_await() const noexcept { return sleep_for(delay); }
};

// A wait that a function makes on its loop: awaiters that cannot be moved, such as those of primitives.
template <class Function>
class made_there {
 public:
  explicit made_there(Function f) : make_(std::move(f)) {}
  made_there(made_there&& other) : make_(std::move(other.make_)) {}

  using awaitable_type = std::invoke_result_t<Function&>;
  class awaiter {
   public:
    explicit awaiter(Function& make) noexcept : make_(make) {}
    awaiter(awaiter&&) = delete;
    // Calls the function, whose exception is that of the wait. Making an awaiter may not throw.
    [[nodiscard]] bool await_ready() { return made_.emplace(make_).of.await_ready(); }
    template <class Promise>
    auto await_suspend(std::coroutine_handle<Promise> h) {
      return made_->of.await_suspend(h);
    }
    decltype(auto) await_resume() { return made_->of.await_resume(); }

   private:
    struct made {
      explicit made(Function& make)
          : awaitable(make()), of(coro::awaiter_of(static_cast<awaitable_type&&>(awaitable))) {}
      awaitable_type awaitable;
      decltype(coro::awaiter_of(std::declval<awaitable_type>())) of;
    };
    Function& make_;
    std::optional<made> made_;
  };
  awaiter operator co_await() && { return awaiter(make_); }

 private:
  Function make_;
};

// A write in a handler copies its message: the sender is started after the expression that made it.
template <class Wait>
void own_message(Wait& wait) {
  if constexpr (requires { wait.own_message(); }) wait.own_message();
}

template <class F>
concept makes_an_awaitable = std::invocable<F&> && coro::awaitable<std::invoke_result_t<F&>>;

}  // namespace senders

/// A loop as a scheduler of std::execution. A value; the loop's runtime must outlive its use. Two are equal if they
/// have the same loop.
///
/// The operations of its senders are root tasks of the loop: runtime::run() does not return before they have
/// completed, and a stop of the runtime ends them with set_stopped. They complete on the loop, never inside start().
class loop_scheduler {
  template <class Wait>
  using sender_of = senders::wait_sender<Wait, senders::placement::given>;

 public:
  using scheduler_concept = senders::provider::scheduler_t;
  explicit loop_scheduler(loop& where) noexcept : where_(&where) {}

  /// Returns the loop.
  [[nodiscard]] loop& where() const noexcept { return *where_; }
  /// Returns a sender that completes on the loop.
  [[nodiscard]] sender_of<senders::on_the_loop> schedule() const noexcept { return {where_, {}}; }
  /// Returns a sender that completes on the loop `delay` after it was started there.
  [[nodiscard]] sender_of<senders::after> schedule_after(duration delay) const noexcept {
    return {where_, {delay}};
  }
  /// Returns a sender that completes on the loop at `when`, never before.
  [[nodiscard]] sender_of<senders::until> schedule_at(time_point when) const noexcept {
    return {where_, {when}};
  }
  /// Returns the present time of the loop's clock.
  [[nodiscard]] time_point now() const noexcept { return where_->owner().now(); }

  friend bool operator==(const loop_scheduler&, const loop_scheduler&) noexcept = default;

 private:
  loop* where_;
};

namespace senders {

inline loop_scheduler attributes<placement::given>::query(
    provider::get_completion_scheduler_t<provider::set_value_t>) const noexcept {
  return loop_scheduler(*where_);
}
template <class Wait, class Receiver>
loop& operation_state<Wait, Receiver>::loop_of(const loop_scheduler& s) noexcept {
  return s.where();
}

}  // namespace senders

/// Returns a sender of a unary call or of one operation of a streaming call.
///
/// A call that returns a result<T> completes with set_value(T), or with set_error(status) if it failed. An operation
/// that returns a status completes with set_value() or set_error(status), one that returns nothing with set_value().
/// CANCELLED after a stop request of the receiver's token, or of the runtime, is set_stopped(). An exception, such
/// as std::bad_alloc, is set_error(std::exception_ptr).
///
/// The operation runs on the loop of the receiver's scheduler if that is a loop_scheduler, else on the current loop,
/// if these belong to the runtime of the channel, or else on a loop of that runtime. All operations of a streaming
/// call run on the same loop. The receiver completes on that loop and never inside start().
///
/// The call inherits the deadline of the receiver's environment: see get_deadline. A stop request of its token, on
/// any thread, cancels a unary call, and ends an operation of a streaming call, which then continues: a read that was
/// stopped has consumed no message.
///
/// Nothing that was passed by reference must outlive this function, except the message of read(): requests are
/// serialized, and the stub or the object of the streaming call may be destroyed at once, as with coracle::start().
/// Throws std::bad_alloc.
template <client::holding_operation Call>
[[nodiscard]] auto as_sender(Call call) {
  loop& where = call.hold();
  constexpr auto how = std::derived_from<Call, client::unary_operation> ? senders::placement::by_receiver
                                                                        : senders::placement::given;
  return senders::wait_sender<Call, how>(&where, std::move(call));
}

/// Returns a sender that runs any other wait on `where`: a task, or another awaitable that can be moved before it is
/// awaited. A message that is written is copied. It completes as the sender of a call does; other results are passed to set_value(), and exceptions to
/// set_error(std::exception_ptr), except coro::cancelled, which is set_stopped().
template <coro::awaitable Wait>
  requires(!client::holding_operation<Wait>)
[[nodiscard]] auto as_sender(loop& where, Wait wait) {
  senders::own_message(wait);
  return senders::wait_sender<Wait, senders::placement::given>(&where, std::move(wait));
}

/// The same for the wait that `make` returns. `make` is called on the loop: for awaitables that cannot be moved, such
/// as those of a primitive, `as_sender(loop, [&] { return mutex.lock(); })`, and for tasks that begin there.
template <senders::makes_an_awaitable Function>
[[nodiscard]] auto as_sender(loop& where, Function make) {
  return as_sender(where, senders::made_there<Function>(std::move(make)));
}

/// The same on the loop of the receiver's scheduler, if that is a loop_scheduler, or else on the loop that starts the
/// operation. Where neither exists, the sender completes with a usage_error.
template <coro::awaitable Wait>
  requires(!client::holding_operation<Wait>)
[[nodiscard]] auto as_sender(Wait wait) {
  senders::own_message(wait);
  return senders::wait_sender<Wait, senders::placement::by_receiver>(nullptr, std::move(wait));
}
template <senders::makes_an_awaitable Function>
[[nodiscard]] auto as_sender(Function make) {
  return as_sender(senders::made_there<Function>(std::move(make)));
}

}  // namespace coracle
