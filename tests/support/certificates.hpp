// certificates: the files that certificates.sh generates, once per test program.
#pragma once

#include "coracle/tls/client_options.hpp"
#include "coracle/tls/server_options.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace coracle::testing_support {

// A directory of its own, removed at the end of the program; a copy of CORACLE_TEST_CERTIFICATES if that
// names a directory that certificates.sh has filled.
class certificates {
 public:
  static const certificates& made() {
    static const certificates one;
    return one;
  }
  certificates(const certificates&) = delete;
  certificates& operator=(const certificates&) = delete;
  ~certificates() { std::filesystem::remove_all(folder_); }

  // "ca.pem", "server.key": see certificates.sh.
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    if (!file) throw std::runtime_error("there is no " + path(name));
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

 private:
  certificates() {
    std::string name = (std::filesystem::temp_directory_path() / "coracle-certificates-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    if (const char* ready = std::getenv("CORACLE_TEST_CERTIFICATES")) {
      std::filesystem::copy(ready, folder_);
      return;
    }
    // Appended, not concatenated: GCC 12 reports overflows in sums that begin with a literal.
    std::string command = "bash \"";
    command.append(CORACLE_TESTS_DIR).append("/support/certificates.sh\" \"").append(folder_).append("\"");
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
  std::string folder_;
};

inline std::string certificate(const std::string& name) { return certificates::made().path(name); }

inline tls::server_options served_as(const std::string& name) {
  tls::server_options credentials;
  credentials.certificates.push_back(
      tls::key_pair::files(certificate(name + ".pem"), certificate(name + ".key")));
  return credentials;
}
inline tls::client_options trusting(const std::string& ca) {
  tls::client_options credentials;
  credentials.cas.push_back(tls::pem_source::file(certificate(ca + ".pem")));
  return credentials;
}
inline tls::key_pair pair_of(const std::string& name) {
  return tls::key_pair::files(certificate(name + ".pem"), certificate(name + ".key"));
}

}  // namespace coracle::testing_support
