// context_of: the GrpcContext that an executor belongs to.
#pragma once

#include "agrpc/grpc_executor.hpp"
#include "agrpc/impl/library.hpp"

#include <concepts>
#include <stdexcept>

namespace agrpc::inline CORACLE_ASIO::internal {

template <class Executor>
concept executor_of_grpc_context = requires(const Executor& e) {
  { e.context() } -> std::same_as<GrpcContext&>;
};

// The executor within a type-erased one, if it is that of a GrpcContext.
template <class Executor>
const GrpcExecutor* erased_grpc_executor(const Executor& executor) noexcept {
  if constexpr (requires { executor.template target<GrpcExecutor>(); })
    return executor.template target<GrpcExecutor>();
  else return nullptr;
}

// Throws std::logic_error if the executor belongs to another execution context.
template <class Executor>
GrpcContext& context_of(const Executor& executor) {
  if constexpr (executor_of_grpc_context<Executor>) {
    return executor.context();
  } else {
    if (const GrpcExecutor* found = erased_grpc_executor(executor)) return found->context();
    asio::execution_context& context = asio::query(executor, asio::execution::context);
    if (!is_grpc_context(context))
      throw std::logic_error(
          "an operation of agrpc was started with a completion handler whose executor is not that of a "
          "GrpcContext: use asio::bind_executor(grpc_context, token)");
    return static_cast<GrpcContext&>(context);
  }
}

// Whether a handler with this executor may be called by the thread that took its event from the queue.
template <class Executor>
bool runs_here(const Executor& executor) noexcept {
  if constexpr (std::same_as<Executor, GrpcExecutor>) return executor.running_in_this_thread();
  else if (const GrpcExecutor* found = erased_grpc_executor(executor)) return found->running_in_this_thread();
  else return false;
}

}  // namespace agrpc::inline CORACLE_ASIO::internal
