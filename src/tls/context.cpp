#include "tls/context.hpp"

#include "base/if_memory_allows.hpp"
#include "base/printable.hpp"
#include "coracle/base/bytes.hpp"
#include "coracle/security/auth_context.hpp"
#include "runtime/background_runtime.hpp"
#include "tls/certificate_listing.hpp"
#include "tls/error_queue.hpp"
#include "tls/handshake_state.hpp"
#include "tls/openssl_ptr.hpp"
#include "tls/peer.hpp"
#include "tls/pem.hpp"
#include "tls/verification.hpp"

#include <openssl/err.h>
#include <string>
#include <utility>
#include <vector>

namespace coracle::tls {

// Describes why a certificate was rejected. error: X509_V_ERR_...; at: the invalid certificate, may be null.
std::string verify_error_text(const handshake_state& state, int error, const X509* at);

namespace {

std::string day_of(const ASN1_TIME* t) {
  const openssl_ptr<BIO> bio(BIO_new(BIO_s_mem()));
  if (!bio || !t || ASN1_TIME_print(bio.get(), t) != 1) return "an invalid time";
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

std::string subject_of(const X509* x) {
  const openssl_ptr<BIO> bio(BIO_new(BIO_s_mem()));
  if (!x || !bio || X509_NAME_print_ex(bio.get(), X509_get_subject_name(x), 0, XN_FLAG_ONELINE) < 0)
    return "?";
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return base::printable({data, static_cast<std::size_t>(size)});
}

std::string other_names(const handshake_state& state, const X509* x) {
  std::string names;
  for (const peer_identity& i : identities_of(x)) {
    if (i.type() == peer_identity::kind::common_name) continue;
    // The host did not match, so it is an address (RFC 9525 6.5).
    if (i.type() == peer_identity::kind::dns_name && i.value() == state.host)
      return "it has the address " + state.host +
             " as a DNS name: issue one with the subjectAltName IP:" + state.host +
             " in place of DNS:" + state.host;
    names.append(names.empty() ? "" : ", ").append(i.value());
  }
  if (names.empty())
    return "it has no subjectAltName: issue one with a subjectAltName for " + state.host +
           " (its CN does not count, RFC 9525)";
  std::string text = "it is valid for ";
  text.append(base::printable(names)).append(", not for ").append(state.host);
  text.append(": connect to one of these names, or issue one with a subjectAltName for ");
  return text.append(state.host);
}

const char* verify_error_fix(const handshake_state& state) {
  return state.server ? "use one that is issued by a CA of server_options::client_cas"
                      : "set its CA with client_options::cas";
}

}  // namespace

std::string verify_error_text(const handshake_state& state, int error, const X509* at) {
  std::string text = state.server ? "the client's certificate is not accepted: "
                                  : "the server's certificate is not accepted: ";
  switch (error) {
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      text.append("it is self-signed, or has the same subject as its CA (" + subject_of(at) +
                  "): give the CA a subject of its own");
      return state.server ? text + " and reissue the client's certificate"
                          : text + ", and the server's certificate a subjectAltName for " + state.host;
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      return text.append("it is not issued by a trusted CA (") + subject_of(at) +
             "): " + verify_error_fix(state) +
             ", or configure the peer to send its intermediate certificates";
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return text.append("it expired on ") + (at ? day_of(X509_get0_notAfter(at)) : "?") + " (" +
             subject_of(at) + "): renew it";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return text.append("it is not valid before ") + (at ? day_of(X509_get0_notBefore(at)) : "?") + " (" +
             subject_of(at) + "): check the clocks";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: return text + other_names(state, at);
    case X509_V_ERR_INVALID_PURPOSE:
      return text.append("its extendedKeyUsage does not permit a ") +
             (state.server ? "client (clientAuth)" : "server (serverAuth)") + ": reissue it with that usage";
    case X509_V_ERR_INVALID_CA:
      return text.append("its issuer is not a CA (") + subject_of(at) +
             "): reissue that with basicConstraints CA:TRUE";
    case X509_V_ERR_CERT_REVOKED:
      return text.append("a CRL of its issuer lists it as revoked (") + subject_of(at) +
             "): issue another one";
    case X509_V_ERR_UNABLE_TO_GET_CRL:
      return text.append("no CRL of its issuer tells whether it is revoked (") + subject_of(at) +
             "): add one to revocation_options::directory, signed by a key that may sign CRLs (keyUsage "
             "cRLSign), or do not set deny_undetermined";
    default: return text.append(X509_verify_cert_error_string(error)) + " (" + subject_of(at) + ")";
  }
}

namespace {

// ECDHE with an AEAD; none of these is prohibited by RFC 9113 9.2.2. AES-128 comes first, as in Go: it is
// strong enough, and the cheapest on processors with AES instructions. A client without them prefers
// ChaCha20, and gets it.
constexpr const char* ciphers_of_tls_1_2 =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
constexpr const char* ciphers_of_tls_1_3 =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";

status failed(const std::string& what_failed) {
  return status::failed_precondition(what_failed + ": " + take_error("OpenSSL reports no reason"));
}

// A chain ends with the first certificate that is trusted. Null: it is a root, or its issuer is not trusted.
// Returns false if OpenSSL has failed.
bool find_issuer_above(const handshake_state& state, X509_STORE_CTX& chain, X509& last,
                       openssl_ptr<X509>& found) noexcept {
  if (X509_NAME_cmp(X509_get_subject_name(&last), X509_get_issuer_name(&last)) == 0) return true;
  X509* issuer = nullptr;
  int outcome = 0;
  if (state.domain_cas) {  // the context's own store is empty
    for (int i = 0; outcome == 0 && i < sk_X509_num(state.domain_cas); ++i) {
      X509* const one = sk_X509_value(state.domain_cas, i);
      const int issued = X509_check_issued(one, &last);
      if (issued == X509_V_ERR_UNSPECIFIED) outcome = -1;  // without memory, say
      if (issued != X509_V_OK) continue;
      issuer = one;
      outcome = X509_up_ref(one) == 1 ? 1 : -1;
    }
  } else {
    outcome = X509_STORE_CTX_get1_issuer(&issuer, &chain, &last);
  }
  ERR_clear_error();
  if (outcome == 1) found.reset(issuer);
  return outcome >= 0;
}

// What revokes a chain, or keeps that from being known.
revocation_lists::finding revocation_of(const handshake_state& state, X509_STORE_CTX& chain) noexcept {
  const STACK_OF(X509)& all = *X509_STORE_CTX_get0_chain(&chain);
  X509& last = *sk_X509_value(&all, sk_X509_num(&all) - 1);
  openssl_ptr<X509> above;
  if (!find_issuer_above(state, chain, last, above)) return {X509_V_ERR_UNSPECIFIED, &last};
  return state.revocations->check(all, above.get());
}

// Called with ok for each certificate of a chain that is accepted, the peer's own last: the chain is complete
// and verified then.
int record_verify_error(int ok, X509_STORE_CTX* chain) {
  auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
  handshake_state& state = handshake_state::of(ssl);
  if (ok && X509_STORE_CTX_get_error_depth(chain) > 0) return ok;
  if (ok && state.revocations) {
    const auto found = revocation_of(state, *chain);
    if (found.error != X509_V_OK) {
      X509_STORE_CTX_set_error(chain, found.error);
      X509_STORE_CTX_set_current_cert(chain, found.at);
      ok = 0;
    }
  }
  if (ok && accepted_by_verifier(*ssl, *X509_STORE_CTX_get0_cert(chain), true)) return ok;
  if (ok) {
    X509_STORE_CTX_set_error(chain, X509_V_ERR_APPLICATION_VERIFICATION);
    return 0;
  }
  // No exception may pass through OpenSSL.
  base::if_memory_allows([&] {
    if (state.verify_error.empty())
      state.verify_error =
          verify_error_text(state, X509_STORE_CTX_get_error(chain), X509_STORE_CTX_get_current_cert(chain));
  });
  return ok;
}

// At the program's exit OpenSSL destroys its state, which connections of a runtime that lasts longer still
// use. It shall not; if the program has initialized it before, at least the background runtime ends earlier.
void initialize_openssl() {
  [[maybe_unused]] static const bool once = [] {
    OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, nullptr);
    runtime_internal::end_background_runtime_first();
    return true;
  }();
}

result<openssl_ptr<SSL_CTX>> new_context(const SSL_METHOD* role) {
  initialize_openssl();
  ERR_clear_error();
  openssl_ptr<SSL_CTX> c(SSL_CTX_new(role));
  if (!c || SSL_CTX_set_min_proto_version(c.get(), TLS1_2_VERSION) != 1 ||
      SSL_CTX_set_cipher_list(c.get(), ciphers_of_tls_1_2) != 1 ||
      SSL_CTX_set_ciphersuites(c.get(), ciphers_of_tls_1_3) != 1)
    return failed("cannot initialize OpenSSL");
  SSL_CTX_set_options(c.get(), SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  // Idle connections hold no record buffers. Exactly the configured chain is sent.
  SSL_CTX_set_mode(c.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN);
  SSL_CTX_set_max_cert_list(c.get(), static_cast<long>(limits::certificates_bytes));
  return c;
}

openssl_ptr<STACK_OF(X509)> trusted_by(SSL_CTX& c) {
  return openssl_ptr<STACK_OF(X509)>(X509_STORE_get1_all_certs(SSL_CTX_get_cert_store(&c)));
}

status use_pair(SSL_CTX& c, const key_pair& from) {
  result<loaded_pair> pair = read_pair(from);
  if (!pair) return pair.status();
  ERR_clear_error();
  bool fine = SSL_CTX_use_certificate(&c, pair->chain.front().get()) == 1 &&
              SSL_CTX_use_PrivateKey(&c, pair->key.get()) == 1;
  for (std::size_t i = 1; fine && i < pair->chain.size(); ++i)
    fine = SSL_CTX_add1_chain_cert(&c, pair->chain[i].get()) == 1;
  return fine ? status() : failed(name_of(from.chain(), "certificate") + " cannot be used");
}

status trust(SSL_CTX& c, const pem_source& ca, bool announce_to_clients) {
  const result<std::vector<openssl_ptr<X509>>> found = read_certificates(ca, "CA");
  if (!found) return found.status();
  X509_STORE* store = SSL_CTX_get_cert_store(&c);
  // A CA that is trusted explicitly need not be a root.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  for (const openssl_ptr<X509>& one : *found) {
    if (X509_STORE_add_cert(store, one.get()) != 1 ||
        (announce_to_clients && SSL_CTX_add_client_CA(&c, one.get()) != 1))
      return failed(name_of(ca, "CA") + " cannot be used");
  }
  return {};
}

// Called for clients with ALPN. The order is that of the server's preference (RFC 7301 3.2).
int choose_http(SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
                unsigned offered_size, void*) {
  const std::string_view list = as_text({offered, offered_size});
  for (const std::string_view wanted : {std::string_view("h2"), std::string_view("http/1.1")}) {
    for (std::size_t i = 0; i < list.size(); i += 1 + static_cast<unsigned char>(list[i])) {
      const std::size_t n = static_cast<unsigned char>(list[i]);
      if (list.substr(i + 1, n) != wanted) continue;
      *chosen = offered + i + 1;
      *size = static_cast<unsigned char>(n);
      return SSL_TLSEXT_ERR_OK;
    }
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

int keep_session(SSL* ssl, SSL_SESSION* session) {
  const handshake_state& state = handshake_state::of(ssl);
  if (!state.sessions || SSL_SESSION_is_resumable(session) != 1) return 0;
  openssl_ptr<SSL_SESSION> taken(session);
  // Without memory for it, the next connection makes a full handshake.
  base::if_memory_allows([&] { state.sessions->keep(state.host, std::move(taken), state.generation); });
  return 1;  // takes ownership
}

// Reads the roots of the options, if they have any.
status read_roots(const std::string& file, std::unique_ptr<const spiffe_roots>& to) {
  if (file.empty()) return {};
  auto read = spiffe_roots::read(file);
  if (!read) return read.status();
  to = *std::move(read);
  return {};
}

// roots: by which clients are verified instead of client_cas; may be null.
status serve_as(SSL_CTX& c, const key_pair& pair, const server_options& options, const spiffe_roots* roots) {
  if (status s = use_pair(c, pair); !s.ok()) return s;
  SSL_CTX_set_alpn_select_cb(&c, &choose_http, nullptr);
  // Sessions are stored in their tickets, not here. Tickets of another context (before a reload) are not
  // accepted.
  SSL_CTX_set_session_cache_mode(&c, SSL_SESS_CACHE_OFF);
  constexpr unsigned char sessions_of[] = "coracle";
  SSL_CTX_set_session_id_context(&c, sessions_of, sizeof sessions_of - 1);
  const bool has_cas = roots || !options.client_cas.empty();
  const auto unless_set = has_cas ? client_certificates::required : client_certificates::ignored;
  const client_certificates clients = options.clients.value_or(unless_set);
  if (options.verifier && clients == client_certificates::ignored)
    return status::failed_precondition(
        "server_options::verifier needs certificates of clients: set server_options::client_cas");
  if (options.revocation != revocation_options() && clients == client_certificates::ignored)
    return status::failed_precondition(
        "server_options::revocation needs certificates of clients: set server_options::client_cas");
  if (clients == client_certificates::ignored) return {};
  if (!has_cas)
    return status::failed_precondition(
        "client certificates are requested without a CA: set server_options::client_cas");
  SSL_CTX_set_verify(&c,
                     clients == client_certificates::required
                         ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT
                         : SSL_VERIFY_PEER,
                     &record_verify_error);
  if (roots) return roots->verify_in(c), status();
  for (const pem_source& ca : options.client_cas)
    if (status s = trust(c, ca, true); !s.ok()) return s;
  return {};
}

}  // namespace

// --- server

result<std::shared_ptr<const server_context>> server_context::make(const server_options& options) {
  if (options.certificates.empty())
    return status::failed_precondition(
        "a TLS server requires a certificate and its key: set server_options::certificates");
  auto made = std::make_shared<server_context>();
  if (status s = read_roots(options.spiffe_bundle_map, made->roots_); !s.ok()) return s;
  std::vector<X509*> all;
  for (const key_pair& pair : options.certificates) {
    result<openssl_ptr<SSL_CTX>> c = new_context(TLS_server_method());
    if (!c) return c.status();
    if (status s = serve_as(**c, pair, options, made->roots_.get()); !s.ok()) return s;
    made->by_certificate_.push_back({*std::move(c), nullptr});
    named& last = made->by_certificate_.back();
    last.certificate = SSL_CTX_get0_certificate(last.context.get());
    all.push_back(last.certificate);
    made->certificates_.certificates.push_back(list_certificate(*last.context, pair.chain()));
  }
  list_server_names(made->certificates_.certificates, all);
  SSL_CTX* first = made->by_certificate_.front().context.get();
  const bool asks = SSL_CTX_get_verify_mode(first) != SSL_VERIFY_NONE;
  list_trusted(*first, asks ? security::trusted_cas::program : security::trusted_cas::none,
               made->certificates_);
  if (asks && made->roots_) made->roots_->list(made->certificates_);
  SSL_CTX_set_tlsext_servername_callback(first, &server_context::choose);
  SSL_CTX_set_tlsext_servername_arg(first, made.get());
  return std::shared_ptr<const server_context>(std::move(made));
}

openssl_ptr<SSL> server_context::connection() const {
  openssl_ptr<SSL> ssl(SSL_new(by_certificate_.front().context.get()));
  if (ssl) SSL_set_accept_state(ssl.get());
  return ssl;
}

openssl_ptr<STACK_OF(X509)> server_context::trusted() const {
  return trusted_by(*by_certificate_.front().context);
}

int server_context::choose(SSL* ssl, int*, void* self) noexcept {
  const char* asked = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  if (!asked) return SSL_TLSEXT_ERR_NOACK;
  for (const named& one : static_cast<const server_context*>(self)->by_certificate_) {
    if (X509_check_host(one.certificate, asked, 0, 0, nullptr) != 1) continue;
    SSL_set_SSL_CTX(ssl, one.context.get());
    break;
  }
  return SSL_TLSEXT_ERR_OK;
}

// --- client

result<std::shared_ptr<const client_context>> client_context::make(const client_options& options) {
  if (!options.verify && options.revocation != revocation_options())
    return status::failed_precondition(
        "client_options::revocation has no effect without client_options::verify: remove one of them");
  result<openssl_ptr<SSL_CTX>> c = new_context(TLS_client_method());
  if (!c) return c.status();
  SSL_CTX& ctx = **c;
  if (options.certificate)
    if (status s = use_pair(ctx, *options.certificate); !s.ok()) return s;
  auto made = std::make_shared<client_context>();
  if (status s = read_roots(options.spiffe_bundle_map, made->roots_); !s.ok()) return s;
  const bool by_spiffe = made->roots_ != nullptr;
  if (!by_spiffe)
    for (const pem_source& ca : options.cas)
      if (status s = trust(ctx, ca, false); !s.ok()) return s;
  if (options.verify) {
    if (by_spiffe) made->roots_->verify_in(ctx);
    if (!by_spiffe && options.cas.empty() && SSL_CTX_set_default_verify_paths(&ctx) != 1)
      return failed("the system's CAs cannot be read");
    SSL_CTX_set_verify(&ctx, SSL_VERIFY_PEER, &record_verify_error);
  }
  SSL_CTX_set_session_cache_mode(&ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(&ctx, &keep_session);
  if (options.certificate)
    made->certificates_.certificates.push_back(list_certificate(ctx, options.certificate->chain()));
  const auto trusted =
      options.cas.empty() && !by_spiffe ? security::trusted_cas::system : security::trusted_cas::program;
  list_trusted(ctx, options.verify ? trusted : security::trusted_cas::none, made->certificates_);
  if (options.verify && by_spiffe) made->roots_->list(made->certificates_);
  made->context_ = *std::move(c);
  return std::shared_ptr<const client_context>(std::move(made));
}

openssl_ptr<STACK_OF(X509)> client_context::trusted() const { return trusted_by(*context_); }

openssl_ptr<SSL> client_context::connection(std::string_view application_protocol) const {
  openssl_ptr<SSL> ssl(SSL_new(context_.get()));
  if (!ssl) return ssl;
  SSL_set_connect_state(ssl.get());
  // In the format of an ALPN protocol list.
  std::string list(1, static_cast<char>(application_protocol.size()));
  list.append(application_protocol);
  if (SSL_set_alpn_protos(ssl.get(), reinterpret_cast<const unsigned char*>(list.data()),
                          static_cast<unsigned>(list.size())) != 0)
    ssl.reset();
  return ssl;
}

}  // namespace coracle::tls
