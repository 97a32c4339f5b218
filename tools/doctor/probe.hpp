// probe: a connection by hand, with or without TLS, to learn what a server does before any call.
#pragma once

#include "tools/certs/openssl.hpp"
#include "tools/endpoint.hpp"

#include <coracle/base/clock.hpp>
#include <coracle/net/address.hpp>

#include <openssl/ssl.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::tools::doctor {

// What a handshake has shown.
struct handshake {
  bool done = false;
  std::string error;      // why not
  std::string version;    // "TLSv1.3"
  std::string protocol;   // what ALPN selected; empty if nothing
  std::string unverified;  // why the chain is not trusted; empty if it is
  std::vector<openssl_ptr<X509>> chain;  // the server's own certificate first
};

// Blocks, each operation for at most `limit`: a server that does not answer costs a few seconds.
class probe {
 public:
  static constexpr duration limit = std::chrono::seconds(3);
  // The most that one receive() takes from the server.
  static constexpr std::size_t received_bytes_max = 16 * 1024;

  // Connects to the address; check error().
  explicit probe(const net::address& to);
  probe(const probe&) = delete;
  probe& operator=(const probe&) = delete;
  ~probe();
  [[nodiscard]] const std::string& error() const noexcept { return error_; }

  // Begins TLS, with the files and the server name of the options, and offers the one protocol. The chain is
  // verified but accepted in any case.
  [[nodiscard]] handshake secure(const endpoint& with, const std::string& name, std::string_view protocol);
  // False if the connection has ended; error() says why.
  bool send(std::string_view bytes);
  // The next bytes; empty if the connection has ended, or nothing has arrived within the limit.
  [[nodiscard]] std::string receive();

 private:
  struct ssl_deleter {
    void operator()(SSL* s) const noexcept { SSL_free(s); }
    void operator()(SSL_CTX* c) const noexcept { SSL_CTX_free(c); }
  };
  int socket_ = -1;
  std::string error_;
  std::unique_ptr<SSL_CTX, ssl_deleter> context_;
  std::unique_ptr<SSL, ssl_deleter> ssl_;
};

}  // namespace coracle::tools::doctor
