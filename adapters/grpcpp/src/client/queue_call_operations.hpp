// The calls of a client in the completion-queue API: plain ones, and those that interceptors see.
#pragma once

#include <grpcpp/impl/call_op_set.h>
#include <grpcpp/impl/interception.h>
#include <grpcpp/impl/queued_message.h>
#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <optional>

namespace grpc {

class ChannelInterface;
class ClientContext;
class CompletionQueue;

namespace internal {

class queue_stream {
 public:
  virtual ~queue_stream() = default;
  // Without a tag, without an event.
  virtual void start(std::optional<void*> tag) = 0;
  // Both, with one event.
  virtual void start_and_read_initial_metadata(void* tag) = 0;
  virtual void read_initial_metadata(void* tag) = 0;
  // After the event of the initial metadata: whether the call ended without them (Trailers-Only).
  [[nodiscard]] virtual bool trailers_only() const noexcept = 0;
  virtual void read(const message_target& into, void* tag) = 0;
  virtual void write(serialized_message&& message, const WriteOptions& options, void* tag) = 0;
  virtual void writes_done(void* tag) = 0;
  // `reply` is empty if the call has many.
  virtual void finish(const message_target& reply, Status* status, void* tag) = 0;
};

class queue_unary {
 public:
  virtual ~queue_unary() = default;
  virtual void read_initial_metadata(void* tag) = 0;
  virtual void finish(const message_target& reply, Status* status, void* tag) = 0;
};

// What a call is made with; the objects last as long as the call.
struct queue_call_parts {
  ChannelInterface* channel;
  CompletionQueue* queue;
  RpcMethod method;
  ClientContext* context;
};

// Calls that no interceptors see. A stream with one request is given it here.
std::shared_ptr<queue_stream> make_plain_stream(const queue_call_parts& of,
                                                std::optional<serialized_message>&& request);
std::shared_ptr<queue_unary> make_plain_unary(const queue_call_parts& of, serialized_message&& request);
// Calls that they see.
std::shared_ptr<queue_stream> make_intercepted_stream(const queue_call_parts& of,
                                                      std::optional<serialized_message>&& request,
                                                      std::shared_ptr<call_interception> by);
std::shared_ptr<queue_unary> make_intercepted_unary(const queue_call_parts& of, serialized_message&& request,
                                                    std::shared_ptr<call_interception> by);

}  // namespace internal
}  // namespace grpc
