// host_of, is_host_with_port: the host of an authority.
#pragma once

#include <cstddef>
#include <string_view>

namespace coracle::security {

// Accepts "host:443", "[::1]:443", "::1" and "host".
[[nodiscard]] constexpr std::string_view host_of(std::string_view authority) noexcept {
  if (authority.starts_with('[')) return authority.substr(1, authority.find(']') - 1);
  const std::size_t colon = authority.rfind(':');
  if (colon == std::string_view::npos || authority.find(':') != colon) return authority;
  return authority.substr(0, colon);
}

// Whether the authority is that host alone, or with a port: nothing else may follow it.
[[nodiscard]] constexpr bool is_host_with_port(std::string_view authority) noexcept {
  const std::string_view host = host_of(authority);
  if (host == authority) return true;
  std::string_view rest = authority.substr(host.size());
  if (authority.starts_with('[')) {
    if (host.find(':') == std::string_view::npos) return false;
    rest = authority.substr(host.size() + 1);
    if (!rest.starts_with(']')) return false;
    rest.remove_prefix(1);
    if (rest.empty()) return true;
  }
  return rest.starts_with(':') && rest.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

}  // namespace coracle::security
