// grpc_initiate: starts any operation of grpc++ that takes a tag, with a completion token.
#pragma once

#include "agrpc/default_completion_token.hpp"
#include "agrpc/impl/initiate.hpp"
#include "agrpc/impl/library.hpp"

#include <type_traits>
#include <utility>

namespace agrpc::inline CORACLE_ASIO {

namespace internal {

// An operation that a function starts, whose result is the ok of its event.
template <class Function>
struct started_by {
  using result = bool;
  void start(GrpcContext& context, void* tag) { function(context, tag); }
  [[nodiscard]] static bool take(bool ok) noexcept { return ok; }
  Function function;
};
template <class Function>
started_by(Function) -> started_by<Function>;

}  // namespace internal

/// Calls `function(grpc_context, tag)`, which starts an operation with that tag on the context's completion queue.
/// The context is that of the completion handler's executor. The handler's signature is `void(bool)`.
template <class Function, class Token = DefaultCompletionToken>
auto grpc_initiate(Function function, Token&& token = Token()) {
  return internal::initiate_on_token(internal::started_by<Function>{std::move(function)},
                                     std::forward<Token>(token));
}
/// The same for a given context, where a handler without an executor completes.
template <class Function, class Token = DefaultCompletionToken>
auto grpc_initiate(GrpcContext& context, Function function, Token&& token = Token()) {
  return internal::initiate(context.get_executor(), internal::started_by<Function>{std::move(function)},
                            std::forward<Token>(token));
}

}  // namespace agrpc::inline CORACLE_ASIO
