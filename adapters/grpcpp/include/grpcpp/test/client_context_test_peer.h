// ClientContextTestPeer: what tests of a client's code read and write of its context.
#pragma once

#include <grpcpp/client_context.h>

#include <map>
#include <string>

namespace grpc::testing {

class ClientContextTestPeer {
 public:
  explicit ClientContextTestPeer(ClientContext* of) : of_(of) {}
  /// Adds what GetServerInitialMetadata() returns.
  void AddServerInitialMetadata(const std::string& key, const std::string& value) {
    of_->initial_.add(key, value);
  }
  std::multimap<std::string, std::string> GetSendInitialMetadata() const {
    return {of_->sent_.begin(), of_->sent_.end()};
  }

 private:
  ClientContext* of_;
};

}  // namespace grpc::testing
