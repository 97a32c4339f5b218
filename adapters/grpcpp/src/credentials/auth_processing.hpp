// auth_processing: runs an AuthMetadataProcessor before the calls of a server.
#pragma once

#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/auth_metadata_processor.h>

#include "coracle/server/server_interceptor.hpp"

#include <map>
#include <memory>
#include <string>

namespace grpc::internal {

// What a processor has said about a call. The handler's context takes it.
struct processed_auth {
  std::shared_ptr<const AuthContext> context;
  AuthMetadataProcessor::OutputMetadata consumed;
};

// An interceptor of the calls that come over TLS.
class auth_processing final : public coracle::server_interceptor {
 public:
  explicit auth_processing(std::shared_ptr<AuthMetadataProcessor> by) : by_(std::move(by)) {}
  coracle::task<coracle::status> intercept(coracle::server_context& call,
                                           coracle::next_handler next) override;
  // On the loop of the call: what was said about it; null if nothing was. Once.
  [[nodiscard]] static std::unique_ptr<processed_auth> take(const coracle::server_context& call);

 private:
  const std::shared_ptr<AuthMetadataProcessor> by_;
};

}  // namespace grpc::internal
