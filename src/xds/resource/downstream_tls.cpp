#include "xds/resource/downstream_tls.hpp"

#include "base/printable.hpp"
#include "xds/resource/common_tls.hpp"
#include "xds/resource/wire_values.hpp"
#include "xds/wire/listener.pb.h"

namespace coracle::xds {

downstream_tls read_downstream_tls(const google::protobuf::Any& from, const certificate_providers& has,
                                   const field_path& top) {
  if (type_of(from) != "envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext")
    top.refuse("is of an unexpected type: " + base::printable(type_of(from)));
  const auto context = unpacked<wire::DownstreamTlsContext>(from, top);
  if (!context.has_common_tls_context()) top.refuse("has no common_tls_context");
  if (context.require_sni().value()) top.at("require_sni").refuse("is not supported");
  if (context.ocsp_staple_policy() != 0) top.at("ocsp_staple_policy").refuse("must be LENIENT_STAPLING");
  const field_path at = top.at("common_tls_context");
  regex_allowance none{0};  // names of clients are refused
  const common_tls common = read_common_tls(context.common_tls_context(), has, none, at);
  if (!common.certificate) at.refuse("names no certificate provider of the server's certificate");
  if (common.matches_names) at.refuse("has match_subject_alt_names, which is not supported for servers");
  if (common.system_authorities && !common.authorities)
    at.refuse("has system_root_certs, which is not supported for servers");
  downstream_tls to;
  to.certificate = *common.certificate;
  to.authorities = common.authorities;
  to.requires_client_certificate = context.require_client_certificate().value();
  if (to.requires_client_certificate && !to.authorities)
    top.at("require_client_certificate").refuse("needs a certificate provider of authorities");
  return to;
}

}  // namespace coracle::xds
