// default_completion_token: the token of functions that are called without one.
#pragma once

#include "agrpc/grpc_executor.hpp"
#include "agrpc/impl/library.hpp"

#include <type_traits>

namespace agrpc::inline CORACLE_ASIO {

/// What the functions of this library take where neither the caller nor the executor names a token.
using DefaultCompletionToken = asio::use_awaitable_t<>;

namespace internal {

template <class Executor>
using default_token_of =
    std::conditional_t<std::is_void_v<typename asio::default_completion_token<Executor>::type>,
                       DefaultCompletionToken, typename asio::default_completion_token<Executor>::type>;

}  // namespace internal
}  // namespace agrpc::inline CORACLE_ASIO
