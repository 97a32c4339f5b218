// proxy: which connections go through a proxy by HTTP CONNECT (gRFC A1).
#pragma once

#include "coracle/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::client {

// A proxy's URL, taken apart. A value.
class proxy {
 public:
  // "http://[user:password@]host[:port]", the port 80 where it names none; a text without "://" is a host with a
  // port. INVALID_ARGUMENT, with the mend, for others: a proxy that is spoken to by TLS is not supported.
  static result<proxy> parse(std::string_view url);

  [[nodiscard]] const std::string& host() const noexcept { return host_; }
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  // "Basic ..." (RFC 7617), or empty.
  [[nodiscard]] const std::string& authorization() const noexcept { return authorization_; }

 private:
  std::string host_;
  std::string authorization_;
  std::uint16_t port_ = 80;
};

// What the environment says: `proxy` of grpc_proxy or https_proxy, `except` of no_grpc_proxy or no_proxy, the first
// of each pair that is not empty, in lower or upper case.
struct proxy_settings {
  std::string url;
  std::string except;
};
proxy_settings proxy_settings_of_environment();

// Whether `host` is named in `except`: a list with commas of names ("example.org", which stands for those below it,
// too), of addresses, of networks ("10.0.0.0/8"), or "*". localhost and loopback addresses always are.
bool goes_direct(std::string_view host, std::string_view except);

}  // namespace coracle::client
