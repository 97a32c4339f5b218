#include "xds/security/cluster_credentials.hpp"

#include "base/printable.hpp"
#include "client/naming/host_and_port.hpp"
#include "coracle/net/address.hpp"
#include "xds/security/subject_names.hpp"

#include <utility>

namespace coracle::xds {

namespace {

std::string all_names(const std::vector<peer_identity>& names) {
  std::string text;
  for (const peer_identity& name : names)
    if (name.type() != peer_identity::kind::common_name)
      text.append(text.empty() ? "" : ", ").append(base::printable(name.value()));
  return text.empty() ? "none" : text;
}

result<tls::client_options> options_for(const upstream_tls& of, bool checks_host, const bootstrap& from) {
  certificate_files files;
  if (of.authorities) {
    const auto found = from.certificate_providers.find(of.authorities->instance);
    if (found == from.certificate_providers.end() || !found->second.has_authorities())
      return missing_file(*of.authorities, "ca_certificate_file");
    files.authorities = found->second.authorities;
    files.spiffe_trust_bundles = found->second.spiffe_trust_bundles;
  }
  if (of.certificate) {
    const auto found = from.certificate_providers.find(of.certificate->instance);
    if (found == from.certificate_providers.end() || found->second.certificate.empty())
      return missing_file(*of.certificate, "certificate_file");
    files.certificate = found->second.certificate;
    files.private_key = found->second.private_key;
  }
  tls::client_options options = client_options_of(files);
  // The control plane that rewrites authorities also says which names are accepted (gRFC A81).
  options.verify_authority = false;
  if (checks_host) return options;
  options.verify_name = false;
  if (of.subject_names.empty()) {
    // The authorities of a provider may be the mesh's own; those of the system sign for any name.
    if (of.authorities) return options;
    return status::unavailable(
        "the control plane gives the cluster the authorities of the system and no name to check, so that "
        "every "
        "public certificate would do: set match_subject_alt_names, or sni with auto_sni_san_validation");
  }
  options.verifier = [accepted = of.subject_names](const tls::peer_certificate& server) {
    if (has_accepted_name(accepted, server.identities())) return status();
    return status::unauthenticated(
        "none of its subjectAltNames matches those that the control plane accepts for the cluster; it has " +
        all_names(server.identities()));
  };
  return options;
}

}  // namespace

status missing_file(const provider_instance& named, const char* file) {
  return status::unavailable("the certificate provider \"" + base::printable(named.instance) +
                             "\" of the bootstrap has no " + file +
                             ", which the control plane requires of it; add it to its config");
}

tls::client_options client_options_of(const certificate_files& files) {
  tls::client_options options;
  options.spiffe_bundle_map = files.spiffe_trust_bundles;
  if (!files.authorities.empty()) options.cas = {tls::pem_source::file(files.authorities)};
  if (!files.certificate.empty())
    options.certificate = tls::key_pair::files(files.certificate, files.private_key);
  return options;
}

channel_credentials credentials_of(const certificate_files& files) { return client_options_of(files); }

cluster_credentials::cluster_credentials(const upstream_tls& of, bool checks_host, const bootstrap& from)
    : built_(options_for(of, checks_host, from)) {}

// SNI is the endpoint's name, if the cluster wants that, or else the cluster's (gRFC A101).
client::server_security credentials_by_cluster::of(const std::string& cluster, const upstream_tls& config,
                                                   const std::string& hostname) {
  entry& known = clusters_[cluster];
  if (known.config != config) known = {config, nullptr, nullptr};
  known.used = true;
  std::string host = config.sends_hostname && !hostname.empty() ? hostname : config.server_name;
  // SNI has no IP addresses (RFC 6066 3): none is sent, and the cluster's matchers decide.
  const auto parts = client::split_host_and_port(host);
  const bool is_v6 = parts && parts->host.find(':') != parts->host.npos;
  const bool is_address = is_v6 || (parts && net::address::parse(parts->host + ":0").ok());
  const bool checks_host = config.checks_server_name && !host.empty() && !is_address;
  std::shared_ptr<cluster_credentials>& found = checks_host ? known.by_host : known.by_names;
  if (!found) found = std::make_shared<cluster_credentials>(config, checks_host, *from_);
  return {found, std::move(host)};
}

void credentials_by_cluster::end_unused() {
  std::erase_if(clusters_, [](const auto& c) { return !c.second.used; });
  for (auto& [name, e] : clusters_) e.used = false;
}

}  // namespace coracle::xds
