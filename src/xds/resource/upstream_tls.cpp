#include "xds/resource/upstream_tls.hpp"

#include "xds/resource/common_tls.hpp"
#include "xds/wire/cluster.pb.h"

#include <utility>

namespace coracle::xds {

upstream_tls read_upstream_tls(const wire::UpstreamTlsContext& from, const certificate_providers& has,
                               regex_allowance& regexes, const field_path& top) {
  constexpr std::size_t server_name_bytes_max = 255;
  upstream_tls to;
  if (!from.has_common_tls_context()) top.refuse("has no common_tls_context");
  if (from.sni().size() > server_name_bytes_max) top.at("sni").refuse("must have at most 255 bytes");
  to.server_name = from.sni();
  to.sends_hostname = from.auto_host_sni();
  to.checks_server_name = from.auto_sni_san_validation();

  const field_path at = top.at("common_tls_context");
  common_tls common = read_common_tls(from.common_tls_context(), has, regexes, at);
  to.authorities = std::move(common.authorities);
  to.certificate = std::move(common.certificate);
  to.subject_names = std::move(common.subject_names);
  if (!to.authorities && !common.system_authorities)
    at.refuse("names neither a certificate provider of authorities nor system_root_certs");
  return to;
}

}  // namespace coracle::xds
