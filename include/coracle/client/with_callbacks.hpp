// with_callbacks: the members of unary calls, and of operations of streaming calls, that pass their result to
// a function; coracle/client/then.hpp defines them.
#pragma once

#include "coracle/base/impl/requirements.hpp"

namespace coracle::client {

/// What an operation of a streaming call, such as next(), has beside co_await: then(), for programs without
/// coroutines. Include coracle/client.hpp or coracle/client/then.hpp.
///
///   chat.next().then([](coracle::result<std::optional<Text>> message) { ... });
///
/// The rules are those of unary_callbacks, but the call object must be kept, because its destructor cancels
/// the call. An exception that leaves the function is logged with the method, and cancels the call.
template <class Operation>
class stream_callbacks {
 public:
  /// Starts the operation, and passes its result to `f`, on the loop of the call. `f` takes nothing if
  /// co_await returns nothing.
  template <class F>
  auto then(F f) &&;
  /// The same, but `f` runs where `executor` runs it: see callback_executor.
  template <class Executor, class F>
  auto then(Executor executor, F f) &&;
};

/// What a unary call has beside co_await: then() and future(), for programs without coroutines. Include
/// coracle/client.hpp or coracle/client/then.hpp.
///
///   coracle::started call = stub.Say(request).then([](coracle::result<Text> reply) { ... });
///   stub.Say(request).then(pool, [](coracle::result<Text> reply) { ... }).detach();
///
/// The function takes what co_await would return, and may take a call_details as its second argument. It is
/// called once, also if the call is cancelled or the runtime stops, and never inside then(). It is called on
/// the loop of the call, which it must not block, or by the executor. The request and the stub may be
/// destroyed at once. An exception that leaves the function is logged with the method.
template <class Operation, class Reply>
class unary_callbacks {
 public:
  /// Starts the call, and passes its result to `f`, on the loop of the call. Returns a handle, a
  /// coracle::started, whose destructor cancels the call.
  template <class F>
  auto then(F f) &&;
  /// The same, but `f` runs where `executor` runs it: see callback_executor.
  template <class Executor, class F>
  auto then(Executor executor, F f) &&;
  /// Starts the call, and returns the future of its result: a std::future<coracle::result<Reply>>. It is not
  /// named here because the header `future` takes as long to compile as all messages of a small .proto file.
  [[nodiscard]] auto future() &&;
};

}  // namespace coracle::client
