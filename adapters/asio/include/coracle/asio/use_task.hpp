// use_task: the completion token for co_await in the library's own coroutines.
#pragma once

#include "coracle/asio/library.hpp"
#include "coracle/asio/loop_executor.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/stop_token.hpp"

#include <coroutine>
#include <exception>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace coracle::inline CORACLE_ASIO {

/// The type of use_task.
struct use_task_t {};
/// The completion token with which a coroutine of the library awaits an operation of Asio:
///
///   co_await timer.async_wait(use_task);
///   const std::size_t n = co_await socket.async_read_some(buffer, use_task);
///   const int sum = co_await asio::co_spawn(io, compute(), use_task);
///
/// The operation is lazy: it begins when it is awaited, once. The coroutine resumes on the loop on which it
/// awaited. The result is what asio::use_awaitable would give: an error_code or a std::exception_ptr that
/// comes first is thrown, one value is returned as it is, and several as a std::tuple.
///
/// A stop of the awaiting task emits a `terminal` cancellation, and the await ends when the operation does; if
/// that is operation_aborted, it throws coro::cancelled. An operation that drops its handler, because its
/// context was destroyed, ends the await with usage_error.
inline constexpr use_task_t use_task{};

namespace asio_internal {

// What an await in progress shares with the handler of its operation. It lives in the awaiting frame, which
// is not resumed before the handler was called or destroyed.
template <class... Args>
class awaited_operation : private coro::runnable, private coro::stop_callback {
 public:
  awaited_operation() noexcept
      : runnable{&awaited_operation::arrived}, stop_callback(&awaited_operation::stopped) {}
  awaited_operation(const awaited_operation&) = delete;
  awaited_operation& operator=(const awaited_operation&) = delete;

  // The completion handler. Its executor is the loop of the await.
  class handler {
   public:
    using executor_type = loop_executor<void>;
    using cancellation_slot_type = asio::cancellation_slot;
    explicit handler(awaited_operation& of) noexcept : of_(&of) {}
    handler(handler&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
    handler& operator=(handler&&) = delete;
    ~handler() {
      if (of_) of_->resume_later();
    }
    template <class... Results>
    void operator()(Results&&... results) {
      CORACLE_REQUIRE(of_, "a completion handler was called twice: an operation of Asio completes once");
      awaited_operation& of = *std::exchange(of_, nullptr);
      try {
        of.results_.emplace(std::forward<Results>(results)...);
      } catch (...) {
        of.error_ = std::current_exception();
      }
      of.resume_later();
    }
    [[nodiscard]] executor_type get_executor() const noexcept { return executor_type(*of_->on_); }
    [[nodiscard]] cancellation_slot_type get_cancellation_slot() const noexcept {
      return of_->signal_.slot();
    }

   private:
    awaited_operation* of_;
  };

  template <class Begin>
  void begin(std::coroutine_handle<> waiter, const coro::environment& e, Begin begin) {
    on_ = &coro::this_executor();
    waiter_ = waiter;
    const bool stopped_before = !e.stop.subscribe(*this);
    try {
      handler h(*this);
      begin(std::move(h));
    } catch (...) {
      error_ = std::current_exception();  // the handler is gone, so that the coroutine resumes
    }
    if (stopped_before) stopped(*this);
  }
  // The results, or the exception.
  auto take() {
    if (error_) std::rethrow_exception(error_);
    CORACLE_REQUIRE(results_,
                    "an operation of Asio has destroyed its handler without a call: keep its context until "
                    "the operation has ended");
    return returned(*std::move(results_));
  }

 private:
  void resume_later() noexcept { on_->post(*this); }
  static void arrived(coro::runnable& w) noexcept {
    auto& self = static_cast<awaited_operation&>(w);
    static_cast<coro::stop_callback&>(self).unlink();
    self.waiter_.resume();
  }
  static void stopped(coro::stop_callback& c) noexcept {
    auto& self = static_cast<awaited_operation&>(c);
    self.stop_requested_ = true;
    self.signal_.emit(asio::cancellation_type::terminal);
  }

  auto returned(std::tuple<>&&) {}
  template <class T, class... Rest>
  auto returned(std::tuple<T, Rest...>&& all) {
    if constexpr (std::is_same_v<T, error_code>) {
      if (const error_code error = std::get<0>(all)) raise(std::make_exception_ptr(system_error(error)));
    } else if constexpr (std::is_same_v<T, std::exception_ptr>) {
      if (const auto error = std::get<0>(all)) raise(error);
    } else {
      return unpacked(std::move(all));
    }
    if constexpr (std::is_same_v<T, error_code> || std::is_same_v<T, std::exception_ptr>)
      return std::apply([](T&, Rest&... rest) { return unpacked(std::tuple<Rest...>(std::move(rest)...)); },
                        all);
  }
  static void unpacked(std::tuple<>&&) {}
  template <class T>
  static T unpacked(std::tuple<T>&& one) {
    return std::get<0>(std::move(one));
  }
  template <class A, class B, class... Rest>
  static std::tuple<A, B, Rest...> unpacked(std::tuple<A, B, Rest...>&& several) {
    return std::move(several);
  }
  [[noreturn]] void raise(const std::exception_ptr& error) {
    if (stop_requested_) {
      try {
        std::rethrow_exception(error);
      } catch (const system_error& e) {
        if (e.code() == asio::error::operation_aborted) throw coro::cancelled();
      } catch (...) {
      }
    }
    std::rethrow_exception(error);
  }

  coro::executor* on_ = nullptr;
  std::coroutine_handle<> waiter_;
  asio::cancellation_signal signal_;
  bool stop_requested_ = false;
  std::exception_ptr error_;
  std::optional<std::tuple<Args...>> results_;
};

// An operation that was not begun yet: its initiation and the arguments of that.
template <class Initiation, class InitArgs, class... Args>
class [[nodiscard]] lazy_operation {
 public:
  template <class I, class... As>
  explicit lazy_operation(I&& initiation, std::in_place_t, As&&... args)
      : initiation_(std::forward<I>(initiation)), args_(std::forward<As>(args)...) {}

  class awaiter : awaited_operation<Args...> {
   public:
    explicit awaiter(lazy_operation& of) noexcept : of_(of) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> h) {
      this->begin(h, coro::environment_of(h), [this](auto&& completion) {
        std::apply(
            [&](auto&... args) {
              std::move(of_.initiation_)(std::forward<decltype(completion)>(completion), std::move(args)...);
            },
            of_.args_);
      });
    }
    auto await_resume() { return this->take(); }

   private:
    lazy_operation& of_;
  };
  awaiter operator co_await() && noexcept { return awaiter(*this); }

 private:
  Initiation initiation_;
  InitArgs args_;
};

}  // namespace asio_internal
}  // namespace coracle::inline CORACLE_ASIO

// Asio finds out here what an initiating function returns for use_task.
#if defined(CORACLE_STANDALONE_ASIO)
namespace asio {
#else
namespace boost::asio {
#endif
template <class... Args>
class async_result<coracle::use_task_t, void(Args...)> {
 public:
  template <class Initiation, class... InitArgs>
  static auto initiate(Initiation&& initiation, coracle::use_task_t, InitArgs&&... args) {
    return coracle::asio_internal::lazy_operation<
        std::decay_t<Initiation>, std::tuple<std::decay_t<InitArgs>...>, std::decay_t<Args>...>(
        std::forward<Initiation>(initiation), std::in_place, std::forward<InitArgs>(args)...);
  }
};
#if defined(CORACLE_STANDALONE_ASIO)
}  // namespace asio
#else
}  // namespace boost::asio
#endif
