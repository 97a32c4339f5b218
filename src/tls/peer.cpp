#include "tls/peer.hpp"

#include "tls/pem.hpp"

#include <arpa/inet.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::tls {

namespace {

using kind = peer_identity::kind;

// A NUL byte inside a name is an attempt at impersonation.
std::optional<std::string> text_of(const ASN1_STRING* s) {
  std::string text(reinterpret_cast<const char*>(ASN1_STRING_get0_data(s)),
                   static_cast<std::size_t>(ASN1_STRING_length(s)));
  if (text.empty() || text.find('\0') != std::string::npos) return {};
  return text;
}

std::optional<std::string> ip_text(const ASN1_OCTET_STRING* s) {
  const int size = ASN1_STRING_length(s);
  if (size != 4 && size != 16) return {};
  char text[INET6_ADDRSTRLEN];
  return ::inet_ntop(size == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(s), text, sizeof text);
}

void add(std::vector<peer_identity>& to, kind type, std::optional<std::string> value) {
  if (value) to.emplace_back(type, *std::move(value));
}

void add_alternative(std::vector<peer_identity>& to, const GENERAL_NAME& name) {
  switch (name.type) {
    case GEN_DNS: return add(to, kind::dns_name, text_of(name.d.dNSName));
    case GEN_IPADD: return add(to, kind::ip_address, ip_text(name.d.iPAddress));
    case GEN_URI: return add(to, kind::uri, text_of(name.d.uniformResourceIdentifier));
    case GEN_EMAIL: return add(to, kind::email, text_of(name.d.rfc822Name));
    default: return;
  }
}

std::optional<std::string> common_name_of(const X509* x) {
  X509_NAME* subject = X509_get_subject_name(x);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0) return {};
  unsigned char* utf8 = nullptr;
  const int size = ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
  if (size < 0) return {};
  std::string text(reinterpret_cast<char*>(utf8), static_cast<std::size_t>(size));
  OPENSSL_free(utf8);
  if (text.empty() || text.find('\0') != std::string::npos) return {};
  return text;
}

// As gRFC A41 has it; empty if it cannot be written.
std::string subject_of(const X509& x) {
  const openssl_ptr<BIO> out(BIO_new(BIO_s_mem()));
  if (!out) throw std::bad_alloc();
  if (X509_NAME_print_ex(out.get(), X509_get_subject_name(&x), 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB) <
      0)
    return {};
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string();
}

// On a server the chain lacks the client's own certificate; on a client it includes the server's.
std::string chain_pem(SSL& connection, X509& own, bool server) {
  const STACK_OF(X509)* chain = SSL_get_peer_cert_chain(&connection);
  std::string pem;
  if (server || !chain || sk_X509_num(chain) == 0) pem = to_pem(own);
  for (int i = 0; chain && i < sk_X509_num(chain); ++i) pem.append(to_pem(*sk_X509_value(chain, i)));
  return pem;
}

std::string text_or_none(const char* s) { return s ? s : ""; }

}  // namespace

std::vector<peer_identity> identities_of(const X509* x) {
  std::vector<peer_identity> found;
  if (!x) return found;
  const openssl_ptr<GENERAL_NAMES> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(x, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i)
    add_alternative(found, *sk_GENERAL_NAME_value(names.get(), i));
  add(found, kind::common_name, common_name_of(x));
  return found;
}

std::shared_ptr<const auth_context> describe_peer(SSL& connection, bool server) {
  auto c = std::make_shared<auth_context>();
  const unsigned char* alpn = nullptr;
  unsigned alpn_size = 0;
  SSL_get0_alpn_selected(&connection, &alpn, &alpn_size);
  c->type("tls")
      .protocol(SSL_get_version(&connection))
      .cipher(text_or_none(SSL_get_cipher_name(&connection)));
  c->application_protocol(std::string(reinterpret_cast<const char*>(alpn), alpn_size));
  c->server_name(text_or_none(SSL_get_servername(&connection, TLSEXT_NAMETYPE_host_name)));
  c->resumed(SSL_session_reused(&connection) == 1);
  if (X509* own = SSL_get0_peer_certificate(&connection)) {
    const bool verified = SSL_get_verify_mode(&connection) != SSL_VERIFY_NONE &&
                          SSL_get_verify_result(&connection) == X509_V_OK;
    c->peer_verified(verified).peer_certificates_pem(chain_pem(connection, *own, server));
    if (verified) c->identities(identities_of(own)).subject(subject_of(*own));
  }
  return c;
}

std::string local_certificate_of(const SSL& connection) {
  const X509* const own = SSL_get_certificate(&connection);
  const int size = own ? i2d_X509(own, nullptr) : 0;
  if (size <= 0) return {};
  std::string der(static_cast<std::size_t>(size), '\0');
  auto* to = reinterpret_cast<unsigned char*>(der.data());
  return i2d_X509(own, &to) == size ? der : std::string();
}

}  // namespace coracle::tls
