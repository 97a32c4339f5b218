#include "tools/chaos/impostor.hpp"

#include "tools/certs/host_names.hpp"
#include "tools/failure.hpp"

#include <openssl/err.h>

#include <exception>

namespace coracle::tools::chaos {

namespace {

constexpr int certificate_days = 1;

// The client's first choice, so that nothing but the certificate is wrong (RFC 7301 3.2).
int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* length, const unsigned char* offered,
                    unsigned int, void*) noexcept {
  *chosen = offered + 1;
  *length = *offered;
  return SSL_TLSEXT_ERR_OK;
}

// What an alert of the client says of the certificate.
enum class alert_subject { certificate, what_comes_before, broken_bytes };

alert_subject subject_of(int alert) noexcept {
  switch (alert) {
    // Of the ServerHello and its extensions, which a client reads before the certificate of the same flight.
    case SSL_AD_PROTOCOL_VERSION:
    case SSL_AD_INSUFFICIENT_SECURITY:
    case SSL_AD_ILLEGAL_PARAMETER:
    case SSL_AD_MISSING_EXTENSION:
    case SSL_AD_UNSUPPORTED_EXTENSION:
    case SSL_AD_NO_APPLICATION_PROTOCOL: return alert_subject::what_comes_before;
    case SSL_AD_UNEXPECTED_MESSAGE:
    case SSL_AD_BAD_RECORD_MAC:
    case SSL_AD_RECORD_OVERFLOW:
    case SSL_AD_DECODE_ERROR:
    case SSL_AD_DECRYPT_ERROR: return alert_subject::broken_bytes;
    // Also those without a word on certificates, such as handshake_failure: clients differ in what they send.
    default: return alert_subject::certificate;
  }
}

}  // namespace

impostor_authority::impostor_authority()
    : ca_(new_authority()), context_(make_owned(SSL_CTX_new(TLS_server_method()), "configure TLS")) {
  SSL_CTX_set_alpn_select_cb(context_.get(), choose_protocol, nullptr);
  // Without resumption, in which a client gets no certificate (RFC 8446 2.2): sessions are neither in tickets
  // nor in a cache.
  SSL_CTX_set_options(context_.get(), SSL_OP_NO_TICKET);
  SSL_CTX_set_session_cache_mode(context_.get(), SSL_SESS_CACHE_OFF);
}

openssl_ptr<SSL> impostor_authority::connection() const {
  auto made = make_owned(SSL_new(context_.get()), "make a TLS connection");
  auto in = make_owned(BIO_new(BIO_s_mem()), "make a TLS connection");
  auto out = make_owned(BIO_new(BIO_s_mem()), "make a TLS connection");
  SSL_set_bio(made.get(), in.release(), out.release());
  SSL_set_accept_state(made.get());
  return made;
}

credential impostor_authority::certificate_for(const std::string& server) const {
  return issue(ca_, purpose::server, "server", subject_alternative_names({server, "127.0.0.1", "::1"}),
               certificate_days);
}

impostor::impostor(const impostor_authority& authority)
    : authority_(authority), connection_(authority.connection()) {
  SSL_set_cert_cb(connection_.get(), choose_certificate, this);
  SSL_set_msg_callback(connection_.get(), see_message);
  SSL_set_msg_callback_arg(connection_.get(), this);
}

// 0 ends the handshake with internal_error: no exception may pass through OpenSSL.
int impostor::choose_certificate(SSL* connection, void* self) noexcept {
  try {
    const char* const asked = SSL_get_servername(connection, TLSEXT_NAMETYPE_host_name);
    const credential made =
        static_cast<impostor*>(self)->authority_.certificate_for(asked ? asked : "localhost");
    return SSL_use_certificate(connection, made.certificate.get()) == 1 &&
           SSL_use_PrivateKey(connection, made.key.get()) == 1;
  } catch (const std::exception&) {
    return 0;
  }
}

void impostor::see_message(int is_written, int, int kind, const void* message, std::size_t length, SSL*,
                           void* self) noexcept {
  if (is_written && kind == SSL3_RT_HANDSHAKE && length > 0 &&
      *static_cast<const unsigned char*>(message) == SSL3_MT_CERTIFICATE)
    static_cast<impostor*>(self)->has_shown_certificate_ = true;
}

std::string impostor::answer(std::string_view bytes) {
  if (BIO_write(SSL_get_rbio(connection_.get()), bytes.data(), static_cast<int>(bytes.size())) <= 0)
    throw_openssl_error("read TLS");
  read();
  BIO* const out = SSL_get_wbio(connection_.get());
  char* made = nullptr;
  const long length = BIO_get_mem_data(out, &made);
  std::string answered(made, static_cast<std::size_t>(length));
  static_cast<void>(BIO_reset(out));
  return answered;
}

void impostor::read() {
  char data;
  ERR_clear_error();
  const int got = SSL_read(connection_.get(), &data, 1);  // after the handshake, which it performs
  switch (SSL_get_error(connection_.get(), got)) {
    case SSL_ERROR_WANT_READ: break;
    case SSL_ERROR_NONE:
      is_accepted_ = true;
      verdict_ = "ACCEPTED: the client sends its data to a server that it does not know";
      break;
    case SSL_ERROR_ZERO_RETURN: end(true); break;
    default: fail();
  }
}

// By an alert of the client, or because its bytes are none that may come.
void impostor::fail() {
  const unsigned long code = ERR_peek_error();
  ERR_clear_error();
  const int reason = ERR_GET_LIB(code) == ERR_LIB_SSL ? ERR_GET_REASON(code) : 0;
  const int alert = reason - SSL_AD_REASON_OFFSET;
  const char* const text = alert > 0 ? SSL_alert_desc_string_long(alert) : ERR_reason_error_string(code);
  const alert_subject subject = alert > 0 ? subject_of(alert) : alert_subject::broken_bytes;
  // Once the client has completed the handshake, it has read all before.
  const bool has_answered = SSL_is_init_finished(connection_.get()) == 1;
  const bool is_before = subject == alert_subject::what_comes_before && !has_answered;
  if (!has_shown_certificate_ || is_before) verdict_ = "not seen: ";
  else verdict_ = subject == alert_subject::certificate ? "refused: " : "unclear: ";
  verdict_.append(text ? text : "the handshake failed");
}

void impostor::end(bool has_got_all) {
  if (!verdict_.empty()) return;
  verdict_ = has_shown_certificate_ && has_got_all ? "refused: " : "not seen: ";
  verdict_.append("the client closed the connection");
}

}  // namespace coracle::tools::chaos
