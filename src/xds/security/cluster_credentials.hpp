// cluster_credentials: the TLS that the connections to the servers of a cluster have (gRFC A29).
#pragma once

#include "client/balancing/subchannel.hpp"
#include "coracle/base/result.hpp"
#include "coracle/security/credentials.hpp"
#include "coracle/tls/client_options.hpp"
#include "xds/bootstrap/bootstrap.hpp"
#include "xds/resource/upstream_tls.hpp"
#include "xds/security/retried_credentials.hpp"

#include <map>
#include <memory>
#include <string>

namespace coracle::xds {

// The options for files of the bootstrap: without authorities, those of the system are trusted. The bundles
// of trust domains come before a file of authorities (gRFC A87).
[[nodiscard]] tls::client_options client_options_of(const certificate_files& files);
// Why a provider of the bootstrap cannot be used: its file of that name is missing.
[[nodiscard]] status missing_file(const provider_instance& named, const char* file);
// For a control plane (gRFC A65). If a file cannot be used, they hold the error.
[[nodiscard]] channel_credentials credentials_of(const certificate_files& files);

// Files that could not be used are tried again for each connection.
class cluster_credentials final : public client::changing_credentials {
 public:
  // checks_host: the certificate must have the name that is sent by SNI, instead of one of `of`.
  cluster_credentials(const upstream_tls& of, bool checks_host, const bootstrap& from);

  channel_credentials credentials() override { return built_.get(); }

 private:
  retried_credentials<tls::client_options, security::client_security> built_;
};

// The credentials of the clusters of a channel. Those of a cluster stay the same object while its
// configuration does, with the sessions that they keep. On one loop.
class credentials_by_cluster {
 public:
  explicit credentials_by_cluster(std::shared_ptr<const bootstrap> from) : from_(std::move(from)) {}

  // The security of the cluster's servers; `hostname` is that of the endpoint, and may be empty.
  [[nodiscard]] client::server_security of(const std::string& cluster, const upstream_tls& config,
                                           const std::string& hostname);
  // Forgets the clusters that of() was not called for since the last call.
  void end_unused();

 private:
  struct entry {
    upstream_tls config;
    std::shared_ptr<cluster_credentials> by_names;
    std::shared_ptr<cluster_credentials> by_host;
    bool used = false;
  };

  const std::shared_ptr<const bootstrap> from_;
  std::map<std::string, entry, std::less<>> clusters_;
};

}  // namespace coracle::xds
