// A TLS client without I/O for the tests of coracle chaos.
#pragma once

#include "tools/certs/openssl.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace coracle::tools::chaos {

class tls_client {
 public:
  // verifies: it knows no CA, and so must refuse each certificate. name: null for none.
  tls_client(bool verifies, const char* name, int version)
      : context_(SSL_CTX_new(TLS_client_method())), connection_(SSL_new(context_.get())) {
    SSL_set_bio(connection_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(connection_.get());
    SSL_set_verify(connection_.get(), verifies ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
    SSL_set_max_proto_version(connection_.get(), version);
    const unsigned char h2[] = {2, 'h', '2'};
    SSL_set_alpn_protos(connection_.get(), h2, sizeof h2);
    if (name) SSL_set_tlsext_host_name(connection_.get(), name);
  }
  // Goes on with the handshake. Returns what is for the server.
  std::string shake_hands() {
    ERR_clear_error();
    const int done = SSL_do_handshake(connection_.get());
    has_failed_ = done != 1 && SSL_get_error(connection_.get(), done) != SSL_ERROR_WANT_READ;
    return taken();
  }
  void get(std::string_view bytes) {
    BIO_write(SSL_get_rbio(connection_.get()), bytes.data(), static_cast<int>(bytes.size()));
  }
  std::string say(std::string_view bytes) {
    SSL_write(connection_.get(), bytes.data(), static_cast<int>(bytes.size()));
    return taken();
  }
  std::string close() {
    SSL_shutdown(connection_.get());
    return taken();
  }
  // Reads what has come after the handshake, such as tickets.
  void read() {
    char byte;
    SSL_read(connection_.get(), &byte, 1);
  }
  void resume(const tls_client& earlier) {
    SSL_set_session(connection_.get(), SSL_get_session(earlier.connection_.get()));
  }

  [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }
  [[nodiscard]] bool is_connected() const noexcept { return SSL_is_init_finished(connection_.get()) == 1; }
  [[nodiscard]] bool has_resumed() const noexcept { return SSL_session_reused(connection_.get()) == 1; }
  [[nodiscard]] X509* certificate() const { return SSL_get0_peer_certificate(connection_.get()); }
  [[nodiscard]] std::string protocol() const {
    const unsigned char* name = nullptr;
    unsigned int length = 0;
    SSL_get0_alpn_selected(connection_.get(), &name, &length);
    return {reinterpret_cast<const char*>(name), length};
  }

 private:
  std::string taken() {
    char* bytes = nullptr;
    BIO* const out = SSL_get_wbio(connection_.get());
    const long length = BIO_get_mem_data(out, &bytes);
    std::string all(bytes, static_cast<std::size_t>(length));
    static_cast<void>(BIO_reset(out));
    return all;
  }

  openssl_ptr<SSL_CTX> context_;
  openssl_ptr<SSL> connection_;
  bool has_failed_ = false;
};

}  // namespace coracle::tools::chaos
