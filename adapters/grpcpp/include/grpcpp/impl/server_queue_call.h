// server_queue_call: a call of a server in the completion-queue API, with messages as bytes: the core below the
// typed classes.
#pragma once

#include <grpcpp/impl/call_op_set.h>
#include <grpcpp/impl/queued_message.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>

namespace grpc {

class CompletionQueue;
class ServerContext;

namespace internal {

class call_interception;
class intercepted_server_call;  // private: src/interceptors/intercepted_server_call.hpp
class queue_core;  // private: src/queue/queue_core.hpp
class server_call_core;  // private: src/server/server_call_core.hpp
class requested_calls;  // private: src/server/requested_calls.hpp
class ServerAsyncStreamingInterface;

// Has a call when the event of its request was taken; operations fail before. Each puts an event with `tag`
// into the queue of the call, whose `ok` is false if the call is over.
class server_queue_call {
 public:
  explicit server_queue_call(ServerContext& context) : context_(context) {}

  void send_initial_metadata(void* tag);
  void read(const message_target& into, void* tag);
  void write(serialized_message&& message, const WriteOptions& options, void* tag);
  void finish(const Status& outcome, void* tag);
  // The end of a call that has one reply, which is sent if the status is OK.
  void finish(serialized_message&& reply, const Status& outcome, void* tag);
  void write_and_finish(serialized_message&& last, const WriteOptions& options, const Status& outcome,
                        void* tag);

  // For the library. `seen` is null if no interceptors see the call.
  void bind(std::shared_ptr<server_call_core> call, std::shared_ptr<queue_core> queue,
            std::shared_ptr<call_interception> seen);

 private:
  ServerContext& context_;
  std::shared_ptr<server_call_core> call_;
  std::shared_ptr<queue_core> queue_;
  std::shared_ptr<intercepted_server_call> seen_;
};

// What a program gives for the next call of a method.
struct wanted_call {
  ServerContext* context = nullptr;
  message_target request;  // empty for a stream of requests
  ServerAsyncStreamingInterface* stream = nullptr;
  CompletionQueue* call_queue = nullptr;
  CompletionQueue* notification_queue = nullptr;
  void* tag = nullptr;
  std::string* method = nullptr;  // set to that of the call, unless null
};
// Any thread. The event has `ok` true if there is a call, false if the server is shut down, or null.
void request_call(const std::shared_ptr<requested_calls>& from, const wanted_call& wanted);

}  // namespace internal
}  // namespace grpc
