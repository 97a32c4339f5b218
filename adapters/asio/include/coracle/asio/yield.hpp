// yield: stackful coroutines, which suspend in functions that take an asio::yield_context.
//
// Needs Boost.Context or Boost.Coroutine: with Asio before 1.24 (Boost 1.80) both of them.
#pragma once

#include "coracle/asio/library.hpp"
#include "coracle/asio/use_task.hpp"
#include "coracle/base/result.hpp"
#include "coracle/coro/task.hpp"

#if defined(CORACLE_STANDALONE_ASIO)
#if CORACLE_ASIO_VERSION >= 102400
#include <asio/as_tuple.hpp>
#endif
#include <asio/spawn.hpp>
#else
#if CORACLE_ASIO_VERSION >= 102400
#include <boost/asio/as_tuple.hpp>
#endif
#include <boost/asio/spawn.hpp>
#endif

#include <concepts>
#include <exception>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#if CORACLE_ASIO_VERSION < 102400

// That Asio knows neither exceptions nor results of types without default constructor in completions.
namespace coracle::inline CORACLE_ASIO::asio_internal {

template <class Handler, class... Args>
class yield_handler : public asio::detail::coro_handler<Handler, std::optional<std::tuple<Args...>>> {
  using base = asio::detail::coro_handler<Handler, std::optional<std::tuple<Args...>>>;

 public:
  using base::base;
  void operator()(Args... args) { base::operator()(std::make_optional(std::make_tuple(std::move(args)...))); }
};

template <class Handler, class... Args>
class yield_result : public asio::detail::coro_async_result<Handler, std::optional<std::tuple<Args...>>> {
  using base = asio::detail::coro_async_result<Handler, std::optional<std::tuple<Args...>>>;

 public:
  using completion_handler_type = yield_handler<Handler, Args...>;
  using return_type = std::tuple_element_t<sizeof...(Args) - 1, std::tuple<Args...>>;
  explicit yield_result(completion_handler_type& h) : base(h) {}
  return_type get() {
    auto all = base::get();
    if constexpr (sizeof...(Args) == 2) {
      if (std::get<0>(*all)) std::rethrow_exception(std::get<0>(*all));
    }
    return std::get<sizeof...(Args) - 1>(*std::move(all));
  }
};
template <class Handler>
class yield_result<Handler, std::exception_ptr>
    : public asio::detail::coro_async_result<Handler, std::optional<std::tuple<std::exception_ptr>>> {
  using base = asio::detail::coro_async_result<Handler, std::optional<std::tuple<std::exception_ptr>>>;

 public:
  using completion_handler_type = yield_handler<Handler, std::exception_ptr>;
  using return_type = void;
  explicit yield_result(completion_handler_type& h) : base(h) {}
  void get() {
    if (const auto all = base::get(); std::get<0>(*all)) std::rethrow_exception(std::get<0>(*all));
  }
};

}  // namespace coracle::inline CORACLE_ASIO::asio_internal

#if defined(CORACLE_STANDALONE_ASIO)
namespace asio {
#else
namespace boost::asio {
#endif
template <class Handler, class T>
class async_result<basic_yield_context<Handler>, void(coracle::result<T>)>
    : public coracle::asio_internal::yield_result<Handler, coracle::result<T>> {
  using coracle::asio_internal::yield_result<Handler, coracle::result<T>>::yield_result;
};
template <class Handler>
class async_result<basic_yield_context<Handler>, void(std::exception_ptr)>
    : public coracle::asio_internal::yield_result<Handler, std::exception_ptr> {
  using coracle::asio_internal::yield_result<Handler, std::exception_ptr>::yield_result;
};
template <class Handler, class T>
class async_result<basic_yield_context<Handler>, void(std::exception_ptr, T)>
    : public coracle::asio_internal::yield_result<Handler, std::exception_ptr, T> {
  using coracle::asio_internal::yield_result<Handler, std::exception_ptr, T>::yield_result;
};
template <template <class, class> class Associator, class Handler, class... Args, class Default>
struct associator<Associator, coracle::asio_internal::yield_handler<Handler, Args...>, Default>
    : Associator<Handler, Default> {
  static auto get(const coracle::asio_internal::yield_handler<Handler, Args...>& h,
                  const Default& otherwise = Default()) noexcept {
    return Associator<Handler, Default>::get(h.handler_, otherwise);
  }
};
#if defined(CORACLE_STANDALONE_ASIO)
}  // namespace asio
#else
}  // namespace boost::asio
#endif

#else

// The spawn() of Asio 1.26 (Boost 1.81) does not compile, or rethrows null, where completions have an exception.
#if defined(CORACLE_STANDALONE_ASIO)
namespace asio {
#else
namespace boost::asio {
#endif
template <class Executor>
class async_result<basic_yield_context<Executor>, void(std::exception_ptr)> {
 public:
  template <class Initiation, class... InitArgs>
  static void initiate(Initiation&& initiation, const basic_yield_context<Executor>& yield,
                       InitArgs&&... args) {
    auto token = as_tuple(yield);
    const auto all = async_initiate<decltype(token), void(std::exception_ptr)>(
        std::forward<Initiation>(initiation), token, std::forward<InitArgs>(args)...);
    if (std::get<0>(all)) std::rethrow_exception(std::get<0>(all));
  }
};
template <class Executor, class T>
class async_result<basic_yield_context<Executor>, void(std::exception_ptr, T)> {
 public:
  template <class Initiation, class... InitArgs>
  static T initiate(Initiation&& initiation, const basic_yield_context<Executor>& yield, InitArgs&&... args) {
    auto token = as_tuple(yield);
    auto all = async_initiate<decltype(token), void(std::exception_ptr, T)>(
        std::forward<Initiation>(initiation), token, std::forward<InitArgs>(args)...);
    if (std::get<0>(all)) std::rethrow_exception(std::get<0>(all));
    return std::get<1>(std::move(all));
  }
};
#if defined(CORACLE_STANDALONE_ASIO)
}  // namespace asio
#else
}  // namespace boost::asio
#endif

#endif

namespace coracle::inline CORACLE_ASIO {

namespace asio_internal {

// Asio passes a default-constructed value with an exception.
template <class T>
using value_or_nothing = std::conditional_t<std::is_void_v<T>, bool, std::optional<T>>;

template <class Function>
auto call_with(Function& function, const asio::yield_context& yield) {
  using value = std::invoke_result_t<Function&, asio::yield_context>;
  if constexpr (std::is_void_v<value>) {
    function(yield);
    return true;
  } else {
    return std::optional<value>(function(yield));
  }
}

#if CORACLE_ASIO_VERSION < 102400

// spawn() of that Asio takes no completion token.
template <class Executor, class Function>
auto spawn(Executor on, Function function) {
  using value = decltype(call_with(function, std::declval<asio::yield_context>()));
  return asio::async_initiate<const use_task_t, void(std::exception_ptr, value)>(
      [on](auto handler, Function run) {
        asio::spawn(on,
                    [run = std::move(run), handler = std::move(handler)](asio::yield_context yield) mutable {
                      value returned{};
                      std::exception_ptr error;
                      try {
                        returned = call_with(run, yield);
                      } catch (const boost::coroutines::detail::forced_unwind&) {
                        throw;  // the executor's context is being destroyed
                      } catch (...) {
                        error = std::current_exception();
                      }
                      std::move(handler)(error, std::move(returned));
                    });
      },
      use_task, std::move(function));
}

#else

template <class Executor, class Function>
auto spawn(Executor on, Function function) {
  return asio::spawn(
      on,
      [run = std::move(function)](const asio::yield_context& yield) mutable { return call_with(run, yield); },
      use_task);
}

#endif

}  // namespace asio_internal

/// Runs `function` as a stackful coroutine on the executor `on`, and resumes on the loop that awaited it with
/// its value or exception: a handler of a service that is written with yield_context.
///
///   co_return co_await coracle::on_executor(io_.get_executor(), [&](asio::yield_context yield) {
///     return async_wait(call, stub.SayHello(request), yield);
///   });
///
/// What the function refers to must outlive the await: captures by reference of the awaiting coroutine do. A
/// stop of the awaiting task cancels the coroutine from Asio 1.24 (Boost 1.80) on; before, it has no effect.
template <class Executor, std::invocable<asio_internal::asio::yield_context> Function>
auto on_executor(Executor on, Function function)
    -> task<std::invoke_result_t<Function&, asio_internal::asio::yield_context>> {
  auto running = asio_internal::spawn(on, std::move(function));
  auto value = co_await std::move(running);
  if constexpr (!std::is_void_v<std::invoke_result_t<Function&, asio_internal::asio::yield_context>>)
    co_return *std::move(value);
}

}  // namespace coracle::inline CORACLE_ASIO
