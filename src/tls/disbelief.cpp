#include "tls/disbelief.hpp"

#include "base/printable.hpp"
#include "coracle/security/auth_context.hpp"
#include "tls/peer.hpp"

#include <vector>

namespace coracle::tls {

namespace {

std::string day_of(const ASN1_TIME* t) {
  const owned<BIO> bio(BIO_new(BIO_s_mem()));
  if (!bio || !t || ASN1_TIME_print(bio.get(), t) != 1) return "a time that does not parse";
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

std::string subject_of(const X509* x) {
  const owned<BIO> bio(BIO_new(BIO_s_mem()));
  if (!x || !bio || X509_NAME_print_ex(bio.get(), X509_get_subject_name(x), 0, XN_FLAG_ONELINE) < 0)
    return "?";
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return base::printable({data, static_cast<std::size_t>(size)});
}

std::string other_names(const handshake_notes& notes, const X509* x) {
  std::string names;
  for (const peer_identity& i : identities_of(x)) {
    if (i.what() == peer_identity::kind::common_name) continue;
    names.append(names.empty() ? "" : ", ").append(i.value());
  }
  if (names.empty())
    return "it has no subjectAltName: issue one with a subjectAltName for " + notes.host +
           " (its CN does not count, RFC 9525)";
  std::string text = "it is for ";
  text.append(base::printable(names)).append(", not for ").append(notes.host);
  text.append(": connect to one of these names, or issue one with a subjectAltName for ");
  return text.append(notes.host);
}

const char* how_to_trust(const handshake_notes& notes) {
  return notes.server ? "give the client one that is issued by the CA of server_options::client_ca()"
                      : "name its CA with client_options::ca_file()";
}

}  // namespace

std::string disbelief_text(const handshake_notes& notes, int error, const X509* at) {
  std::string text = notes.server ? "the client's certificate is not accepted: "
                                  : "the server's certificate is not accepted: ";
  switch (error) {
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      text.append("it is self-signed, or bears the same name as its CA (" + subject_of(at) +
                  "): give the CA a name of its own");
      return notes.server ? text + " and issue the client's certificate anew"
                          : text + ", and the server's certificate a subjectAltName for " + notes.host;
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      return text.append("no CA that is trusted here has issued it (") + subject_of(at) +
             "): " + how_to_trust(notes) + ", or have the peer send its intermediate certificates, too";
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return text.append("it has expired on ") + (at ? day_of(X509_get0_notAfter(at)) : "?") + " (" +
             subject_of(at) + "): renew it";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return text.append("it is valid only from ") + (at ? day_of(X509_get0_notBefore(at)) : "?") + " on (" +
             subject_of(at) + "): set the clocks";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: return text + other_names(notes, at);
    case X509_V_ERR_INVALID_PURPOSE:
      return text.append("its extendedKeyUsage does not allow it to be a ") +
             (notes.server ? "client's (clientAuth)" : "server's (serverAuth)") + ": issue one that does";
    case X509_V_ERR_INVALID_CA:
      return text.append("its issuer is no CA (") + subject_of(at) + "): give that basicConstraints CA:TRUE";
    default: return text.append(X509_verify_cert_error_string(error)) + " (" + subject_of(at) + ")";
  }
}

}  // namespace coracle::tls
