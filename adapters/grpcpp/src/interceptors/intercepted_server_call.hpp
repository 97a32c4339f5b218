// intercepted_server_call: a call of a server in the completion-queue API that interceptors see.
#pragma once

#include <grpcpp/impl/interception.h>
#include <grpcpp/impl/server_queue_call.h>

#include "adapters/grpcpp/src/queue/queue_core.hpp"

#include <memory>
#include <optional>

namespace grpc::internal {

class intercepted_operation;

// The operations of server_queue_call, around those of a plain one.
class intercepted_server_call final : public std::enable_shared_from_this<intercepted_server_call> {
 public:
  intercepted_server_call(ServerContext& context, std::shared_ptr<server_call_core> call,
                          std::shared_ptr<queue_core> queue, std::shared_ptr<call_interception> by);

  void send_initial_metadata(void* tag);
  void read(const message_target& into, void* tag);
  void write(serialized_message&& message, const WriteOptions& options, void* tag);
  // `reply` is null if the call has none, or the status is not OK.
  void finish(std::optional<serialized_message>&& reply, const Status& outcome, void* tag);
  void write_and_finish(serialized_message&& last, const WriteOptions& options, const Status& outcome,
                        void* tag);

 private:
  std::unique_ptr<intercepted_operation> make(void* tag);
  const std::shared_ptr<server_call_core> call_;
  server_queue_call plain_;
  const std::weak_ptr<queue_core> queue_;  // which owns operations that refer to this
  const std::shared_ptr<call_interception> seen_;
};

// Adds the initial metadata of a server to the first batch that sends anything.
void send_first(call_interception& by, interceptor_batch& b);

}  // namespace grpc::internal
