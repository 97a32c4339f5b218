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

// What a wait need not keep alive: the user destroys the event after its waits.
struct no_owner {
  struct guard {};
  [[nodiscard]] guard hold() const noexcept { return {}; }
};

// The event passes Args... to its waiters, which get copies.
template <class... Args>
class manual_event {
 public:
  using values = std::tuple<std::decay_t<Args>...>;
  // What waits. `wake` is called once, by the thread that sets the event; or never, after remove().
  struct waiter {
    void (*wake)(waiter&, const values&);
    waiter* next = nullptr;
  };

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
      next.wake(next, passed);
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

  // Waits with a signature of void(error_code, Args...), whose error is operation_aborted after a cancellation. With
  // use_sender, the values are Args..., and the thread that sets the event continues. The event must outlive the wait,
  // or `kept_by.hold()` returns what keeps it until then.
  template <class Executor, class Token, class Owner = no_owner>
  auto wait(const Executor& executor, Token&& token, Owner kept_by = Owner()) {
    if constexpr (sender_token<Token>) {
      return std::remove_cvref_t<Token>::wait_for(*this, kept_by);
    } else {
      return asio::async_initiate<Token, void(error_code, Args...)>(
          start_wait<Executor, Owner>(executor, *this, kept_by), token);
    }
  }

  // The value if the event is set; else the waiter is in the list.
  [[nodiscard]] std::optional<values> add(waiter& added) {
    const std::lock_guard lock(mutex_);
    if (value_) return value_;
    added.next = std::exchange(first_, &added);
    return std::nullopt;
  }
  // Whether it was in the list.
  [[nodiscard]] bool remove(waiter& removed) {
    const std::lock_guard lock(mutex_);
    for (waiter** at = &first_; *at; at = &(*at)->next) {
      if (*at != &removed) continue;
      *at = removed.next;
      return true;
    }
    return false;
  }

 private:
  template <class Handler, class Candidate, class Owner>
  class wait_operation
      : public waiter,
        public ::coracle::asio_internal::completion<wait_operation<Handler, Candidate, Owner>, Handler,
                                                    Candidate> {
    using base = ::coracle::asio_internal::completion<wait_operation, Handler, Candidate>;
    friend base;

   public:
    template <class H>
    wait_operation(H&& handler, const Candidate& candidate, manual_event& of, const Owner& kept_by)
        : waiter{&wait_operation::woken},
          base(std::forward<H>(handler), candidate),
          of_(of),
          held_(kept_by.hold()) {}
    template <class H>
    static void start(H&& handler, const Candidate& candidate, manual_event& of, const Owner& kept_by) {
      auto owned = base::make(std::forward<H>(handler), candidate, of, kept_by);
      wait_operation& made = *owned.release();
      made.template connect<canceller>(canceller{&made});
      if (const auto ready = of.add(made)) {
        made.result_ = {error_code(), *ready};
        made.finish_later();
      }
    }

   private:
    struct canceller {
      wait_operation* of;
      void operator()(asio::cancellation_type asked) const {
        if (asked == asio::cancellation_type::none || !of->of_.remove(*of)) return;
        of->result_ = {error_code(asio::error::operation_aborted), values()};
        of->finish_later();
      }
    };
    static void woken(waiter& w, const values& with) {
      auto& self = static_cast<wait_operation&>(w);
      self.result_ = {error_code(), with};
      // A handler without an executor, as those of a parallel group, is called by the thread that sets the event:
      // on another one it would be concurrent with the cancellation of what it waits beside.
      if constexpr (std::is_same_v<typename base::executor, asio::system_executor>) self.finish();
      else self.finish_later();
    }
    template <class Executor>
    [[nodiscard]] static bool completes_here(const Executor&) noexcept {
      return std::is_same_v<Executor, asio::system_executor>;
    }
    [[nodiscard]] std::pair<error_code, values> take_result() { return std::move(result_); }
    static void call(Handler&& handler, std::pair<error_code, values>&& r) {
      std::apply([&](auto&... all) { std::move(handler)(r.first, std::move(all)...); }, r.second);
    }
    manual_event& of_;
    std::pair<error_code, values> result_;
    [[no_unique_address]] decltype(std::declval<const Owner&>().hold()) held_;
  };

  template <class Executor, class Owner>
  class start_wait : public ::coracle::asio_internal::with_executor<Executor> {
   public:
    start_wait(const Executor& executor, manual_event& of, const Owner& kept_by)
        : ::coracle::asio_internal::with_executor<Executor>(executor), of_(&of), owner_(kept_by) {}
    template <class Handler>
    void operator()(Handler&& handler) const {
      wait_operation<std::decay_t<Handler>, Executor, Owner>::start(std::forward<Handler>(handler),
                                                                    this->get_executor(), *of_, owner_);
    }

   private:
    manual_event* of_;
    [[no_unique_address]] Owner owner_;
  };

  mutable std::mutex mutex_;
  std::optional<values> value_;
  waiter* first_ = nullptr;
};

}  // namespace agrpc::inline CORACLE_ASIO::internal
