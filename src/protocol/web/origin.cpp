#include "protocol/web/origin.hpp"

#include "protocol/web/ascii.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace coracle::protocol::web {

namespace {

using ipv4_address = std::array<std::uint8_t, 4>;
using ipv6_address = std::array<std::uint8_t, 16>;

// Strict dotted decimal (RFC 3986 3.2.2): no leading zeros, which some parsers read as octal.
std::optional<ipv4_address> parse_ipv4(std::string_view text) noexcept {
  ipv4_address out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t dot = text.find('.');
    const bool last = i + 1 == out.size();
    if (last != (dot == std::string_view::npos)) return std::nullopt;
    const std::string_view digits = text.substr(0, dot);
    if (digits.empty() || digits.size() > 3 || (digits.size() > 1 && digits.front() == '0'))
      return std::nullopt;
    unsigned n = 0;
    for (const char c : digits) {
      if (c < '0' || c > '9') return std::nullopt;
      n = n * 10 + static_cast<unsigned>(c - '0');
    }
    if (n > 255) return std::nullopt;
    out[i] = static_cast<std::uint8_t>(n);
    text.remove_prefix(last ? text.size() : dot + 1);
  }
  return out;
}

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  const char l = lower(c);
  return l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
}

// Up to eight groups without "::", the last of which may be an IPv4 address. Returns the number of bytes, or
// nullopt.
std::optional<std::size_t> parse_groups(std::string_view text, bool may_end_with_ipv4,
                                        ipv6_address& out) noexcept {
  std::size_t size = 0;
  if (text.empty()) return size;
  while (true) {
    const std::size_t colon = text.find(':');
    const std::string_view group = text.substr(0, colon);
    if (colon == std::string_view::npos && may_end_with_ipv4 && group.find('.') != std::string_view::npos) {
      const auto v4 = parse_ipv4(group);
      if (!v4 || size + v4->size() > out.size()) return std::nullopt;
      std::copy(v4->begin(), v4->end(), out.begin() + static_cast<std::ptrdiff_t>(size));
      return size + v4->size();
    }
    if (group.empty() || group.size() > 4 || size + 2 > out.size()) return std::nullopt;
    unsigned n = 0;
    for (const char c : group) {
      const int v = hex_digit(c);
      if (v < 0) return std::nullopt;
      n = n * 16 + static_cast<unsigned>(v);
    }
    out[size++] = static_cast<std::uint8_t>(n >> 8);
    out[size++] = static_cast<std::uint8_t>(n & 0xff);
    if (colon == std::string_view::npos) return size;
    text.remove_prefix(colon + 1);
  }
}

// RFC 4291 2.2. Zones ("%eth0") do not occur in URLs that a browser sends.
std::optional<ipv6_address> parse_ipv6(std::string_view text) noexcept {
  const std::size_t gap = text.find("::");
  ipv6_address front{};
  if (gap == std::string_view::npos) {
    const auto size = parse_groups(text, true, front);
    if (!size || *size != front.size()) return std::nullopt;
    return front;
  }
  ipv6_address back{};
  const auto front_size = parse_groups(text.substr(0, gap), false, front);
  const auto back_size = parse_groups(text.substr(gap + 2), true, back);
  // "::" stands for at least one group.
  if (!front_size || !back_size || *front_size + *back_size > front.size() - 2) return std::nullopt;
  std::copy_n(back.begin(), *back_size, front.end() - static_cast<std::ptrdiff_t>(*back_size));
  return front;
}

// RFC 3986 3.2.2: unreserved characters, escapes and sub-delimiters.
bool valid_name_characters(std::string_view name) noexcept {
  static constexpr std::string_view others = "-._~%!$&'()*+,;=";
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') ||
           others.find(c) != std::string_view::npos;
  });
}

std::optional<std::uint16_t> parse_port(std::string_view text) noexcept {
  if (text.empty() || text.size() > 5) return std::nullopt;
  std::uint32_t n = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    n = n * 10 + static_cast<std::uint32_t>(c - '0');
  }
  if (n > 65'535) return std::nullopt;
  return static_cast<std::uint16_t>(n);
}

}  // namespace

std::optional<host_port> parse_host_port(std::string_view text) noexcept {
  host_port out;
  std::string_view after;
  if (!text.empty() && text.front() == '[') {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    out.host = text.substr(1, close - 1);
    out.ipv6 = true;
    if (!parse_ipv6(out.host)) return std::nullopt;
    after = text.substr(close + 1);
    if (!after.empty() && after.front() != ':') return std::nullopt;
  } else {
    const std::size_t colon = text.find(':');
    out.host = text.substr(0, colon);
    if (out.host.empty() || !valid_name_characters(out.host)) return std::nullopt;
    if (colon != std::string_view::npos) after = text.substr(colon);
  }
  if (!after.empty()) {
    out.port = parse_port(after.substr(1));
    if (!out.port) return std::nullopt;
  }
  return out;
}

std::optional<std::uint16_t> default_port(std::string_view scheme) noexcept {
  if (equal_ignoring_case(scheme, "http")) return std::uint16_t{80};
  if (equal_ignoring_case(scheme, "https")) return std::uint16_t{443};
  return std::nullopt;
}

std::optional<std::uint16_t> origin::effective_port() const noexcept {
  return where.port ? where.port : default_port(scheme);
}

std::optional<origin> parse_origin(std::string_view text) noexcept {
  origin out;
  if (text == "null") {
    out.opaque = true;
    return out;
  }
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  out.scheme = text.substr(0, colon);
  // RFC 3986 3.1.
  const auto letter = [](char c) { return lower(c) >= 'a' && lower(c) <= 'z'; };
  if (!letter(out.scheme.front())) return std::nullopt;
  for (const char c : out.scheme)
    if (!letter(c) && !(c >= '0' && c <= '9') && c != '+' && c != '-' && c != '.') return std::nullopt;
  const auto where = parse_host_port(text.substr(colon + 3));
  if (!where) return std::nullopt;
  out.where = *where;
  return out;
}

bool same_host(std::string_view a, std::string_view b) noexcept {
  if (equal_ignoring_case(a, b)) return true;
  if (a.find(':') == std::string_view::npos || b.find(':') == std::string_view::npos) return false;
  const auto x = parse_ipv6(a);
  return x && x == parse_ipv6(b);
}

bool same_origin(const origin& a, const origin& b) noexcept {
  if (a.opaque || b.opaque) return false;
  return equal_ignoring_case(a.scheme, b.scheme) && same_host(a.where.host, b.where.host) &&
         a.effective_port() == b.effective_port();
}

bool is_loopback_host(std::string_view host) noexcept {
  if (equal_ignoring_case(host, "localhost") || equal_ignoring_case(host, "localhost.")) return true;
  if (const auto v4 = parse_ipv4(host)) return v4->front() == 127;
  const auto v6 = parse_ipv6(host);
  if (!v6) return false;
  const auto zero_until = [&](std::size_t n) {
    return std::all_of(v6->begin(), v6->begin() + static_cast<std::ptrdiff_t>(n),
                       [](std::uint8_t b) { return b == 0; });
  };
  if (zero_until(15) && v6->back() == 1) return true;
  return zero_until(10) && (*v6)[10] == 0xff && (*v6)[11] == 0xff && (*v6)[12] == 127;  // IPv4-mapped
}

}  // namespace coracle::protocol::web
