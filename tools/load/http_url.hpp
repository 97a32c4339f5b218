// http_url: the URL of an HTTP/1.1 endpoint.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::tools::load {

class http_url {
 public:
  // Accepts "http://host[:port][/path]"; throws usage_failure for everything else, https included.
  explicit http_url(std::string_view text);

  [[nodiscard]] const std::string& host() const noexcept {
    return host_;
  }  // an IPv6 address without its brackets
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] const std::string& authority() const noexcept { return authority_; }  // for the Host header
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string host_;
  std::string authority_;
  std::string path_;
  std::uint16_t port_ = 80;
};

}  // namespace coracle::tools::load
