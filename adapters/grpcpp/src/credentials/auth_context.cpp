#include "adapters/grpcpp/src/credentials/auth_context.hpp"

namespace grpc::internal {

own_auth_context::own_auth_context(const coracle::auth_context& of) {
  using kind = coracle::peer_identity::kind;
  AddProperty(GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME, GRPC_SSL_TRANSPORT_SECURITY_TYPE);
  AddProperty(GRPC_TRANSPORT_SECURITY_LEVEL_PROPERTY_NAME, "TSI_PRIVACY_AND_INTEGRITY");
  AddProperty(GRPC_SSL_SESSION_REUSED_PROPERTY, of.resumed() ? "true" : "false");
  if (!of.peer_verified()) return;
  for (const coracle::peer_identity& i : of.identities()) {
    if (i.type() == kind::common_name) {
      AddProperty(GRPC_X509_CN_PROPERTY_NAME, i.value());
      continue;
    }
    AddProperty(GRPC_X509_SAN_PROPERTY_NAME, i.value());
    switch (i.type()) {
      case kind::dns_name: AddProperty(GRPC_PEER_DNS_PROPERTY_NAME, i.value()); break;
      case kind::ip_address: AddProperty(GRPC_PEER_IP_PROPERTY_NAME, i.value()); break;
      case kind::email: AddProperty(GRPC_PEER_EMAIL_PROPERTY_NAME, i.value()); break;
      default:
        AddProperty(GRPC_PEER_URI_PROPERTY_NAME, i.value());
        if (i.value().starts_with("spiffe://")) AddProperty(GRPC_PEER_SPIFFE_ID_PROPERTY_NAME, i.value());
        break;
    }
  }
  // The peer's own certificate is the first of the chain.
  constexpr std::string_view last_line = "-----END CERTIFICATE-----\n";
  const std::string& pem = of.peer_certificates_pem();
  if (const auto at = pem.find(last_line); at != pem.npos)
    AddProperty(GRPC_X509_PEM_CERT_PROPERTY_NAME, pem.substr(0, at + last_line.size()));
  AddProperty(GRPC_X509_PEM_CERT_CHAIN_PROPERTY_NAME, pem);
  if (!SetPeerIdentityPropertyName(GRPC_X509_SAN_PROPERTY_NAME))
    SetPeerIdentityPropertyName(GRPC_X509_CN_PROPERTY_NAME);
}

std::vector<string_ref> own_auth_context::FindPropertyValues(const std::string& name) const {
  std::vector<string_ref> found;
  for (const auto& [key, value] : properties_)
    if (key == name) found.emplace_back(value);
  return found;
}

bool own_auth_context::SetPeerIdentityPropertyName(const std::string& name) {
  for (const auto& property : properties_) {
    if (property.first != name) continue;
    identity_ = name;
    return true;
  }
  return false;
}

}  // namespace grpc::internal
