// Calls of a client with messages as bytes: the core below the typed classes.
#pragma once

#include <grpcpp/impl/call_op_set.h>
#include <grpcpp/impl/channel_interface.h>
#include <grpcpp/impl/interception.h>
#include <grpcpp/impl/proto_utils.h>
#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>

namespace coracle {
class message_sink;
}

namespace grpc::internal {

class client_stream_core;  // private: src/client/client_stream_core.hpp

// Makes a unary call and blocks until it has ended. `reply` is set if the status is OK.
Status blocking_unary(ChannelInterface* channel, const RpcMethod& method, ClientContext* context,
                      std::string&& request, std::string& reply);

// The only request of a call, and how it becomes bytes. Refers to the message.
struct serialized_request {
  const void* message;
  Status (*serialize)(const void* message, std::string& to);
  template <class Message>
  static serialized_request of(const Message& m) {
    return {&m, [](const void* from, std::string& to) { return to_bytes<Message>(*static_cast<const Message*>(from), to); }};
  }
};

// A streaming call of any kind. It begins at once. Its operations block; one thread may read while another
// one writes.
class client_stream {
 public:
  client_stream(ChannelInterface* channel, const RpcMethod& method, ClientContext* context);
  // With the only request of the call.
  client_stream(ChannelInterface* channel, const RpcMethod& method, ClientContext* context,
                const serialized_request& only_request);

  static constexpr bool is_server = false;
  // Null if no interceptors see the call.
  [[nodiscard]] call_interception* interception() const { return seen_; }

  void wait_for_initial_metadata();
  // False: there is no message any more.
  bool read(std::string& into);
  // False: the call is over.
  bool write(std::string&& message, const WriteOptions& options);
  bool writes_done();
  Status finish();
  // The same for a call with one reply. `has_reply` tells whether it came.
  Status finish(std::string& reply, bool& has_reply);
  Status intercepted_finish(call_interception& seen, void* reply,
                            Status (*decode)(std::string&& bytes, void* into));

 private:
  // Has the interceptors see the beginning of the call. False: one of them has taken it over.
  bool begin_intercepted(const serialized_request* request, std::string& bytes);
  Status finish_call();
  Status end(coracle::message_sink* reply, bool& has_reply);
  ClientContext* context_;
  call_interception* seen_;
  Status failure_;  // of a call that could not be made
  std::shared_ptr<client_stream_core> core_;
};

}  // namespace grpc::internal
