// Calls of the completion-queue API of a client with messages as bytes: the core below the typed classes.
#pragma once

#include <grpcpp/impl/call_op_set.h>
#include <grpcpp/impl/channel_interface.h>
#include <grpcpp/impl/queued_message.h>
#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>
#include <utility>

namespace grpc {

class ClientContext;
class CompletionQueue;

namespace internal {

class queue_unary;  // private: src/client/queue_call_operations.hpp
class queue_stream;  // private: src/client/queue_call_operations.hpp

// A unary call. Its handle may be destroyed before the call has ended.
class client_queue_unary {
 public:
  client_queue_unary(ChannelInterface* channel, CompletionQueue* queue, const RpcMethod& method,
                     ClientContext* context, serialized_message&& request);
  // Begins nothing: the first of the operations does.
  void read_initial_metadata(void* tag);
  void finish(const message_target& reply, Status* status, void* tag);

 private:
  std::shared_ptr<queue_unary> core_;
};

// A streaming call of any kind. Its handle may be destroyed before the call has ended.
class client_queue_stream {
 public:
  client_queue_stream(ChannelInterface* channel, CompletionQueue* queue, const RpcMethod& method,
                      ClientContext* context);
  // With the only request of the call.
  client_queue_stream(ChannelInterface* channel, CompletionQueue* queue, const RpcMethod& method,
                      ClientContext* context, serialized_message&& request);
  void start(void* tag);
  // Both, with one event.
  void start_and_read_initial_metadata(void* tag);
  void read_initial_metadata(void* tag);
  // After that event: whether the call ended without initial metadata.
  bool trailers_only() const noexcept;
  void read(const message_target& into, void* tag);
  void write(serialized_message&& message, const WriteOptions& options, void* tag);
  void writes_done(void* tag);
  void finish(Status* status, void* tag);
  // The same for a call with one reply.
  void finish(const message_target& reply, Status* status, void* tag);

 private:
  std::shared_ptr<queue_stream> core_;
  const ClientContext* writes_with_ = nullptr;  // null: the call has only its request
};

}  // namespace internal
}  // namespace grpc
