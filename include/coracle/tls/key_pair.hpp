// key_pair: a certificate with what vouches for it, and its private key.
#pragma once

#include "coracle/tls/pem_source.hpp"

#include <functional>
#include <string>
#include <utility>

namespace coracle::tls {

class key_pair {
 public:
  // chain: the certificate first, then its intermediates; the root may be left out. key: PKCS#8, or the older
  // forms of RSA and EC keys.
  key_pair(pem_source chain, pem_source key) : chain_(std::move(chain)), key_(std::move(key)) {}
  [[nodiscard]] static key_pair files(std::string chain_path, std::string key_path) {
    return {pem_source::file(std::move(chain_path)), pem_source::file(std::move(key_path))};
  }
  [[nodiscard]] static key_pair pem(std::string chain, std::string key) {
    return {pem_source::text(std::move(chain)), pem_source::text(std::move(key))};
  }
  // Asked for the passphrase of a protected key whenever the key is read, on the thread that reads it. Without it
  // such a key is an error; nothing ever asks on a terminal. What it throws is an error of the build or reload, too.
  key_pair& passphrase(std::function<std::string()> ask) { return passphrase_ = std::move(ask), *this; }

  [[nodiscard]] const pem_source& chain() const noexcept { return chain_; }
  [[nodiscard]] const pem_source& key() const noexcept { return key_; }
  [[nodiscard]] const std::function<std::string()>& passphrase() const noexcept { return passphrase_; }
  // Nobody can say whether two functions answer the same: a pair with one equals none, not even itself.
  friend bool operator==(const key_pair& a, const key_pair& b) noexcept {
    return a.chain_ == b.chain_ && a.key_ == b.key_ && !a.passphrase_ && !b.passphrase_;
  }

 private:
  pem_source chain_;
  pem_source key_;
  std::function<std::string()> passphrase_;
};

}  // namespace coracle::tls
