// with_callbacks: the members of unary calls, and of operations of streaming calls, that pass their result to
// a function; coracle/client/then.hpp defines them.
#pragma once

#include <future>

namespace coracle {

template <class T>
class result;

namespace client {

// The base of an operation of a streaming call.
template <class Operation>
class stream_callbacks {
 public:
  /// Starts the operation, and passes its result to `f`, on the loop of the call: see
  /// coracle/client/then.hpp, which has to be included.
  template <class F>
  auto then(F f) &&;
  /// The same, but `f` runs where `executor` runs it.
  template <class Executor, class F>
  auto then(Executor executor, F f) &&;
};

// The base of a unary call.
template <class Operation, class Reply>
class unary_callbacks {
 public:
  /// Starts the call, and passes its result to `f`, on the loop of the call: see coracle/client/then.hpp,
  /// which has to be included. Returns a handle whose destructor cancels the call.
  template <class F>
  auto then(F f) &&;
  /// The same, but `f` runs where `executor` runs it.
  template <class Executor, class F>
  auto then(Executor executor, F f) &&;
  /// Starts the call, and returns the future of its result: see coracle/client/then.hpp, which has to be
  /// included.
  [[nodiscard]] std::future<result<Reply>> future() &&;
};

}  // namespace client
}  // namespace coracle
