// ServerContextTestSpouse: what tests of a handler read and write of the context that they give it.
#pragma once

#include <grpcpp/server_context.h>

#include <map>
#include <string>

namespace grpc::testing {

/// For a context that belongs to no call.
class ServerContextTestSpouse {
 public:
  explicit ServerContextTestSpouse(ServerContext* of) : of_(of) {}
  /// Adds what client_metadata() returns.
  void AddClientMetadata(const std::string& key, const std::string& value) { of_->of_test_.add(key, value); }
  std::multimap<std::string, std::string> GetInitialMetadata() const {
    return {of_->initial_.begin(), of_->initial_.end()};
  }
  std::multimap<std::string, std::string> GetTrailingMetadata() const {
    return {of_->trailing_.begin(), of_->trailing_.end()};
  }

 private:
  ServerContextBase* of_;
};

}  // namespace grpc::testing
