// on_executor: awaits a coroutine of Asio in a coroutine of the library.
#pragma once

#include "coracle/asio/library.hpp"
#include "coracle/asio/use_task.hpp"
#include "coracle/coro/task.hpp"

#if defined(CORACLE_STANDALONE_ASIO)
#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#else
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#endif

#include <concepts>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace coracle::inline CORACLE_ASIO {

namespace asio_internal {

template <class T, class Executor>
asio::awaitable<std::optional<T>, Executor> as_optional(asio::awaitable<T, Executor> of) {
  co_return std::optional<T>(co_await std::move(of));
}

}  // namespace asio_internal

/// Runs a coroutine of Asio on the executor `on`, and resumes on the loop that awaited it with its value or
/// exception: a handler of a service that is written with Asio.
///
///   coracle::reply<HelloReply> SayHello(coracle::server_context& context, const HelloRequest& request) override {
///     co_return co_await coracle::on_executor(io_, answer(coracle::call_context(context), request));
///   }
///
/// A stop of the awaiting task cancels the coroutine with `terminal`; the await ends when the coroutine does.
/// What the coroutine refers to must outlive the await. If `on` belongs to another thread, the coroutine must
/// not touch the server_context.
template <class Executor, class T, class AwaitableExecutor>
  requires std::convertible_to<Executor, AwaitableExecutor>
task<T> on_executor(Executor on, asio_internal::asio::awaitable<T, AwaitableExecutor> coroutine) {
  if constexpr (std::is_void_v<T> || std::default_initializable<T>) {
    auto running = asio_internal::asio::co_spawn(on, std::move(coroutine), use_task);
    co_return co_await std::move(running);
  } else {
    auto running =
        asio_internal::asio::co_spawn(on, asio_internal::as_optional(std::move(coroutine)), use_task);
    auto value = co_await std::move(running);
    co_return *std::move(value);
  }
}
/// The same on the executor of an execution context, such as an io_context.
template <class Context, class T, class AwaitableExecutor>
  requires std::convertible_to<typename Context::executor_type, AwaitableExecutor>
task<T> on_executor(Context& on, asio_internal::asio::awaitable<T, AwaitableExecutor> coroutine) {
  return on_executor(on.get_executor(), std::move(coroutine));
}

}  // namespace coracle::inline CORACLE_ASIO
