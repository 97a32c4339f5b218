// get_completion_queue: the completion queue of a GrpcContext, or of an executor's.
#pragma once

#include "agrpc/grpc_context.hpp"
#include "agrpc/impl/context_of.hpp"
#include "agrpc/impl/library.hpp"

#include <grpcpp/completion_queue.h>

namespace agrpc::inline CORACLE_ASIO {

/// Returns the completion queue of `context`.
[[nodiscard]] inline grpc::CompletionQueue* get_completion_queue(GrpcContext& context) noexcept {
  return context.get_completion_queue();
}
/// Returns the completion queue of the executor's GrpcContext. Throws std::logic_error if it has none.
template <class Executor>
  requires ::coracle::asio_internal::executor<Executor>
[[nodiscard]] grpc::CompletionQueue* get_completion_queue(const Executor& executor) {
  return internal::context_of(executor).get_completion_queue();
}

}  // namespace agrpc::inline CORACLE_ASIO
