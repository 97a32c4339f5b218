// ResourceQuota: limits of a server.
#pragma once

#include <grpcpp/support/config.h>

#include <cstddef>
#include <string>

namespace grpc {

/// Limits the memory and the threads of a server: ServerBuilder::SetResourceQuota().
class ResourceQuota final {
 public:
  ResourceQuota() = default;
  explicit ResourceQuota(const std::string& /*name*/) {}
  /// The maximum memory of its connections, in bytes.
  ResourceQuota& Resize(std::size_t bytes) { return bytes_ = bytes, *this; }
  /// The maximum number of handlers that run at once. A call above it ends with RESOURCE_EXHAUSTED.
  ResourceQuota& SetMaxThreads(int threads) { return threads_ = threads, *this; }

  // For the library; 0 means that it was not set.
  std::size_t bytes() const { return bytes_; }
  int threads() const { return threads_; }

 private:
  std::size_t bytes_ = 0;
  int threads_ = 0;
};

}  // namespace grpc
