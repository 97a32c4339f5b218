#include "tls/handshake_result.hpp"

#include <openssl/err.h>
#include <openssl/sslerr.h>
#include <openssl/x509_vfy.h>

#include <cerrno>

namespace coracle::tls {

namespace {

// What this side found wrong with the peer's certificate; empty if nothing.
std::string_view name_of_verification(long result) noexcept {
  switch (result) {
    case X509_V_OK: return {};
    case X509_V_ERR_CERT_HAS_EXPIRED: return "CERTIFICATE_EXPIRED";
    case X509_V_ERR_CERT_NOT_YET_VALID: return "CERTIFICATE_NOT_YET_VALID";
    case X509_V_ERR_CERT_REVOKED: return "CERTIFICATE_REVOKED";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: return "CERTIFICATE_HOSTNAME_MISMATCH";
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_INVALID_CA:
    case X509_V_ERR_CERT_UNTRUSTED: return "CERTIFICATE_AUTHORITY_INVALID";
    case X509_V_ERR_UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY:
    case X509_V_ERR_ERROR_IN_CERT_NOT_BEFORE_FIELD:
    case X509_V_ERR_ERROR_IN_CERT_NOT_AFTER_FIELD: return "CERTIFICATE_MALFORMED";
    default: return "CERTIFICATE_VERIFICATION_FAILED";
  }
}

std::string_view name_of_reason(int reason) noexcept {
  switch (reason) {
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE: return "CERTIFICATE_VERIFICATION_FAILED";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED: return "CERTIFICATE_REVOKED";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED: return "CERTIFICATE_EXPIRED";
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA: return "CERTIFICATE_AUTHORITY_INVALID";
    case SSL_R_TLSV1_UNRECOGNIZED_NAME: return "CERTIFICATE_HOSTNAME_MISMATCH";
    case SSL_R_NO_SHARED_CIPHER:
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE: return "CIPHER_SUITE_MISMATCH";
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION: return "PROTOCOL_VERSION_UNSUPPORTED";
    case SSL_R_INAPPROPRIATE_FALLBACK:
    case SSL_R_TLSV1_ALERT_INAPPROPRIATE_FALLBACK: return "INAPPROPRIATE_FALLBACK";
    case SSL_R_NO_APPLICATION_PROTOCOL:
    case SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: return "NO_APPLICATION_PROTOCOL";
    case SSL_R_BAD_SIGNATURE: return "SIGNATURE_VERIFICATION_FAILED";
    case SSL_R_DECRYPTION_FAILED:
    case SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC:
    case SSL_R_SSLV3_ALERT_BAD_RECORD_MAC:
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR: return "DECRYPTION_FAILED";
    case SSL_R_BAD_KEY_SHARE:
    case SSL_R_NO_SUITABLE_KEY_SHARE: return "KEY_EXCHANGE_FAILURE";
    case SSL_R_UNEXPECTED_MESSAGE:
    case SSL_R_SSLV3_ALERT_UNEXPECTED_MESSAGE: return "UNEXPECTED_MESSAGE";
    default: return "UNKNOWN_FAILURE";
  }
}

}  // namespace

std::string_view name_of_failure(const SSL& connection, std::int64_t error, unsigned long queued) noexcept {
  if (error == -ETIMEDOUT) return "HANDSHAKE_TIMEOUT";
  const std::string_view verification = name_of_verification(SSL_get_verify_result(&connection));
  if (!verification.empty()) return verification;
  if (queued != 0 && ERR_GET_LIB(queued) == ERR_LIB_SSL) return name_of_reason(ERR_GET_REASON(queued));
  if (error == -ECONNABORTED || error == -ECONNRESET) return "PEER_CONNECTION_CLOSED";
  return "UNKNOWN_FAILURE";
}

}  // namespace coracle::tls
