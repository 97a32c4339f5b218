// manual_event: an event that several operations wait for, and that stays until it is cleared.
#pragma once

#include "agrpc/impl/context_of.hpp"
#include "agrpc/impl/initiate.hpp"
#include "agrpc/impl/library.hpp"

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

// An executor that is known when the event is set, and perhaps not when a wait begins.
template <class Executor>
class later_executor {
 public:
  explicit later_executor(const std::optional<Executor>& from) noexcept : from_(&from) {}
  [[nodiscard]] const std::optional<Executor>& get() const noexcept { return *from_; }

 private:
  const std::optional<Executor>* from_;
};

// What the handlers of waits get before the values of an event: the error of a cancelled wait, unless the values begin with
// an error_code themselves.
template <class... Args>
struct wait_signature {
  using type = void(error_code, Args...);
  template <class Handler, class Values>
  static void call(Handler&& handler, const error_code& error, Values&& values) {
    std::apply([&](auto&... all) { std::move(handler)(error, std::move(all)...); }, values);
  }
};
template <class... Args>
struct wait_signature<error_code, Args...> {
  using type = void(error_code, Args...);
  template <class Handler, class Values>
  static void call(Handler&& handler, const error_code& error, Values&& values) {
    if (error) std::get<0>(values) = error;
    std::apply([&](auto&... all) { std::move(handler)(std::move(all)...); }, values);
  }
};

}  // namespace agrpc::inline CORACLE_ASIO::internal

// Such an executor is asked when the wait completes, and not told before.
template <class Executor>
inline constexpr bool coracle::asio_internal::counts_work<agrpc::internal::later_executor<Executor>> = false;

namespace agrpc::inline CORACLE_ASIO::internal {

// The event passes Args... to its waiters, which get copies; of what cannot be copied, the first one gets all.
template <class... Args>
class manual_event {
 public:
  using values = std::tuple<std::decay_t<Args>...>;
  // What waits. `wake` is called once, by the thread that sets the event; or never, after remove().
  struct waiter {
    void (*wake)(waiter&, values&&);
    waiter* next = nullptr;
  };

  manual_event() = default;
  manual_event(const manual_event&) = delete;
  manual_event& operator=(const manual_event&) = delete;

  // The last act may be the end of the event: a waiter that continues may destroy it.
  void set(Args... args) {
    values passed(std::forward<Args>(args)...);
    waiter* ready = nullptr;
    {
      const std::lock_guard lock(mutex_);
      ready = std::exchange(first_, nullptr);
      if constexpr (copied) value_ = passed;
      else if (ready) value_.emplace();
      else value_.emplace(std::move(passed));
    }
    while (ready) {
      waiter& next = *ready;
      ready = next.next;
      next.wake(next, passed_on(passed));
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

  // Waits with a signature of void(error_code, Args...), whose error is operation_aborted after a cancellation; it is the
  // first of Args if that is an error_code. With use_sender, the values are Args..., and the thread that sets the event
  // continues. `executor` may be a later_executor. The event must outlive the wait, or `kept_by.hold()` returns what keeps
  // it until then.
  template <class Executor, class Token, class Owner = no_owner>
  auto wait(const Executor& executor, Token&& token, Owner kept_by = Owner()) {
    if constexpr (sender_token<Token>) {
      return std::remove_cvref_t<Token>::wait_for(*this, kept_by);
    } else {
      return asio::async_initiate<Token, typename wait_signature<std::decay_t<Args>...>::type>(
          starts(executor, kept_by), token);
    }
  }

  // The value if the event is set; else the waiter is in the list.
  [[nodiscard]] std::optional<values> add(waiter& added) {
    const std::lock_guard lock(mutex_);
    if (value_) return std::optional<values>(passed_on(*value_));
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
  static constexpr bool copied = (std::is_copy_constructible_v<std::decay_t<Args>> && ...);
  [[nodiscard]] static values passed_on(values& from) {
    if constexpr (copied) return from;
    else return std::move(from);
  }

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
          later_(candidate),
          of_(of),
          held_(kept_by.hold()) {}
    template <class H>
    static void start(H&& handler, const Candidate& candidate, manual_event& of, const Owner& kept_by) {
      auto owned = base::make(std::forward<H>(handler), candidate, of, kept_by);
      wait_operation& made = *owned.release();
      made.template connect<canceller>(canceller{&made});
      if (auto ready = of.add(made)) {
        made.result_ = {error_code(), *std::move(ready)};
        made.continue_later();
      }
    }

   private:
    struct canceller {
      wait_operation* of;
      void operator()(asio::cancellation_type asked) const {
        if (asked == asio::cancellation_type::none || !of->of_.remove(*of)) return;
        of->result_ = {error_code(asio::error::operation_aborted), values()};
        of->continue_later();
      }
    };
    static void woken(waiter& w, values&& with) {
      auto& self = static_cast<wait_operation&>(w);
      self.result_ = {error_code(), std::move(with)};
      // A handler without an executor, as those of a parallel group, is called by the thread that sets the event:
      // on another one it would be concurrent with the cancellation of what it waits beside.
      if constexpr (std::is_same_v<typename base::executor, asio::system_executor>) self.finish();
      else self.continue_later();
    }
    void continue_later() {
      if constexpr (::coracle::asio_internal::counts_work<typename base::executor>) {
        this->finish_later();
      } else {
        typename base::owner owned(this);
        // Without an executor until now, only a cancellation ends the wait, and its thread continues.
        if (const auto& on = later_.get()) asio::post(*on, std::move(owned));
        else owned();
      }
    }
    template <class Executor>
    [[nodiscard]] static bool completes_here(const Executor&) noexcept {
      return std::is_same_v<Executor, asio::system_executor>;
    }
    [[nodiscard]] std::pair<error_code, values> take_result() { return std::move(result_); }
    static void call(Handler&& handler, std::pair<error_code, values>&& r) {
      wait_signature<std::decay_t<Args>...>::call(std::move(handler), r.first, std::move(r.second));
    }
    [[no_unique_address]] Candidate later_;
    manual_event& of_;
    std::pair<error_code, values> result_;
    [[no_unique_address]] decltype(std::declval<const Owner&>().hold()) held_;
  };

  template <class Executor, class Owner>
  class start_later_wait {
   public:
    using executor_type = Executor;
    start_later_wait(const later_executor<Executor>& executor, manual_event& of, const Owner& kept_by)
        : later_(executor), of_(&of), owner_(kept_by) {}
    [[nodiscard]] executor_type get_executor() const {
      if constexpr (std::is_default_constructible_v<Executor>) return later_.get().value_or(Executor());
      else return later_.get().value();
    }
    template <class Handler>
    void operator()(Handler&& handler) const {
      using kept = std::decay_t<Handler>;
      // As much as is known is told: an executor in use counts the wait as work.
      if (const auto& on = later_.get())
        wait_operation<kept, Executor, Owner>::start(std::forward<Handler>(handler), *on, *of_, owner_);
      else
        wait_operation<kept, later_executor<Executor>, Owner>::start(std::forward<Handler>(handler), later_,
                                                                     *of_, owner_);
    }

   private:
    later_executor<Executor> later_;
    manual_event* of_;
    [[no_unique_address]] Owner owner_;
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

  template <class Executor, class Owner>
  [[nodiscard]] auto starts(const Executor& executor, const Owner& kept_by) {
    return start_wait<Executor, Owner>(executor, *this, kept_by);
  }
  template <class Executor, class Owner>
  [[nodiscard]] auto starts(const later_executor<Executor>& executor, const Owner& kept_by) {
    return start_later_wait<Executor, Owner>(executor, *this, kept_by);
  }

  mutable std::mutex mutex_;
  std::optional<values> value_;
  waiter* first_ = nullptr;
};

}  // namespace agrpc::inline CORACLE_ASIO::internal
