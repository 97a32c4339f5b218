// proxy: decides which connections use an HTTP CONNECT proxy (gRFC A1).
#pragma once

#include "coracle/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::client {

// The parsed URL of a proxy. A value.
class proxy {
 public:
  // Parses "http://[user:password@]host[:port]"; the default port is 80. Text without "://" is a host and a
  // port. Returns INVALID_ARGUMENT, with a suggested fix, for others: proxies that require TLS are not
  // supported.
  static result<proxy> parse(std::string_view url);

  [[nodiscard]] const std::string& host() const noexcept { return host_; }
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  // Returns "Basic ..." (RFC 7617), or an empty string.
  [[nodiscard]] const std::string& authorization() const noexcept { return authorization_; }

 private:
  std::string host_;
  std::string authorization_;
  std::uint16_t port_ = 80;
};

// The settings of the environment: `url` is the first of grpc_proxy and https_proxy that is not empty,
// `except` that of no_grpc_proxy and no_proxy. The names may be in lower or upper case.
struct proxy_settings {
  std::string url;
  std::string except;
};
proxy_settings proxy_settings_of_environment();

// Returns whether `except` contains `host`. It is a comma-separated list of names ("example.org", which
// includes its subdomains), addresses, networks ("10.0.0.0/8"), or "*". A name or an address with a port is
// for this port alone. localhost and loopback addresses are always direct.
bool bypasses_proxy(std::string_view host, std::uint16_t port, std::string_view except);

}  // namespace coracle::client
