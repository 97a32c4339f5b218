#include "tls/engine.hpp"

#include "base/if_memory_allows.hpp"
#include "tls/error_queue.hpp"
#include "tls/handshake_result.hpp"
#include "tls/verification.hpp"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <algorithm>
#include <cstring>
#include <utility>

namespace coracle::tls {

namespace {

bool is_ip(const std::string& host) noexcept {
  unsigned char scratch[16];
  return ::inet_pton(AF_INET, host.c_str(), scratch) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), scratch) == 1;
}

// RFC 9525: no names from the subject, unless the program permits it, and no wildcards within a label.
unsigned flags_of(const engine::name_rules& rules) noexcept {
  const unsigned of_subject = rules.accept_common_name ? 0u : X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;
  return of_subject | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS;
}

}  // namespace

engine::engine(openssl_ptr<SSL> connection, bool server, std::chrono::system_clock::time_point present)
    : present_(std::chrono::system_clock::to_time_t(present)), ssl_(std::move(connection)) {
  state_.server = server;
  BIO* bio = ssl_ ? records_.make() : nullptr;
  if (!bio) {
    failure_ = "the TLS handshake failed: out of memory";
    return;
  }
  SSL_set_bio(ssl_.get(), bio, bio);
  if (SSL_set_app_data(ssl_.get(), &state_) != 1) {
    failure_ = "the TLS handshake failed: out of memory";
    return;
  }
  X509_VERIFY_PARAM_set_time(SSL_get0_param(ssl_.get()), present_);
}

// A connection that ends without close_notify does not invalidate its session for the next connection.
engine::~engine() {
  if (ssl_) SSL_set_shutdown(ssl_.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
}

// A server resumes no session that it has begun with other lists.
void engine::check_revocation(std::shared_ptr<const revocation_lists> by) {
  if (!by || !failure_.empty()) return;
  state_.generation = by->generation();
  state_.revocations = std::move(by);
  if (!state_.server) return;
  const std::string sessions_of = "coracle CRLs " + std::to_string(state_.generation % 1'000'000'000);
  if (SSL_set_session_id_context(ssl_.get(), reinterpret_cast<const unsigned char*>(sessions_of.data()),
                                 static_cast<unsigned>(sessions_of.size())) != 1)
    failure_ = "the TLS handshake failed: out of memory";
}

void engine::expect_server(std::string_view host, session_cache& sessions, name_rules rules) {
  if (!failure_.empty()) return;
  rules_ = rules;
  state_.host = host;
  state_.sessions = &sessions;
  X509_VERIFY_PARAM* expected = SSL_get0_param(ssl_.get());
  bool fine = true;
  if (!rules.verify) {
    // RFC 6066 3: SNI has no addresses.
    if (!host.empty() && !is_ip(state_.host))
      fine = SSL_set_tlsext_host_name(ssl_.get(), state_.host.c_str()) == 1;
  } else if (is_ip(state_.host)) {
    fine = X509_VERIFY_PARAM_set1_ip_asc(expected, state_.host.c_str()) == 1;
  } else {
    X509_VERIFY_PARAM_set_hostflags(expected, flags_of(rules));
    // An empty name would match any name.
    fine = !host.empty() && X509_VERIFY_PARAM_set1_host(expected, host.data(), host.size()) == 1 &&
           SSL_set_tlsext_host_name(ssl_.get(), state_.host.c_str()) == 1;
  }
  if (!fine) failure_ = "the TLS handshake failed: \"" + state_.host + "\" is not a valid server name";
  const openssl_ptr<SSL_SESSION> earlier = sessions.take(state_.host, state_.generation);
  if (earlier && !session_expired(SSL_SESSION_get0_peer(earlier.get())))
    SSL_set_session(ssl_.get(), earlier.get());
}

bool engine::covers(std::string_view host) const noexcept {
  if (!rules_.verify || !rules_.verify_authority || SSL_get_verify_mode(ssl_.get()) == SSL_VERIFY_NONE)
    return true;
  X509* const own = SSL_get0_peer_certificate(ssl_.get());
  // OpenSSL takes a name that begins with a dot for any name below it.
  if (!own || host.empty() || host.starts_with('.')) return false;
  char text[INET6_ADDRSTRLEN] = {};
  unsigned char ip[16];
  if (host.size() < sizeof text) {
    std::memcpy(text, host.data(), host.size());
    const bool is_v4 = ::inet_pton(AF_INET, text, ip) == 1;
    if (is_v4 || ::inet_pton(AF_INET6, text, ip) == 1) return X509_check_ip(own, ip, is_v4 ? 4 : 16, 0) == 1;
  }
  return X509_check_host(own, host.data(), host.size(), flags_of(rules_), nullptr) == 1;
}

void engine::feed(bytes_view bytes) {
  keep_unread();
  if (!kept_.empty()) {
    kept_.append(bytes);
    bytes = kept_.pending();
  }
  records_.in = bytes;
}

void engine::keep_unread() {
  if (kept_.empty()) kept_.append(records_.in);
  else kept_.consume(kept_.size() - records_.in.size());
  kept_.release(0);
  records_.in = kept_.pending();
}

engine::step engine::handshake() {
  const step outcome = advance_handshake();
  if (outcome != step::more) state_.revocations = nullptr;
  return outcome;
}

engine::step engine::advance_handshake() {
  if (!failure_.empty()) return step::failed;
  ERR_clear_error();
  const int outcome = SSL_do_handshake(ssl_.get());
  if (outcome == 1 && state_.server && SSL_session_reused(ssl_.get()) == 1 &&
      session_expired(SSL_get0_peer_certificate(ssl_.get()))) {
    failure_ = "the client's certificate has expired since its session began";
    return step::failed;
  }
  if (outcome == 1 && !verified()) {
    failure_ = state_.verify_error;
    return step::failed;
  }
  if (outcome == 1) return step::done;
  return SSL_get_error(ssl_.get(), outcome) == SSL_ERROR_WANT_READ ? step::more : failed(true);
}

// OpenSSL verifies no certificate when a session is resumed, nor when client_options::verify is false.
bool engine::verified() noexcept {
  X509* const own = SSL_get0_peer_certificate(ssl_.get());
  if (!own) return true;
  const bool chain_verified =
      SSL_get_verify_mode(ssl_.get()) != SSL_VERIFY_NONE && SSL_get_verify_result(ssl_.get()) == X509_V_OK;
  return accepted_by_verifier(*ssl_, *own, chain_verified);
}

engine::step engine::read(mutable_bytes into, std::size_t& got) {
  got = 0;
  while (got < into.size()) {
    ERR_clear_error();
    std::size_t n = 0;
    const int outcome = SSL_read_ex(ssl_.get(), into.data() + got, into.size() - got, &n);
    if (outcome == 1) {
      got += n;
      continue;
    }
    switch (SSL_get_error(ssl_.get(), outcome)) {
      case SSL_ERROR_WANT_READ: return step::more;
      case SSL_ERROR_ZERO_RETURN: return step::ended;
      default: return failed(false);
    }
  }
  return step::done;
}

bool engine::write(bytes_view plain) {
  ERR_clear_error();
  std::size_t n = 0;
  if (SSL_write_ex(ssl_.get(), plain.data(), plain.size(), &n) == 1) return true;
  failed(false);
  return false;
}

void engine::write_close_notify() noexcept {
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
  ERR_clear_error();
}

// Whether the certificate has expired. Resuming a session does not verify it again, and each resumption
// issues a new ticket: without this check a session could be extended forever.
bool engine::session_expired(X509* certificate) const noexcept {
  std::time_t present = present_;
  return certificate && X509_cmp_time(X509_get0_notAfter(certificate), &present) <= 0;
}

std::string_view engine::name_of_failure(std::int64_t error) const noexcept {
  if (!ssl_) return "UNKNOWN_FAILURE";  // memory was exhausted
  return tls::name_of_failure(*ssl_, error, failure_code_);
}

engine::step engine::failed(bool shaking_hands) noexcept {
  failure_code_ = ERR_peek_error();
  base::if_memory_allows([&] {
    failure_ = failure_text(state_.server, shaking_hands);
    if (!state_.verify_error.empty()) failure_ = state_.verify_error;
  });
  return step::failed;
}

namespace {

record_bio& owner_of(BIO* b) noexcept { return *static_cast<record_bio*>(BIO_get_data(b)); }

int read(BIO* b, char* into, std::size_t size, std::size_t* got) {
  BIO_clear_retry_flags(b);
  bytes_view& in = owner_of(b).in;
  if (in.empty()) {
    BIO_set_retry_read(b);
    return 0;
  }
  *got = std::min(size, in.size());
  std::memcpy(into, in.data(), *got);
  in = in.subspan(*got);
  return 1;
}

int write(BIO* b, const char* from, std::size_t size, std::size_t* put) {
  BIO_clear_retry_flags(b);
  // No exception may pass through OpenSSL: if memory is exhausted, the write fails.
  const bytes_view bytes(reinterpret_cast<const std::uint8_t*>(from), size);
  const bool taken = base::if_memory_allows([&] { owner_of(b).out.append(bytes); });
  *put = taken ? size : 0;
  return taken;
}

long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

int create(BIO* b) {
  BIO_set_init(b, 1);
  return 1;
}

// Never freed: connections of a runtime that lasts until the program's end use it.
const BIO_METHOD* method() {
  static const BIO_METHOD* const made = [] {
    openssl_ptr<BIO_METHOD> m(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "coracle records"));
    if (m) {
      BIO_meth_set_read_ex(m.get(), &read);
      BIO_meth_set_write_ex(m.get(), &write);
      BIO_meth_set_ctrl(m.get(), &control);
      BIO_meth_set_create(m.get(), &create);
    }
    return m.release();
  }();
  return made;
}

}  // namespace

BIO* record_bio::make() {
  const BIO_METHOD* m = method();
  BIO* b = m ? BIO_new(m) : nullptr;
  if (b) BIO_set_data(b, this);
  return b;
}

}  // namespace coracle::tls
