// test: events of a completion queue that a test makes.
#pragma once

#include "agrpc/grpc_context.hpp"
#include "agrpc/impl/library.hpp"
#include "agrpc/impl/queue_operation.hpp"

#include <memory>

namespace agrpc::inline CORACLE_ASIO {

namespace internal {

class made_event : public queue_operation {
 public:
  made_event(void* tag, bool ok) noexcept
      : queue_operation(&made_event::arrived), of_(static_cast<queue_operation*>(tag)), ok_(ok) {}

 private:
  static void arrived(queue_operation& o, event e, GrpcContext& context) {
    const std::unique_ptr<made_event> self(static_cast<made_event*>(&o));
    if (e == event::abandoned) self->of_->process(e, context);
    else context_access::process(context, *self->of_, self->ok_ ? event::ok : event::failed);
  }
  queue_operation* of_;
  bool ok_;
};

}  // namespace internal

/// Has a GrpcContext process `tag`, which an operation of this library gave to a mock of a stub or of a responder, as
/// if its completion queue had returned it with `ok`. A thread in run() or poll() processes it, so a mock may call
/// this within the function that takes the tag.
inline void process_grpc_tag(GrpcContext& context, void* tag, bool ok) {
  internal::context_access::post(context, *new internal::made_event(tag, ok));
}

}  // namespace agrpc::inline CORACLE_ASIO
