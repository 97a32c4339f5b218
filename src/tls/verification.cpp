#include "tls/verification.hpp"

#include "base/printable.hpp"
#include "coracle/base/impl/base64.hpp"
#include "tls/peer.hpp"
#include "tls/pem.hpp"

#include <openssl/evp.h>
#include <openssl/x509.h>
#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace coracle::tls {

namespace {

// encode: i2d_X509 or i2d_X509_PUBKEY.
template <class Object>
std::vector<std::uint8_t> der_of(Object* object, int (*encode)(const Object*, unsigned char**)) {
  const int size = encode(object, nullptr);
  std::vector<std::uint8_t> der(size > 0 ? static_cast<std::size_t>(size) : 0);
  unsigned char* at = der.data();
  if (size > 0) encode(object, &at);
  return der;
}

std::string sha256_base64(const std::vector<std::uint8_t>& bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), nullptr) != 1) return {};
  return base::padded_base64({reinterpret_cast<const char*>(digest), size});
}

status decision(const peer_verifier& decide, const peer_certificate& peer) {
  try {
    return decide(peer);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    return status::internal(std::string("it threw an exception: ") + e.what());
  } catch (...) {
    return status::internal("it threw an exception");
  }
}

}  // namespace

bool accepted_by_verifier(SSL& connection, X509& leaf, bool chain_verified) noexcept {
  handshake_state& state = handshake_state::of(&connection);
  if (!state.verifier || std::exchange(state.verifier_asked, true)) return true;
  try {
    const char* const sni = SSL_get_servername(&connection, TLSEXT_NAMETYPE_host_name);
    const peer_certificate peer(state.server ? (sni ? sni : "") : state.host, chain_verified,
                                identities_of(&leaf),
                                sha256_base64(der_of(X509_get_X509_PUBKEY(&leaf), &i2d_X509_PUBKEY)),
                                der_of(&leaf, &i2d_X509), to_pem(leaf));
    const status outcome = decision(state.verifier, peer);
    if (outcome.ok()) return true;
    state.verify_error = state.server ? "the client's certificate is not accepted by the verifier: "
                                      : "the server's certificate is not accepted by the verifier: ";
    state.verify_error.append(base::printable(outcome.to_string()));
  } catch (const std::bad_alloc&) {
  }
  return false;
}

}  // namespace coracle::tls
