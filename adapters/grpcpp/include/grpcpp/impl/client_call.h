// Calls of a client with messages as bytes: the core below the typed classes.
#pragma once

#include <grpcpp/impl/call_op_set.h>
#include <grpcpp/impl/channel_interface.h>
#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>

namespace coracle {
class bytes_message;
}

namespace grpc::internal {

class client_stream_core;  // private: src/client_stream_core.hpp

// Makes a unary call and blocks until it has ended. `reply` is set if the status is OK.
Status blocking_unary(ChannelInterface* channel, const RpcMethod& method, ClientContext* context,
                      std::string&& request, std::string& reply);

// A streaming call of any kind. It begins at once. Its operations block; one thread may read while another
// one writes.
class client_stream {
 public:
  client_stream(ChannelInterface* channel, const RpcMethod& method, ClientContext* context);
  // With the only request of the call, or the reason why there is none.
  client_stream(ChannelInterface* channel, const RpcMethod& method, ClientContext* context,
                std::string&& only_request, const Status& serialized);

  void wait_for_initial_metadata();
  // False: there is no message any more.
  bool read(std::string& into);
  // False: the call is over.
  bool write(std::string&& message, const WriteOptions& options);
  bool writes_done();
  Status finish();
  // The same for a call with one reply. `has_reply` tells whether it came.
  Status finish(std::string& reply, bool& has_reply);

 private:
  Status end(coracle::bytes_message* reply, bool& has_reply);
  ClientContext* context_;
  Status failure_;  // of a call that could not be made
  std::shared_ptr<client_stream_core> core_;
};

}  // namespace grpc::internal
