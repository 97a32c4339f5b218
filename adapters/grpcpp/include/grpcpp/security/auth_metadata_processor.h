// AuthMetadataProcessor: authenticates calls by their metadata.
#pragma once

#include <grpcpp/security/auth_context.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/string_ref.h>

#include <map>
#include <string>

namespace grpc {

/// Given to ServerCredentials::SetAuthMetadataProcessor(). Several threads call it at the same time.
class AuthMetadataProcessor {
 public:
  using InputMetadata = std::multimap<string_ref, string_ref>;
  using OutputMetadata = std::multimap<std::string, std::string>;

  virtual ~AuthMetadataProcessor() = default;
  /// True: Process() runs on a thread that it may block. False: on the thread of the connection.
  virtual bool IsBlocking() const { return true; }
  /// Runs before the handler of each call, health and reflection included. A status that is not OK ends the
  /// call.
  ///
  /// auth_metadata: the metadata of the call, and ":path". context: what the call's
  /// ServerContext::auth_context() will be; properties that are added identify the caller. The handler does not
  /// see the pairs that are added to consumed_auth_metadata. response_metadata has no effect, as in grpc++.
  virtual Status Process(const InputMetadata& auth_metadata, AuthContext* context,
                         OutputMetadata* consumed_auth_metadata, OutputMetadata* response_metadata) = 0;
};

}  // namespace grpc
