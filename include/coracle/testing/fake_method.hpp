// fake_method: sets how a method of a generated fake answers, and records the calls that it gets.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/server/service.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

namespace coracle::testing {

/// A call that a fake received.
template <class Request>
class recorded_call {
 public:
  /// Made by the fake.
  recorded_call() noexcept {}
  /// The one request, or the requests of a client stream that returns() has read so far (a handler of your
  /// own reads them itself).
  std::vector<Request> requests;
  coracle::metadata metadata;   ///< that the call arrived with
  time_point deadline = never;  ///< of the call; never if it has none
};

/// @cond  The argument of a handler: one request, or a stream of requests.
template <class Argument>
struct handler_argument {
  using request = std::remove_cvref_t<Argument>;
  static constexpr bool streams = false;
};
template <class Request>
struct handler_argument<reader<Request>> {
  using request = Request;
  static constexpr bool streams = true;
};
/// @endcond

/// A method of a fake service, which protoc-gen-coracle generates with the option fakes=true:
///
///   fake.on.AddMovie.returns(reply);
///   fake.on.AddMovie.fails(coracle::status::unavailable("down"));
///   fake.on.AddMovie = [&](coracle::server_context&, const movie::Movie& m) { return reply_to(m); };
///
/// The latest setting applies to the calls that begin after it; before the first setting, calls end with
/// UNIMPLEMENTED. Every function may be called from any thread, at any time. Earlier settings live as long as
/// the fake, for the calls that still use them.
///
/// `Argument` is `const Request&` or `reader<Request>`; `Returned` is `reply<Reply>` or `replies<Reply>`.
template <class Returned, class Argument>
class fake_method {
  static constexpr bool streams_in = handler_argument<Argument>::streams;
  static constexpr bool streams_out = server_internal::returned<Returned>::streaming;

 public:
  /// The type of a request.
  using request_type = typename handler_argument<Argument>::request;
  /// The type of a reply.
  using reply_type = typename Returned::reply_type;
  /// What calls() returns.
  using recorded = recorded_call<request_type>;

  /// Answers with UNIMPLEMENTED.
  fake_method() = default;
  fake_method(const fake_method&) = delete;

  /// Answers each call with `handler`: a coroutine, or a function that returns a reply or a status at once.
  template <class F>
    requires std::is_invocable_r_v<Returned, F&, server_context&, Argument>
  fake_method& operator=(F handler) {
    behave([h = std::move(handler)](server_context& c, Argument a, const record&) mutable -> Returned {
      return h(c, std::forward<Argument>(a));
    });
    return *this;
  }
  /// Answers each call with the same reply; a client stream after its last request.
  void returns(reply_type reply)
    requires(!streams_out)
  {
    behave([this, r = std::move(reply)](server_context&, Argument a, const record& to) -> Returned {
      if constexpr (streams_in) return collect(a, r, to);
      else return r;
    });
  }
  /// Answers each call with the same replies, then OK; a client stream after its last request.
  void returns(std::vector<reply_type> replies)
    requires streams_out
  {
    behave([this, r = std::move(replies)](server_context&, Argument a, const record& to) -> Returned {
      if constexpr (streams_in) return collect_and_send(a, r, to);
      else return send(r);
    });
  }
  /// Ends each call at once with `reason`, which must not be OK.
  void fails(status reason) {
    behave([w = std::move(reason)](server_context&, Argument, const record&) -> Returned { return w; });
  }

  /// Returns the calls so far, in the order in which they began.
  [[nodiscard]] std::vector<recorded> calls() const {
    const std::lock_guard lock(mutex_);
    std::vector<recorded> copies;
    for (const record& c : calls_) copies.push_back(*c);
    return copies;
  }

  /// @cond  For the generated fake: answers a call.
  Returned operator()(server_context& context, Argument argument) {
    const auto made = std::make_shared<recorded>();
    made->metadata = context.metadata();
    made->deadline = context.deadline();
    if constexpr (!streams_in) made->requests.push_back(argument);
    if (const behaviour* implementation = begin(made))
      return (*implementation)(context, std::forward<Argument>(argument), made);
    return unimplemented();
  }
  /// @endcond

 private:
  using record = std::shared_ptr<recorded>;
  using behaviour = std::function<Returned(server_context&, Argument, const record&)>;

  void behave(behaviour implementation) {
    auto made = std::make_unique<const behaviour>(std::move(implementation));
    const std::lock_guard lock(mutex_);
    behaviours_.push_back(std::move(made));
  }
  const behaviour* begin(const record& call) {
    const std::lock_guard lock(mutex_);
    calls_.push_back(call);
    return behaviours_.empty() ? nullptr : behaviours_.back().get();
  }
  void add_request(const record& to, const request_type& request) {
    const std::lock_guard lock(mutex_);
    to->requests.push_back(request);
  }

  // Coroutines; the objects that they refer to belong to the behaviour.
  Returned collect(Argument requests, const reply_type& reply, record to) {
    while (const auto one = co_await requests.next()) add_request(to, *one);
    co_return reply;
  }
  static Returned send(const std::vector<reply_type>& replies) {
    for (const reply_type& one : replies) co_yield one;
    co_return status();
  }
  Returned collect_and_send(Argument requests, const std::vector<reply_type>& replies, record to) {
    while (const auto one = co_await requests.next()) add_request(to, *one);
    for (const reply_type& one : replies) co_yield one;
    co_return status();
  }

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<const behaviour>> behaviours_;  // the last one is in effect
  std::vector<record> calls_;
};

}  // namespace coracle::testing
