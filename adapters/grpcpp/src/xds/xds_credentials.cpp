// XdsCredentials() and XdsServerCredentials().
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include "adapters/grpcpp/src/credentials/credentials_core.hpp"

#include "coracle/xds/credentials.hpp"

#include <memory>
#include <utility>

namespace grpc {

std::shared_ptr<ChannelCredentials> XdsCredentials(const std::shared_ptr<ChannelCredentials>& fallback) {
  if (!fallback) return nullptr;
  auto core = std::make_shared<internal::channel_credentials_core>(fallback->core());
  core->with_control_plane = coracle::xds_credentials;
  return std::make_shared<ChannelCredentials>(std::move(core));
}

std::shared_ptr<ServerCredentials> XdsServerCredentials(const std::shared_ptr<ServerCredentials>& fallback) {
  if (!fallback) return nullptr;
  auto core = std::make_shared<internal::server_credentials_core>(
      coracle::xds_server_credentials(fallback->core().made));
  core->processor = fallback->core().processor;
  return std::make_shared<ServerCredentials>(std::move(core));
}

}  // namespace grpc
