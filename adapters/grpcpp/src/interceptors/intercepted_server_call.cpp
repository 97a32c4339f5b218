#include "adapters/grpcpp/src/interceptors/intercepted_server_call.hpp"

#include "adapters/grpcpp/src/interceptors/intercepted_operation.hpp"
#include "adapters/grpcpp/src/server/server_call_core.hpp"

#include <utility>

namespace grpc::internal {

using point = experimental::InterceptionHookPoints;

void send_first(call_interception& by, interceptor_batch& b) {
  if (!by.first_send()) return;
  b.sends_initial = true;
  b.add(point::PRE_SEND_INITIAL_METADATA);
}

intercepted_server_call::intercepted_server_call(ServerContext& context,
                                                 std::shared_ptr<server_call_core> call,
                                                 std::shared_ptr<queue_core> queue,
                                                 std::shared_ptr<call_interception> by)
    : call_(std::move(call)), plain_(context), queue_(std::move(queue)), seen_(std::move(by)) {
  plain_.bind(call_, intercepted_operation::inner_queue(), nullptr);
}

std::unique_ptr<intercepted_operation> intercepted_server_call::make(void* tag) {
  auto made = std::make_unique<intercepted_operation>(seen_, queue_, tag);
  made->received = [](intercepted_operation& o) { o.set_sent(); };
  return made;
}

// Operations may begin on a thread of an interceptor, which holds the call meanwhile: its server, and with it
// the loop, may be gone before the thread returns otherwise.

void intercepted_server_call::send_initial_metadata(void* tag) {
  auto op = make(tag);
  send_first(*seen_, op->batch);
  op->begin = [self = shared_from_this()](intercepted_operation& o) {
    const auto held = self->call_->begin_operation();
    self->plain_.send_initial_metadata(&o);
  };
  intercepted_operation::run(std::move(op));
}

void intercepted_server_call::read(const message_target& into, void* tag) {
  auto op = make(tag);
  op->batch.receives_message = true;
  op->batch.receive(into.message);
  op->begin = [self = shared_from_this(), into](intercepted_operation& o) {
    const auto held = self->call_->begin_operation();
    self->plain_.read(into, &o);
  };
  op->received = [](intercepted_operation& o) { o.batch.set_received(o.ok); };
  intercepted_operation::run(std::move(op));
}

void intercepted_server_call::write(serialized_message&& message, const WriteOptions& options, void* tag) {
  auto op = make(tag);
  send_first(*seen_, op->batch);
  op->send(std::move(message));
  op->begin = [self = shared_from_this(), options](intercepted_operation& o) {
    const auto held = self->call_->begin_operation();
    self->plain_.write(o.take_sent(), options, &o);
  };
  intercepted_operation::run(std::move(op));
}

void intercepted_server_call::finish(std::optional<serialized_message>&& reply, const Status& outcome,
                                     void* tag) {
  auto op = make(tag);
  send_first(*seen_, op->batch);
  const bool replies = reply.has_value();
  if (reply) op->send(std::move(*reply));
  op->batch.status = outcome;
  op->batch.add(point::PRE_SEND_STATUS);
  op->begin = [self = shared_from_this(), replies](intercepted_operation& o) {
    if (replies && o.batch.status.ok()) self->plain_.finish(o.take_sent(), o.batch.status, &o);
    else self->plain_.finish(o.batch.status, &o);
  };
  intercepted_operation::run(std::move(op));
}

void intercepted_server_call::write_and_finish(serialized_message&& last, const WriteOptions& options,
                                               const Status& outcome, void* tag) {
  auto op = make(tag);
  send_first(*seen_, op->batch);
  op->send(std::move(last));
  op->batch.status = outcome;
  op->batch.add(point::PRE_SEND_STATUS);
  op->begin = [self = shared_from_this(), options](intercepted_operation& o) {
    self->plain_.write_and_finish(o.take_sent(), options, o.batch.status, &o);
  };
  intercepted_operation::run(std::move(op));
}

}  // namespace grpc::internal
