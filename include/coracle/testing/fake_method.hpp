// fake_method: how a method of a generated fake answers, and what it was asked.
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

// A call that a fake got.
template <class Request>
class recorded_call {
 public:
  recorded_call() noexcept {}
  // One; of a client stream those that returns() has read so far (a handler of yours reads for itself).
  std::vector<Request> requests;
  coracle::metadata metadata;
  time_point deadline = never;
};

// What a handler is given: one request, or the stream of them.
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

// A member of a fake that protoc-gen-coracle writes with the option fakes=true:
//
//   fake.on.AddMovie.returns(reply);
//   fake.on.AddMovie.fails(coracle::status::unavailable("down"));
//   fake.on.AddMovie = [&](coracle::server_context&, const movie::Movie& m) { return reply_to(m); };
//
// What it was told last holds for the calls that begin from then on; before, they end with UNIMPLEMENTED. Every function
// from any thread, at any time; what it was told lives as long as the fake, for the calls that it still answers.
//
// Argument: `const Request&` or `reader<Request>`; Returned: `reply<Reply>` or `replies<Reply>`.
template <class Returned, class Argument>
class fake_method {
  static constexpr bool streams_in = handler_argument<Argument>::streams;
  static constexpr bool streams_out = server_internal::returned<Returned>::streaming;

 public:
  using request_type = typename handler_argument<Argument>::request;
  using reply_type = typename Returned::reply_type;
  using recorded = recorded_call<request_type>;

  fake_method() = default;
  fake_method(const fake_method&) = delete;

  // A handler: a coroutine, or a function that gives a reply or a status at once.
  template <class F>
    requires std::is_invocable_r_v<Returned, F&, server_context&, Argument>
  fake_method& operator=(F handler) {
    behave([h = std::move(handler)](server_context& c, Argument a, const record&) mutable -> Returned {
      return h(c, std::forward<Argument>(a));
    });
    return *this;
  }
  // The same reply to each call; to a client stream behind its last request.
  void returns(reply_type reply)
    requires(!streams_out)
  {
    behave([this, r = std::move(reply)](server_context&, Argument a, const record& to) -> Returned {
      if constexpr (streams_in) return collect(a, r, to);
      else return r;
    });
  }
  // The same replies to each call, then OK; to a client stream behind its last request.
  void returns(std::vector<reply_type> replies)
    requires streams_out
  {
    behave([this, r = std::move(replies)](server_context&, Argument a, const record& to) -> Returned {
      if constexpr (streams_in) return collect_and_send(a, r, to);
      else return send(r);
    });
  }
  // Each call, at once. Not OK.
  void fails(status why) {
    behave([w = std::move(why)](server_context&, Argument, const record&) -> Returned { return w; });
  }

  // What there was so far, in the order of the calls' beginnings.
  [[nodiscard]] std::vector<recorded> calls() const {
    const std::lock_guard lock(mutex_);
    std::vector<recorded> copies;
    for (const record& c : calls_) copies.push_back(*c);
    return copies;
  }

  // For the fake: answers a call.
  Returned operator()(server_context& context, Argument argument) {
    const auto made = std::make_shared<recorded>();
    made->metadata = context.metadata();
    made->deadline = context.deadline();
    if constexpr (!streams_in) made->requests.push_back(argument);
    if (const behaviour* how = begin(made)) return (*how)(context, std::forward<Argument>(argument), made);
    return unimplemented();
  }

 private:
  using record = std::shared_ptr<recorded>;
  using behaviour = std::function<Returned(server_context&, Argument, const record&)>;

  void behave(behaviour how) {
    auto made = std::make_unique<const behaviour>(std::move(how));
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

  // Coroutines; what they refer to is the behaviour's.
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
  std::vector<std::unique_ptr<const behaviour>> behaviours_;  // the last one answers
  std::vector<record> calls_;
};

}  // namespace coracle::testing
