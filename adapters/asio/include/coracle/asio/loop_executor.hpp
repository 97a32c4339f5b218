// loop_executor: an executor of Asio that runs functions on a loop.
#pragma once

#include "coracle/asio/library.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/runtime/runtime.hpp"

#if defined(CORACLE_STANDALONE_ASIO)
#include <asio/execution/blocking.hpp>
#include <asio/execution/context.hpp>
#include <asio/execution/executor.hpp>
#include <asio/execution/outstanding_work.hpp>
#else
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution/executor.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#endif

#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace coracle::inline CORACLE_ASIO::asio_internal {

inline task<> rethrow(std::exception_ptr error) {
  std::rethrow_exception(std::move(error));
  co_return;
}

// What an exception does that leaves a function or a handler on a loop: it ends a root task, so that it is
// logged, stops the runtime and leaves runtime::run().
inline void fail_on_loop(std::exception_ptr error) noexcept {
  loop* const here = loop::current();
  if (!here) std::terminate();  // the executor of a test, or of block_on(), can report it to no caller
  here->owner().spawn_on(*here, rethrow(std::move(error)));
}

template <class Function>
class posted final : public coro::runnable {
 public:
  template <class F>
  explicit posted(F&& function) : runnable{&posted::arrived}, function_(std::forward<F>(function)) {}

 private:
  static void arrived(coro::runnable& w) noexcept {
    std::unique_ptr<posted> self(static_cast<posted*>(&w));
    Function function(std::move(self->function_));
    self.reset();
    try {
      std::move(function)();
    } catch (...) {
      fail_on_loop(std::current_exception());
    }
  }
  Function function_;
};

struct nothing {};

// `Context` is the execution context that owns the executor, or void if there is none.
template <class Context, bool NeverBlocks = false, bool CountsAsWork = false>
class loop_executor {
  static constexpr bool has_context = !std::is_void_v<Context>;
  template <class, bool, bool>
  friend class loop_executor;

 public:
  explicit loop_executor(coro::executor& on) noexcept
    requires(!has_context)
      : on_(&on) {}
  template <class C>
    requires(has_context)
  loop_executor(coro::executor& on, C& context) noexcept : on_(&on), context_(&context) {}
  template <bool N, bool W>
    requires(N != NeverBlocks || W != CountsAsWork)
  explicit loop_executor(const loop_executor<Context, N, W>& other) noexcept
      : on_(other.on_), context_(other.context_) {
    count();
  }
  loop_executor(const loop_executor& other) noexcept : on_(other.on_), context_(other.context_) { count(); }
  loop_executor& operator=(const loop_executor& other) noexcept {
    on_ = other.on_;
    context_ = other.context_;
    work_.reset();
    count();
    return *this;
  }
  ~loop_executor() = default;

  template <class F>
  void execute(F&& function) const {
    if constexpr (!NeverBlocks) {
      if (on_->is_current()) {
        std::decay_t<F> here(std::forward<F>(function));
        std::move(here)();
        return;
      }
    }
    on_->post(*new posted<std::decay_t<F>>(std::forward<F>(function)));
  }
  [[nodiscard]] bool running_in_this_thread() const noexcept { return on_->is_current(); }

  // The properties of executors, as Asio asks for them.
  [[nodiscard]] auto require(asio::execution::blocking_t::possibly_t) const noexcept {
    return loop_executor<Context, false, CountsAsWork>(*this);
  }
  [[nodiscard]] auto require(asio::execution::blocking_t::never_t) const noexcept {
    return loop_executor<Context, true, CountsAsWork>(*this);
  }
  [[nodiscard]] auto require(asio::execution::outstanding_work_t::tracked_t) const noexcept
    requires(has_context)
  {
    return loop_executor<Context, NeverBlocks, true>(*this);
  }
  [[nodiscard]] auto require(asio::execution::outstanding_work_t::untracked_t) const noexcept
    requires(has_context)
  {
    return loop_executor<Context, NeverBlocks, false>(*this);
  }
  [[nodiscard]] static constexpr asio::execution::blocking_t query(asio::execution::blocking_t) noexcept {
    if constexpr (NeverBlocks) return asio::execution::blocking.never;
    else return asio::execution::blocking.possibly;
  }
  [[nodiscard]] static constexpr asio::execution::outstanding_work_t query(
      asio::execution::outstanding_work_t) noexcept
    requires(has_context)
  {
    if constexpr (CountsAsWork) return asio::execution::outstanding_work.tracked;
    else return asio::execution::outstanding_work.untracked;
  }
  template <class Query>
    requires(has_context && std::is_same_v<Query, asio::execution::context_t>)
  [[nodiscard]] asio::execution_context& query(Query) const noexcept {
    return *context_;
  }

  friend bool operator==(const loop_executor& a, const loop_executor& b) noexcept { return a.on_ == b.on_; }
  friend bool operator!=(const loop_executor& a, const loop_executor& b) noexcept { return !(a == b); }

 private:
  void count() noexcept {
    if constexpr (CountsAsWork) work_.emplace(static_cast<loop&>(*on_).owner().keep_running());
  }
  coro::executor* on_;
  std::conditional_t<has_context, Context, nothing>* context_ = nullptr;
  [[no_unique_address]] std::conditional_t<CountsAsWork, std::optional<runtime::work_guard>, nothing> work_;
};

}  // namespace coracle::inline CORACLE_ASIO::asio_internal
