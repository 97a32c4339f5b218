// use_awaitable: coroutines of Asio whose executor is that of a GrpcContext, which saves its type erasure.
#pragma once

#include "agrpc/default_completion_token.hpp"
#include "agrpc/grpc_executor.hpp"
#include "agrpc/impl/library.hpp"

namespace agrpc::inline CORACLE_ASIO {

/// A coroutine that runs in a GrpcContext.
template <class T = void>
using GrpcAwaitable = asio::awaitable<T, GrpcExecutor>;
/// The type of GRPC_USE_AWAITABLE.
using GrpcUseAwaitable = asio::use_awaitable_t<GrpcExecutor>;
/// The token of a GrpcAwaitable.
inline constexpr GrpcUseAwaitable GRPC_USE_AWAITABLE{};

}  // namespace agrpc::inline CORACLE_ASIO
