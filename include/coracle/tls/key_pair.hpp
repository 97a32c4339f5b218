// key_pair: a certificate with its chain, and its private key.
#pragma once

#include "coracle/base/impl/requirements.hpp"

#include <functional>
#include <string>
#include <utility>

namespace coracle::tls {

/// PEM text, or the path of a file that holds it. The file is read when credentials are built and again when
/// it has changed, including replacement by rename and by the symbolic links of Kubernetes. Changes are
/// detected when a connection is made or accepted, at most once per second.
class pem_source {
 public:
  /// Makes a source from PEM text.
  [[nodiscard]] static pem_source text(std::string pem) { return {std::move(pem), false}; }
  /// Makes a source from the path of a PEM file, which is not read yet.
  [[nodiscard]] static pem_source file(std::string path) { return {std::move(path), true}; }

  /// Returns whether this is the path of a file.
  [[nodiscard]] bool is_file() const noexcept { return is_file_; }
  /// Returns the path if is_file(), else the text.
  [[nodiscard]] const std::string& value() const noexcept { return value_; }
  friend bool operator==(const pem_source&, const pem_source&) = default;

 private:
  pem_source(std::string value, bool is_file) noexcept : value_(std::move(value)), is_file_(is_file) {}
  std::string value_;
  bool is_file_;
};

/// A certificate chain and the private key of its first certificate.
class key_pair {
 public:
  /// Constructs a pair from PEM sources.
  ///
  /// chain: the certificate first, then its intermediates; the root may be omitted.
  /// key: PKCS#8, or the traditional formats of RSA and EC keys.
  key_pair(pem_source chain, pem_source key) : chain_(std::move(chain)), key_(std::move(key)) {}
  /// Constructs a pair from the paths of PEM files.
  [[nodiscard]] static key_pair files(std::string chain_path, std::string key_path) {
    return {pem_source::file(std::move(chain_path)), pem_source::file(std::move(key_path))};
  }
  /// Constructs a pair from PEM texts.
  [[nodiscard]] static key_pair pem(std::string chain, std::string key) {
    return {pem_source::text(std::move(chain)), pem_source::text(std::move(key))};
  }
  /// Sets the function that returns the passphrase of an encrypted key. It is called each time the key is
  /// read, on the thread that reads it. Without it an encrypted key is an error; the library never prompts on
  /// a terminal. If it throws, build() or reload() fails.
  key_pair& passphrase(std::function<std::string()> ask) { return passphrase_ = std::move(ask), *this; }

  /// Returns the source of the certificate chain.
  [[nodiscard]] const pem_source& chain() const noexcept { return chain_; }
  /// Returns the source of the private key.
  [[nodiscard]] const pem_source& key() const noexcept { return key_; }
  /// Returns the function that returns the passphrase; empty if there is none.
  [[nodiscard]] const std::function<std::string()>& passphrase() const noexcept { return passphrase_; }
  /// Compares the sources. A pair with a passphrase function equals no other pair, not even itself, because
  /// functions cannot be compared.
  friend bool operator==(const key_pair& a, const key_pair& b) noexcept {
    return a.chain_ == b.chain_ && a.key_ == b.key_ && !a.passphrase_ && !b.passphrase_;
  }

 private:
  pem_source chain_;
  pem_source key_;
  std::function<std::string()> passphrase_;
};

}  // namespace coracle::tls
