#include "tls/error_queue.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/sslerr.h>
#include <cstring>

namespace coracle::tls {

std::string take_error(const char* otherwise) {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return otherwise;
  if (ERR_SYSTEM_ERROR(code)) return std::strerror(ERR_GET_REASON(code));
  const char* reason = ERR_reason_error_string(code);
  return reason ? reason : otherwise;
}

namespace {

// Explains a reason in terms of the peer; null: OpenSSL's own text is sufficient.
const char* known(int reason, bool server) noexcept {
  switch (reason) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
      return server ? "the client does not use TLS (is it configured for plaintext?)"
                    : "the server does not use TLS (is it configured for plaintext?)";
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION: return "the peer does not support TLS 1.2 or newer";
    case SSL_R_NO_APPLICATION_PROTOCOL:
      return "the client offers neither HTTP/2 nor HTTP/1.1 (ALPN h2, http/1.1)";
    case SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL:
      return "the server does not support the client's version of HTTP over TLS (ALPN): does it serve gRPC?";
    case SSL_R_NO_SHARED_CIPHER:
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
      return "the peers have no TLS cipher suite or other TLS parameter in common";
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return "the client sent no certificate, and the server requires one";
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      return "the server requires a client certificate: set one with client_options::certificate";
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
      return server ? "the client does not accept the server's certificate"
                    : "the server does not accept the client's certificate";
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
      return server ? "the client does not trust the CA of the server's certificate"
                    : "the server does not trust the CA of the client's certificate";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
      return server ? "the client reports that the server's certificate is revoked"
                    : "the server reports that the client's certificate is revoked";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      return server ? "the client reports that the server's certificate has expired"
                    : "the server reports that the client's certificate has expired";
    case SSL_R_TLSV1_UNRECOGNIZED_NAME: return "the server has no certificate for this name";
    default: return nullptr;
  }
}

}  // namespace

std::string failure_text(bool server, bool shaking_hands) {
  const unsigned long code = ERR_peek_error();
  const std::string text = take_error("no reason reported");
  const char* better = ERR_GET_LIB(code) == ERR_LIB_SSL ? known(ERR_GET_REASON(code), server) : nullptr;
  return std::string(shaking_hands ? "the TLS handshake failed: " : "TLS failed: ") +
         (better ? better : text);
}

}  // namespace coracle::tls
