// then: passes the result of a call, or of one operation of a streaming call, to a function, for programs
// without coroutines.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/client/impl/client_awaiters.hpp"
#include "coracle/client/start.hpp"
#include "coracle/client/unary_call.hpp"
#include "coracle/client/with_callbacks.hpp"
#include "coracle/coro/impl/wake_link.hpp"
#include "coracle/coro/outcome.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/rpc/metadata.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/runtime/start.hpp"

#include <atomic>
#include <concepts>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace coracle {

// coracle/client/with_callbacks.hpp declares then() and states its rules.

/// What arrives with the reply of a unary call, for the function of then().
class call_details {
 public:
  /// @cond
  call_details(metadata initial, metadata trailing, bool compressed) noexcept
      : initial_(std::move(initial)), trailing_(std::move(trailing)), compressed_(compressed) {}
  /// @endcond
  /// Returns the initial metadata that arrived with the reply.
  [[nodiscard]] const metadata& initial_metadata() const noexcept { return initial_; }
  /// Returns the trailing metadata that arrived with the status.
  [[nodiscard]] const metadata& trailing_metadata() const noexcept { return trailing_; }
  /// Returns whether the reply was compressed.
  [[nodiscard]] bool read_compressed() const noexcept { return compressed_; }

 private:
  metadata initial_;
  metadata trailing_;
  bool compressed_;
};

/// @cond
namespace client {

// A function of then() on its way to an executor. Shared by the copies of queued_callback and by a task on
// the loop of the call, which waits for the end of the function.
class delivery {
 public:
  delivery(const delivery&) = delete;
  delivery& operator=(const delivery&) = delete;
  virtual ~delivery() = default;

  // Any thread. Runs the function; once.
  void run() noexcept;
  // Any thread: no copy is left. Destroys the function if it has not run.
  void drop() noexcept;
  // Waits for the end of the function, or for the end of the runtime; logs what the function has thrown, and
  // cancels the call of `of`.
  [[nodiscard]] static task<> wait_for_end(std::shared_ptr<delivery> self, stream_hold of);

 protected:
  explicit delivery(const char* method) : method_(method) {}

 private:
  virtual void call() = 0;
  virtual void forget() noexcept = 0;
  void end(const std::exception_ptr& error) noexcept;
  std::atomic<bool> ran_{false};
  const std::string method_;
  coro::wake_link link_;
  std::exception_ptr error_;  // guarded by link_
};

}  // namespace client
/// @endcond

/// What then() passes to an executor: a function object without arguments, which calls the function of
/// then().
///
/// It may be copied and called on any thread. The first call takes effect. If an executor drops all copies
/// without a call, the function of then() is destroyed without a call.
class queued_callback {
 public:
  /// @cond
  explicit queued_callback(const std::shared_ptr<client::delivery>& d)
      : delivery_(d.get(), [kept = d](client::delivery* dropped) { dropped->drop(); }) {}
  /// @endcond
  /// Calls the function of then(), unless a copy has done so.
  void operator()() const noexcept {
    if (delivery_) delivery_->run();
  }

 private:
  std::shared_ptr<client::delivery> delivery_;
};

/// @cond
namespace client {

template <class E>
concept called_as_function = std::invocable<E&, queued_callback>;
template <class E>
concept called_by_post = requires(E& e, queued_callback f) { e.post(std::move(f)); };
template <class E>
concept called_by_execute = requires(E& e, queued_callback f) { e.execute(std::move(f)); };

template <class E>
struct executor_object {
  using type = E;
};
template <class E>
struct executor_object<std::reference_wrapper<E>> {
  using type = E;
};

}  // namespace client
/// @endcond

/// Runs functions for then(): an object that is called with a function object without arguments, or that has
/// a member post() or execute() which takes one. The executor is moved or copied into the call; pass
/// std::ref(executor) if it cannot be, or should not be, and let it outlive the calls. It is used on the loop
/// of the call, where it must not wait, and may run the function on any thread.
///
/// If it throws, the function is destroyed without a call, and the exception is logged with the method, and
/// cancels a streaming call.
template <class E>
concept callback_executor = client::called_as_function<typename client::executor_object<E>::type> ||
                            client::called_by_post<typename client::executor_object<E>::type> ||
                            client::called_by_execute<typename client::executor_object<E>::type>;

/// @cond
namespace client {

template <class E>
void execute_on(E& executor, queued_callback f) {
  if constexpr (called_as_function<E>) executor(std::move(f));
  else if constexpr (called_by_post<E>) executor.post(std::move(f));
  else executor.execute(std::move(f));
}
template <class E>
void execute_on(std::reference_wrapper<E>& executor, queued_callback f) {
  execute_on(executor.get(), std::move(f));
}

// Writes the line about a function of then() that threw: "the callback of /p.S/M threw ...". On the loop of
// the call.
void log_callback_failure(const char* method, const std::exception_ptr& error) noexcept;
// The status for a function of then() when starting or running the operation threw.
status status_of_failure(const std::exception_ptr& error);

// What co_await of an operation returns, as the function of then() takes it.
template <class Operation>
coro::awaited_t<Operation> value_of(const std::exception_ptr& error, Operation& ended) {
  if (error) return status_of_failure(error);
  try {
    return ended.await_resume();
  } catch (...) {
    return status_of_failure(std::current_exception());
  }
}
template <class T>
T value_of(outcome<T>&& o) {
  if (o.ok()) return std::move(o).value();
  return status_of_failure(o.error());
}

// Logs what a function of then() or its executor has thrown, and cancels a streaming call.
template <class Operation>
void fail_callback(Operation& ended, const std::exception_ptr& error) noexcept {
  log_callback_failure(ended.method(), error);
  if constexpr (requires { ended.cancel_call(); }) ended.cancel_call();
}
// Keeps a streaming call.
template <class Operation>
stream_hold hold_of(Operation& ended) {
  if constexpr (requires { ended.another_hold(); }) return ended.another_hold();
  else return {};
}

// Calls the function of then() with the result of an operation.
template <class F, class T>
void call_with(F& f, outcome<T>&& o, [[maybe_unused]] std::optional<call_details>& details) {
  if constexpr (std::is_void_v<T>) {
    o.value();
    f();
  } else if constexpr (std::invocable<F&, T, call_details>) {
    f(value_of(std::move(o)), *std::move(details));
  } else {
    f(value_of(std::move(o)));
  }
}
template <class F, class T>
inline constexpr bool takes_details = false;
template <class F, class T>
  requires(!std::is_void_v<T>)
inline constexpr bool takes_details<F, T> = std::invocable<F&, T, call_details>;
template <class F, class T>
inline constexpr bool is_callback_of = std::invocable<F&, T> || takes_details<F, T>;
template <class F>
inline constexpr bool is_callback_of<F, void> = std::invocable<F&>;

template <class F, class Operation>
std::optional<call_details> details_for(Operation& ended) {
  if constexpr (takes_details<F, coro::awaited_t<Operation>>) return ended.take_details();
  else return std::nullopt;
}

// The function that start() calls: on the loop of the call.
template <class F>
class callback {
 public:
  explicit callback(F f) : f_(std::move(f)) {}
  template <class Operation>
  void operator()(const std::exception_ptr& error, Operation& ended) noexcept {
    using value = coro::awaited_t<Operation>;
    try {
      if constexpr (std::is_void_v<value>) {
        if (error) std::rethrow_exception(error);
        ended.await_resume();
        f_();
      } else if constexpr (takes_details<F, value>) {
        auto details = ended.take_details();
        f_(value_of(error, ended), std::move(details));
      } else {
        f_(value_of(error, ended));
      }
    } catch (...) {
      fail_callback(ended, std::current_exception());
    }
  }

 private:
  F f_;
};

// The function that an executor runs, with its arguments.
template <class F, class T>
class delivered_callback final : public delivery {
 public:
  delivered_callback(F f, outcome<T> o, std::optional<call_details> details, const char* method)
      : delivery(method), arguments_(std::in_place, std::move(f), std::move(o), std::move(details)) {}

 private:
  struct arguments {
    arguments(F function, outcome<T> result, std::optional<call_details> beside)
        : f(std::move(function)), o(std::move(result)), details(std::move(beside)) {}
    F f;
    outcome<T> o;
    std::optional<call_details> details;
  };
  void call() override {
    arguments with(*std::move(arguments_));
    arguments_.reset();
    call_with(with.f, std::move(with.o), with.details);
  }
  void forget() noexcept override { arguments_.reset(); }
  std::optional<arguments> arguments_;
};

// The function that start() calls, on the loop of the call: hands `f` to the executor.
template <class Executor, class F>
class executed_callback {
 public:
  executed_callback(Executor executor, F f) : executor_(std::move(executor)), f_(std::move(f)) {}
  template <class T, class Operation>
  void operator()(outcome<T> o, Operation& ended) noexcept {
    try {
      auto made = std::make_shared<delivered_callback<F, T>>(std::move(f_), std::move(o),
                                                             details_for<F>(ended), ended.method());
      loop& here = *loop::current();
      here.owner().spawn_on(here, delivery::wait_for_end(made, hold_of(ended)));
      execute_on(executor_, queued_callback(made));
    } catch (...) {
      fail_callback(ended, std::current_exception());
    }
  }

 private:
  Executor executor_;
  F f_;
};

template <class Operation, class F>
constexpr void check_callback() {
  static_assert(is_callback_of<F, coro::awaited_t<Operation>>,
                "the function of then() takes what co_await returns, such as a result<Reply> or a status, or "
                "nothing if that is void; that of a unary call may take a call_details as well");
}

// start() of what a member of the operation is called on.
template <class Operation, class Done>
started start_this(Operation&& self, Done done) {
  loop& where = self.hold();
  return runtime_internal::start_moved(where, std::move(self), std::move(done));
}

// The members are documented where they are declared.
template <class Operation>
template <class F>
auto stream_callbacks<Operation>::then(F f) && {
  check_callback<Operation, F>();
  start_this(static_cast<Operation&&>(*this), callback<F>(std::move(f))).detach();
}

template <class Operation>
template <class Executor, class F>
auto stream_callbacks<Operation>::then(Executor executor, F f) && {
  static_assert(callback_executor<Executor>);
  check_callback<Operation, F>();
  start_this(static_cast<Operation&&>(*this),
             executed_callback<Executor, F>(std::move(executor), std::move(f)))
      .detach();
}

template <class Operation, class Reply>
template <class F>
auto unary_callbacks<Operation, Reply>::then(F f) && {
  check_callback<Operation, F>();
  return start_this(static_cast<Operation&&>(*this), callback<F>(std::move(f)));
}

template <class Operation, class Reply>
template <class Executor, class F>
auto unary_callbacks<Operation, Reply>::then(Executor executor, F f) && {
  static_assert(callback_executor<Executor>);
  check_callback<Operation, F>();
  return start_this(static_cast<Operation&&>(*this),
                    executed_callback<Executor, F>(std::move(executor), std::move(f)));
}

template <class Operation, class Reply>
auto unary_callbacks<Operation, Reply>::future() && {
  std::promise<result<Reply>> promise;
  std::future<result<Reply>> future = promise.get_future();
  start_this(static_cast<Operation&&>(*this),
             callback([promise = std::move(promise)](result<Reply> reply) mutable {
               promise.set_value(std::move(reply));
             }))
      .detach();
  return future;
}

}  // namespace client
/// @endcond
}  // namespace coracle
