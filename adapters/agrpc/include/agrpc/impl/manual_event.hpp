// manual_event: an event that several operations wait for, and that stays until it is cleared.
#pragma once

#include "agrpc/impl/context_of.hpp"
#include "agrpc/impl/initiate.hpp"
#include "agrpc/impl/library.hpp"

#if defined(CORACLE_STANDALONE_ASIO)
#include <asio/system_executor.hpp>
#else
#include <boost/asio/system_executor.hpp>
#endif

#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace agrpc::inline CORACLE_ASIO::internal {

// The event passes Args... to its waiters, which get copies.
template <class... Args>
class manual_event {
 public:
  manual_event() = default;
  manual_event(const manual_event&) = delete;
  manual_event& operator=(const manual_event&) = delete;

  // The last act may be the end of the event: a waiter that continues may destroy it.
  void set(Args... args) {
    const values passed(std::move(args)...);
    waiter* ready = nullptr;
    {
      const std::lock_guard lock(mutex_);
      value_ = passed;
      ready = std::exchange(first_, nullptr);
    }
    while (ready) {
      waiter& next = *ready;
      ready = next.next;
      next.wake(next, &passed);
    }
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    value_.reset();
  }
  [[nodiscard]] bool is_set() const {
    const std::lock_guard lock(mutex_);
    return value_.has_value();
  }

  // Waits with a signature of void(error_code, Args...), whose error is operation_aborted after a cancellation.
  // The event must outlive the wait.
  template <class Executor, class Token>
  auto wait(const Executor& executor, Token&& token) {
    static_assert(!sender_token<Token>,
                  "agrpc has no senders of Waiter, CancelSafe, GrpcStream and wait_for_done()");
    return asio::async_initiate<Token, void(error_code, Args...)>(start_wait<Executor>(executor, *this),
                                                                  token);
  }

 private:
  using values = std::tuple<std::decay_t<Args>...>;
  struct waiter {
    void (*wake)(waiter&, const values*);  // null: cancelled
    waiter* next = nullptr;
  };

  template <class Handler, class Candidate>
  class wait_operation
      : public waiter,
        public ::coracle::asio_internal::completion<wait_operation<Handler, Candidate>, Handler, Candidate> {
    using base = ::coracle::asio_internal::completion<wait_operation, Handler, Candidate>;
    friend base;

   public:
    template <class H>
    wait_operation(H&& handler, const Candidate& candidate, manual_event& of)
        : waiter{&wait_operation::completed}, base(std::forward<H>(handler), candidate), of_(of) {}
    template <class H>
    static void start(H&& handler, const Candidate& candidate, manual_event& of) {
      auto owned = base::make(std::forward<H>(handler), candidate, of);
      wait_operation& made = *owned.release();
      made.template connect<canceller>(canceller{&made});
      if (const auto ready = of.add(made)) completed(made, &*ready);
    }

   private:
    struct canceller {
      wait_operation* of;
      void operator()(asio::cancellation_type asked) const {
        if (asked != asio::cancellation_type::none && of->of_.remove(*of)) completed(*of, nullptr);
      }
    };
    static void completed(waiter& w, const values* of) {
      auto& self = static_cast<wait_operation&>(w);
      if (of) self.result_ = {error_code(), *of};
      else self.result_ = {error_code(asio::error::operation_aborted), values()};
      self.finish_later();
    }
    template <class Executor>
    [[nodiscard]] static bool completes_here(const Executor&) noexcept {
      return false;
    }
    [[nodiscard]] std::pair<error_code, values> take_result() { return std::move(result_); }
    static void call(Handler&& handler, std::pair<error_code, values>&& r) {
      std::apply([&](auto&... all) { std::move(handler)(r.first, std::move(all)...); }, r.second);
    }
    manual_event& of_;
    std::pair<error_code, values> result_;
  };

  template <class Executor>
  class start_wait : public ::coracle::asio_internal::with_executor<Executor> {
   public:
    start_wait(const Executor& executor, manual_event& of)
        : ::coracle::asio_internal::with_executor<Executor>(executor), of_(&of) {}
    template <class Handler>
    void operator()(Handler&& handler) const {
      wait_operation<std::decay_t<Handler>, Executor>::start(std::forward<Handler>(handler),
                                                             this->get_executor(), *of_);
    }

   private:
    manual_event* of_;
  };

  // The value if the event is set; else the waiter is in the list.
  std::optional<values> add(waiter& added) {
    const std::lock_guard lock(mutex_);
    if (value_) return value_;
    added.next = std::exchange(first_, &added);
    return std::nullopt;
  }
  // Whether it was in the list.
  bool remove(waiter& removed) {
    const std::lock_guard lock(mutex_);
    for (waiter** at = &first_; *at; at = &(*at)->next) {
      if (*at != &removed) continue;
      *at = removed.next;
      return true;
    }
    return false;
  }

  mutable std::mutex mutex_;
  std::optional<values> value_;
  waiter* first_ = nullptr;
};

}  // namespace agrpc::inline CORACLE_ASIO::internal
