#include "tls/pem.hpp"

#include "coracle/base/impl/assert.hpp"
#include "tls/error_queue.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <utility>

namespace coracle::tls {

namespace {

result<std::string> read_text(const pem_source& from, const char* role) {
  if (!from.is_file()) return from.value();
  errno = 0;
  std::FILE* file = std::fopen(from.value().c_str(), "rb");
  std::string text;
  char part[4096];
  while (const std::size_t n = file ? std::fread(part, 1, sizeof part, file) : 0) text.append(part, n);
  const int failure = errno;
  const bool fine = file && !std::ferror(file);
  if (file) std::fclose(file);
  if (!fine)
    return status::failed_precondition("cannot read " + name_of(from, role) + ": " + std::strerror(failure));
  return text;
}

openssl_ptr<BIO> over(const std::string& text) {
  openssl_ptr<BIO> bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  CORACLE_ASSERT(bio, "no memory for a BIO");
  return bio;
}

struct passphrase_request {
  const key_pair& pair;
  bool asked = false;
  std::string thrown{};  // the exception's text; empty: none
};

// Called by OpenSSL, through which no exception may pass.
int answer_passphrase(char* buffer, int size, int, void* user) noexcept {
  auto& request = *static_cast<passphrase_request*>(user);
  request.asked = true;
  if (!request.pair.passphrase()) return -1;
  try {
    const std::string passphrase = request.pair.passphrase()();
    const int n = std::min(size, static_cast<int>(passphrase.size()));
    std::memcpy(buffer, passphrase.data(), static_cast<std::size_t>(n));
    return n;
  } catch (const std::exception& e) {
    request.thrown = std::string(e.what());
  } catch (...) {
  }
  if (request.thrown.empty()) request.thrown = "an exception without a message";
  return -1;
}

result<openssl_ptr<EVP_PKEY>> read_key(const key_pair& from) {
  const result<std::string> text = read_text(from.key(), "key");
  if (!text) return text.status();
  passphrase_request request{from};
  ERR_clear_error();
  openssl_ptr<EVP_PKEY> key(
      PEM_read_bio_PrivateKey(over(*text).get(), nullptr, &answer_passphrase, &request));
  if (key) return key;
  const std::string name = name_of(from.key(), "key");
  const std::string reason = take_error("it cannot be parsed");
  if (request.asked && !from.passphrase())
    return status::failed_precondition(name +
                                       " is protected by a passphrase: set key_pair::passphrase(), or "
                                       "remove the protection with openssl pkey");
  if (!request.thrown.empty())
    return status::failed_precondition(name + " cannot be decrypted: key_pair::passphrase() threw \"" +
                                       request.thrown + "\"");
  if (request.asked)
    return status::failed_precondition(
        name + " cannot be decrypted with the passphrase of key_pair::passphrase(): " + reason);
  return status::failed_precondition(name + " has no private key in PEM form: " + reason);
}

}  // namespace

std::string name_of(const pem_source& s, const char* role) {
  return std::string("the ") + role +
         (s.is_file() ? " file " + s.value() : std::string(" that was passed as text"));
}

result<std::vector<openssl_ptr<X509>>> read_certificates(const pem_source& from, const char* role) {
  const result<std::string> text = read_text(from, role);
  if (!text) return text.status();
  ERR_clear_error();
  const openssl_ptr<BIO> bio = over(*text);
  std::vector<openssl_ptr<X509>> found;
  while (openssl_ptr<X509> one{PEM_read_bio_X509(bio.get(), nullptr, &no_password, nullptr)}) {
    // Lets OpenSSL read the extensions now. If it did so in a handshake, and memory ran out there, it would
    // reject the certificate from then on.
    X509_check_purpose(one.get(), -1, 0);
    if (ERR_GET_REASON(ERR_peek_error()) == ERR_R_MALLOC_FAILURE) {
      ERR_clear_error();
      return status::resource_exhausted(name_of(from, role) + " was not read: out of memory");
    }
    ERR_clear_error();
    found.push_back(std::move(one));
  }
  // The end of the text is reported as "no start line"; any other error is a certificate that does not parse.
  const bool clean = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string reason = take_error("it cannot be parsed");
  if (!clean) return status::failed_precondition(name_of(from, role) + " is not valid: " + reason);
  if (found.empty())
    return status::failed_precondition(name_of(from, role) +
                                       " has no certificate in PEM form (-----BEGIN "
                                       "CERTIFICATE-----)");
  return found;
}

result<loaded_pair> read_pair(const key_pair& from) {
  result<std::vector<openssl_ptr<X509>>> chain = read_certificates(from.chain(), "certificate");
  if (!chain) return chain.status();
  result<openssl_ptr<EVP_PKEY>> key = read_key(from);
  if (!key) return key.status();
  ERR_clear_error();
  if (X509_check_private_key(chain->front().get(), key->get()) != 1) {
    ERR_clear_error();
    return status::failed_precondition(name_of(from.key(), "key") +
                                       " does not belong to the first certificate of " +
                                       name_of(from.chain(), "certificate"));
  }
  return loaded_pair{*std::move(chain), *std::move(key)};
}

std::string to_pem(X509& certificate) {
  const openssl_ptr<BIO> bio(BIO_new(BIO_s_mem()));
  if (!bio || PEM_write_bio_X509(bio.get(), &certificate) != 1) return {};
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

}  // namespace coracle::tls
