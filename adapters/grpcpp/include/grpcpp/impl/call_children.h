// call_children: the calls of clients that end with a call of a server.
#pragma once

#include <grpcpp/impl/one_library.h>

#include <mutex>
#include <unordered_set>

namespace grpc {

class ClientContext;

namespace internal {

// Shared by the call of the server and the contexts. Any thread.
class call_children {
 public:
  void add(ClientContext& child);
  void remove(ClientContext& child);
  // Cancels the children, and those that are added later.
  void end() noexcept;

 private:
  std::mutex changing_;
  std::unordered_set<ClientContext*> all_;
  bool ended_ = false;
};

}  // namespace internal
}  // namespace grpc
