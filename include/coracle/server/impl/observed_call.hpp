// observed_call: what a stream_observer exchanges with its handler, and the coroutines that call its
// functions.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/impl/wake_link.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/rpc/call_ended.hpp"
#include "coracle/rpc/impl/codec.hpp"
#include "coracle/rpc/metadata.hpp"
#include "coracle/server/reader.hpp"
#include "coracle/server/replies.hpp"
#include "coracle/server/reply.hpp"
#include "coracle/server/responder.hpp"
#include "coracle/server/server_context.hpp"
#include "coracle/server/writer.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::server_internal {

// How many requests an observer wants.
class request_demand {
 public:
  // Any thread.
  void add(std::uint64_t messages) {
    link_.wake([&] {
      if (automatic_ && !began_) wanted_ = 0;
      automatic_ = false;
      wanted_ += messages;
    });
  }
  // The handler. Returns false if nothing is wanted now.
  [[nodiscard]] bool take_one() {
    return link_.locked([this] {
      began_ = true;
      if (wanted_ == 0) return false;
      --wanted_;
      return true;
    });
  }
  void message_handled() {
    link_.locked([this] {
      if (automatic_) wanted_ = 1;
    });
  }
  [[nodiscard]] coro::wake_link& link() noexcept { return link_; }

 private:
  coro::wake_link link_;
  // Guarded by link_.
  std::uint64_t wanted_ = 1;
  bool automatic_ = true;
  bool began_ = false;
};

// The replies of an observer that its handler has not sent yet.
template <class Reply>
class unsent_replies {
 public:
  struct unsent {
    unsent(Reply m, std::size_t n) : message(std::move(m)), bytes(n) {}
    Reply message;
    std::size_t bytes;
  };
  // Twice the initial window of HTTP/2: one is on its way, and one is ready to follow.
  static constexpr std::size_t ready_bytes = 128u << 10;
  // A handler that ignores is_ready() has this much memory for a client that does not read.
  static constexpr std::size_t bytes_max = 64u << 20;

  // Any thread.
  bool add(Reply&& message) {
    const std::size_t bytes = rpc::codec_of<Reply>::get().size_bytes(rpc::codec_of<Reply>::address(message));
    return link_.wake([&] {
      if (end_)
        base::throw_usage_error(
            ("the call of " + method_ + " was answered: no reply follows the status of finish()").c_str());
      CORACLE_REQUIRE(bytes_ <= bytes_max,
                      "a client does not read, and 64 MiB of replies wait: write only while is_ready()");
      queue_.emplace_back(std::move(message), bytes);
      bytes_ += bytes;
      if (bytes_ >= ready_bytes) full_ = true;
    });
  }
  void finish(status&& outcome, metadata&& trailing) {
    if (finished_.exchange(true, std::memory_order_relaxed))
      throw_answered_twice(link_.locked([this] { return method_; }));
    link_.wake([&] {
      end_.emplace(std::move(outcome));
      trailing_ = std::move(trailing);
    });
  }
  [[nodiscard]] bool is_ready() const noexcept {
    return !link_.closed() && link_.locked([this] { return !end_ && bytes_ < ready_bytes; });
  }
  [[nodiscard]] bool cancelled() const noexcept { return cancelled_.load(std::memory_order_acquire); }

  // --- called by the handler
  // For the texts of errors.
  void set_method(std::string_view method) {
    link_.locked([&] { method_ = method; });
  }
  enum class next : std::uint8_t { nothing, messages, end };
  [[nodiscard]] next take(std::vector<unsent>& into) {
    return link_.locked([&] {
      into.swap(queue_);
      return !into.empty() ? next::messages : end_ ? next::end : next::nothing;
    });
  }
  // Returns whether there is room again, so that the observer is to be notified.
  [[nodiscard]] bool sent(std::size_t bytes) {
    return link_.locked([&] {
      bytes_ -= bytes;
      if (!full_ || bytes_ >= ready_bytes || end_) return false;
      full_ = false;
      return true;
    });
  }
  [[nodiscard]] bool ended() const {
    return link_.locked([this] { return end_.has_value(); });
  }
  void cancel() noexcept { cancelled_.store(true, std::memory_order_release); }
  // After close().
  [[nodiscard]] status take_end(server_context& context) {
    context.trailing_metadata().add_all(trailing_);
    return *std::move(end_);
  }
  [[nodiscard]] coro::wake_link& link() noexcept { return link_; }

 private:
  coro::wake_link link_;
  std::atomic<bool> finished_{false};
  std::atomic<bool> cancelled_{false};
  // Guarded by link_.
  std::string method_;
  std::vector<unsent> queue_;
  std::size_t bytes_ = 0;  // of the queue, and of what the handler has taken and not sent
  bool full_ = false;
  std::optional<status> end_;
  metadata trailing_;
};

// Reads as many requests as the observer wants, until `ended()`.
template <class Observer, class Ended>
task<> read_requests(reader<typename Observer::request_type> requests, Observer& observer, Ended ended) {
  typename Observer::requests_base& functions = observer;  // the overrides may be private
  request_demand& demand = functions.demand();
  while (!ended()) {
    if (!demand.take_one()) {
      co_await demand.link().changed();
      continue;
    }
    std::optional<typename Observer::request_type> message;
    try {
      message = co_await requests.next();
    } catch (const call_ended&) {
      if (ended()) co_return;  // this task was stopped, not the call
      throw;
    }
    if (ended()) co_return;
    if (!message) {
      functions.on_half_close();
      co_return;
    }
    functions.on_message(*std::move(message));
    demand.message_handled();
  }
}

// Sends the replies of the observer, until its status; then stops the other task of `work`.
template <class Observer>
task<> send_replies(writer<typename Observer::reply_type> out, Observer& observer, scope& work) {
  using unsent = unsent_replies<typename Observer::reply_type>;
  typename Observer::replies_base& functions = observer;
  unsent& replies = functions.unsent();
  functions.on_ready();
  std::vector<typename unsent::unsent> batch;
  for (;;) {
    const auto next = replies.take(batch);
    if (next == unsent::next::end) break;
    if (next == unsent::next::nothing) {
      co_await replies.link().changed();
      continue;
    }
    for (const auto& reply : batch) {
      co_await out.write(reply.message);
      if (replies.sent(reply.bytes)) functions.on_ready();
    }
    batch.clear();
  }
  work.request_stop();
}

// Waits for the one reply of the observer; then stops the other task of `work`.
template <class Reply>
task<> wait_for_answer(answer_with<Reply>& answer, scope& work) {
  co_await answer.link().changed();
  work.request_stop();
}

// Joins the tasks of a call. Notifies the observer if the call has ended, and throws what has ended it.
template <class Observer>
task<> join_observed(server_context& context, scope& work, Observer& observer) {
  std::exception_ptr error;
  try {
    co_await work.join();
  } catch (...) {
    error = std::current_exception();
  }
  if constexpr (requires { observer.demand(); }) observer.demand().link().close();
  if constexpr (requires { observer.unsent(); }) observer.unsent().link().close();
  if (!error) co_return;
  if (context.cancelled()) {
    if constexpr (requires { observer.unsent(); }) observer.unsent().cancel();
    if constexpr (requires { observer.answer(); }) observer.answer()->cancel();
    static_cast<typename Observer::observer_base&>(observer).on_cancel();
  }
  std::rethrow_exception(error);
}

template <class Observer>
replies<typename Observer::reply_type> send_observed(server_context& context,
                                                     std::unique_ptr<Observer> observer) {
  const auto out = co_await replies<typename Observer::reply_type>::writer();
  observer->unsent().set_method(context.method());
  scope work(context.environment());
  task<> joined = join_observed(context, work, *observer);
  work.spawn(send_replies<Observer>(out, *observer, work));
  co_await std::move(joined);
  co_return observer->unsent().take_end(context);
}

template <class Observer>
replies<typename Observer::reply_type> exchange_observed(server_context& context,
                                                         reader<typename Observer::request_type> requests,
                                                         std::unique_ptr<Observer> observer) {
  const auto out = co_await replies<typename Observer::reply_type>::writer();
  observer->unsent().set_method(context.method());
  const auto ended = [&replies = observer->unsent()] { return replies.ended(); };
  scope work(context.environment());
  // All of them, before one runs: no frame is missing then.
  task<> joined = join_observed(context, work, *observer);
  task<> reading = read_requests<Observer>(requests, *observer, ended);
  work.spawn(send_replies<Observer>(out, *observer, work));
  work.spawn(std::move(reading));
  co_await std::move(joined);
  co_return observer->unsent().take_end(context);
}

template <class Observer>
reply<typename Observer::reply_type> receive_observed(server_context& context,
                                                      reader<typename Observer::request_type> requests,
                                                      std::unique_ptr<Observer> observer) {
  auto& answer = *observer->answer();
  answer.set_method(context.method());
  const auto ended = [&answer] { return answer.settled(); };
  scope work(context.environment());
  task<> joined = join_observed(context, work, *observer);
  task<> reading = read_requests<Observer>(requests, *observer, ended);
  work.spawn(wait_for_answer(answer, work));
  work.spawn(std::move(reading));
  co_await std::move(joined);
  co_return answer.take(context);
}

}  // namespace coracle::server_internal
