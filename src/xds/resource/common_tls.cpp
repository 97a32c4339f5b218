#include "xds/resource/common_tls.hpp"

#include "base/printable.hpp"
#include "xds/wire/cluster.pb.h"

namespace coracle::xds {

namespace {

provider_instance instance_of(const wire::ProviderInstance& from, const certificate_providers& has,
                              const field_path& at) {
  if (!has || !has(from.instance_name()))
    at.refuse("names a certificate provider that the bootstrap does not have: \"" +
              base::printable(from.instance_name()) + "\"");
  return {from.instance_name(), from.certificate_name()};
}

void read_validation(const wire::ValidationContext& from, const certificate_providers& has,
                     regex_allowance& regexes, const field_path& at, common_tls& to) {
  if (from.verify_certificate_hash_size() > 0) at.at("verify_certificate_hash").refuse("is not supported");
  if (from.verify_certificate_spki_size() > 0) at.at("verify_certificate_spki").refuse("is not supported");
  if (from.require_signed_certificate_timestamp().value())
    at.at("require_signed_certificate_timestamp").refuse("is not supported");
  if (from.has_crl()) at.at("crl").refuse("is not supported");
  if (from.has_custom_validator_config()) at.at("custom_validator_config").refuse("is not supported");
  to.matches_names = from.match_subject_alt_names_size() > 0;
  matcher_reader reader(regexes);
  for (int i = 0; i < from.match_subject_alt_names_size(); ++i) {
    const field_path here = at.at("match_subject_alt_names", static_cast<std::size_t>(i));
    to.subject_names.push_back(reader.text(from.match_subject_alt_names(i), here));
  }
  if (from.has_ca_certificate_provider_instance())
    to.authorities =
        instance_of(from.ca_certificate_provider_instance(), has, at.at("ca_certificate_provider_instance"));
  to.system_authorities = from.has_system_root_certs();
}

}  // namespace

common_tls read_common_tls(const wire::CommonTlsContext& common, const certificate_providers& has,
                           regex_allowance& regexes, const field_path& at) {
  common_tls to;
  if (common.has_tls_params()) at.at("tls_params").refuse("is not supported");
  if (common.has_custom_handshaker()) at.at("custom_handshaker").refuse("is not supported");
  if (common.has_tls_certificate_provider_instance()) {
    to.certificate = instance_of(common.tls_certificate_provider_instance(), has,
                                 at.at("tls_certificate_provider_instance"));
  } else if (common.tls_certificates_size() > 0 || common.tls_certificate_sds_secret_configs_size() > 0) {
    at.refuse(
        "has tls_certificates or tls_certificate_sds_secret_configs: the expected field "
        "tls_certificate_provider_instance is not set, "
        "while unsupported field tls_certificates or tls_certificate_sds_secret_configs is set");
  } else if (common.has_tls_certificate_certificate_provider_instance()) {
    to.certificate = instance_of(common.tls_certificate_certificate_provider_instance(), has,
                                 at.at("tls_certificate_certificate_provider_instance"));
  }

  switch (common.validation_case()) {
    case wire::CommonTlsContext::kValidationContext:
      read_validation(common.validation_context(), has, regexes, at.at("validation_context"), to);
      break;
    case wire::CommonTlsContext::kCombinedValidationContext: {
      const wire::CombinedValidationContext& combined = common.combined_validation_context();
      const field_path here = at.at("combined_validation_context");
      read_validation(combined.default_validation_context(), has, regexes,
                      here.at("default_validation_context"), to);
      if (!to.authorities && combined.has_validation_context_certificate_provider_instance()) {
        to.authorities = instance_of(combined.validation_context_certificate_provider_instance(), has,
                                     here.at("validation_context_certificate_provider_instance"));
      }
      break;
    }
    case wire::CommonTlsContext::kValidationContextSdsSecretConfig:
      at.at("validation_context_sds_secret_config").refuse("is not supported");
    case wire::CommonTlsContext::kValidationContextCertificateProviderInstance:
      to.authorities = instance_of(common.validation_context_certificate_provider_instance(), has,
                                   at.at("validation_context_certificate_provider_instance"));
      break;
    default: break;
  }
  return to;
}

}  // namespace coracle::xds
