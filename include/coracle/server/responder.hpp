// responder<T>: answers a call with one reply later, from any thread, for handlers that are not coroutines.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/result.hpp"
#include "coracle/base/status.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/impl/wake_link.hpp"
#include "coracle/rpc/metadata.hpp"
#include "coracle/server/reply.hpp"
#include "coracle/server/server_context.hpp"

#include <atomic>
#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace coracle {

template <class Reply>
class responder;

namespace server_internal {

// A function that is called once, at most; it may be one that can only be moved.
class cancel_function {
 public:
  virtual ~cancel_function() = default;
  virtual void call() = 0;

  template <class F>
  [[nodiscard]] static std::unique_ptr<cancel_function> make(F f) {
    struct of_type final : cancel_function {
      explicit of_type(F g) : function(std::move(g)) {}
      void call() override { function(); }
      F function;
    };
    return std::make_unique<of_type>(std::move(f));
  }
};

[[noreturn]] inline void throw_answered_twice(const std::string& method) {
  // An observer's constructor does not know the method.
  const std::string call = method.empty() ? "a call" : "the call of " + method;
  base::throw_usage_error((call + " was answered twice: answer each call once").c_str());
}

// What the copies of a responder and the handler of its call share, apart from the reply.
class answer {
 public:
  answer(const answer&) = delete;
  answer& operator=(const answer&) = delete;

  // Any thread: the first answer. Throws usage_error if there was one.
  void claim() {
    if (claimed_.exchange(true, std::memory_order_relaxed))
      throw_answered_twice(link_.locked([this] { return method_; }));
  }
  // Any thread: no copy of the responder is left.
  void drop() noexcept {
    if (claimed_.exchange(true, std::memory_order_relaxed)) return;
    link_.wake([this] { dropped_ = true; });
  }
  [[nodiscard]] bool cancelled() const noexcept { return cancelled_.load(std::memory_order_acquire); }
  [[nodiscard]] time_point deadline() const noexcept { return deadline_; }

  // --- called by the handler
  // For the texts of errors.
  void set_method(std::string_view method) {
    link_.locked([&] { method_ = method; });
  }
  void on_cancel(std::unique_ptr<cancel_function> f) {
    CORACLE_REQUIRE(!later_, "on_cancel() was called after the function that got the responder had returned");
    on_cancel_ = std::move(f);
  }
  // Returns whether the call has its answer already. If not, the handler waits from now on.
  [[nodiscard]] bool settled() noexcept {
    later_ = true;
    return link_.locked([this] { return has_answer() || dropped_; });
  }
  [[nodiscard]] coro::wake_link& link() noexcept { return link_; }
  // The call has ended without an answer.
  void cancel() {
    cancelled_.store(true, std::memory_order_release);
    link_.close();
    if (on_cancel_) on_cancel_->call();
  }

 protected:
  explicit answer(time_point deadline) noexcept : deadline_(deadline) {}
  ~answer() = default;
  // Throws usage_error, which the server logs with the method.
  void require_answer() const {
    CORACLE_REQUIRE(!dropped_,
                    "the last copy of a responder was destroyed without an answer: answer each call, with a "
                    "status if there is no reply");
  }

 private:
  [[nodiscard]] virtual bool has_answer() const noexcept = 0;
  coro::wake_link link_;
  std::string method_;  // guarded by link_
  const time_point deadline_;
  std::atomic<bool> claimed_{false};
  std::atomic<bool> cancelled_{false};
  bool dropped_ = false;  // guarded by link_
  bool later_ = false;
  std::unique_ptr<cancel_function> on_cancel_;
};

template <class Reply>
class answer_with final : public answer {
 public:
  explicit answer_with(time_point deadline) noexcept : answer(deadline) {}
  // Any thread, after claim(). Dropped if the call has ended.
  void set(result<Reply>&& outcome, metadata&& trailing) {
    link().wake([&] {
      outcome_.emplace(std::move(outcome));
      trailing_ = std::move(trailing);
    });
  }
  // The handler, once there is an answer.
  [[nodiscard]] result<Reply> take(server_context& context) {
    link().close();
    require_answer();
    context.trailing_metadata().add_all(trailing_);
    return *std::move(outcome_);
  }

 private:
  [[nodiscard]] bool has_answer() const noexcept override { return outcome_.has_value(); }
  std::optional<result<Reply>> outcome_;  // guarded by link(), as is the next
  metadata trailing_;
};

}  // namespace server_internal

/// Answers one call with one reply, for a handler that is not a coroutine: see respond_later().
///
/// A handle whose copies answer the same call. Copies may be used and destroyed on any thread; one object is
/// for one thread at a time. It may outlive the call, the server and the runtime: an answer to a call that
/// has ended is dropped. If the last copy is destroyed without an answer, the call ends with UNKNOWN, and the
/// server logs the method.
template <class Reply>
class responder {
 public:
  /// @cond  For the library.
  explicit responder(const std::shared_ptr<server_internal::answer_with<Reply>>& to)
      : to_(to.get(), [kept = to](server_internal::answer_with<Reply>* dropped) { dropped->drop(); }) {}
  /// @endcond

  /// Answers the call with a reply, or with a status that is not OK, and `trailing` metadata. Does not wait.
  /// Throws usage_error if the call was answered before.
  void answer(result<Reply> outcome, metadata trailing = {}) const {
    to_->claim();
    to_->set(std::move(outcome), std::move(trailing));
  }
  /// Returns whether the call has ended without an answer: the client cancelled it or disconnected, its
  /// deadline passed, or the server ended it.
  [[nodiscard]] bool cancelled() const noexcept { return to_->cancelled(); }
  /// Returns when the call ends at the latest; `never` if there is no deadline. See
  /// server_context::deadline().
  [[nodiscard]] time_point deadline() const noexcept { return to_->deadline(); }
  /// Has `f()` called when the call ends without an answer, once and on the loop of the call, which it must
  /// not block. Only in the function that respond_later() calls, else usage_error. `f` is destroyed with the
  /// last copy of the responder, so it must not hold one.
  template <std::invocable F>
  void on_cancel(F f) const {
    to_->on_cancel(server_internal::cancel_function::make(std::move(f)));
  }

 private:
  std::shared_ptr<server_internal::answer_with<Reply>> to_;
};

namespace server_internal {

template <class Reply>
reply<Reply> await_answer(server_context& context, std::shared_ptr<answer_with<Reply>> from) {
  bool stopped = false;
  try {
    co_await from->link().changed();
  } catch (const coro::cancelled&) {
    stopped = true;
  }
  if (stopped) {
    from->cancel();
    throw coro::cancelled();
  }
  co_return from->take(context);
}

// The Reply of a function whose parameter is a responder<Reply>.
template <class Function>
struct replier;
template <class Class, class Result, class Reply>
struct replier<Result (Class::*)(responder<Reply>)> {
  using reply = Reply;
};
template <class Class, class Result, class Reply>
struct replier<Result (Class::*)(responder<Reply>) const> {
  using reply = Reply;
};

}  // namespace server_internal

/// The return value of a handler that answers later. Calls `f(responder<Reply>)` at once; the call then waits
/// until the responder is used, while its loop runs other calls.
///
///   coracle::reply<Text> Say(coracle::server_context& context, const Text& request) override {
///     return coracle::respond_later(context, [&](coracle::responder<Text> responder) {
///       database_.find(request.text(), [responder](Text found) { responder.answer(std::move(found)); });
///     });
///   }
///
/// What `f` refers to may be used until it returns. That includes the context and the request, because the
/// call may end before it is answered: copy what is used later, or move the request with
/// server_context::take(). An exception of `f` ends the call as one of a handler does.
template <class Reply, std::invocable<responder<Reply>> F>
[[nodiscard]] reply<Reply> respond_later(server_context& context, F f) {
  const auto state = std::make_shared<server_internal::answer_with<Reply>>(context.deadline());
  state->set_method(context.method());
  f(responder<Reply>(state));
  if (state->settled()) return state->take(context);
  return server_internal::await_answer<Reply>(context, state);
}
/// The same for a function object that names the type of its parameter.
template <class F>
  requires requires { typename server_internal::replier<decltype(&F::operator())>::reply; }
[[nodiscard]] auto respond_later(server_context& context, F f) {
  return respond_later<typename server_internal::replier<decltype(&F::operator())>::reply>(context,
                                                                                           std::move(f));
}

}  // namespace coracle
