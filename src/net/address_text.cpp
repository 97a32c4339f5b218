// Reading addresses from text: address::parse and parse_addresses.
#include "coracle/net/address.hpp"

#include <arpa/inet.h>
#include <charconv>
#include <optional>

namespace coracle::net {

namespace {

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number n{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return n;
}

status unfit_address(std::string_view text, std::string_view why_and_mend) {
  std::string message = "\"";
  message.append(text).append("\" ").append(why_and_mend);
  return status::invalid_argument(message);
}

struct host_and_port {
  std::string_view host;
  std::uint16_t port = 0;
  bool bracketed = false;
};

result<host_and_port> split(std::string_view text) {
  host_and_port found;
  std::string_view rest;
  if (!text.empty() && text.front() == '[') {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos)
      return unfit_address(text, "has no closing bracket: write [address]:port");
    found.bracketed = true;
    found.host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
  } else {
    const std::size_t colon = text.rfind(':');
    found.host = text.substr(0, colon);
    if (found.host.find(':') != std::string_view::npos)
      return unfit_address(text, "looks like IPv6 without brackets: write [address]:port");
    if (colon != std::string_view::npos) rest = text.substr(colon);
  }
  if (rest.empty()) return unfit_address(text, "has no port: write host:port, with port 0 for any free one");
  const auto port = number<std::uint16_t>(rest.substr(1));
  if (rest.front() != ':' || !port)
    return unfit_address(text, "has no valid port: give a number from 0 to 65535");
  if (found.host.empty())
    return unfit_address(
        text, "has no host: write 127.0.0.1 for this machine only, 0.0.0.0 or [::] for all interfaces");
  found.port = *port;
  return found;
}

std::optional<address> parse_v4(std::string_view host, std::uint16_t port) {
  std::array<std::uint8_t, 4> bytes{};
  if (::inet_pton(AF_INET, std::string(host).c_str(), bytes.data()) != 1) return {};
  return address::ipv4(bytes, port);
}

// RFC 4007 11: the zone stands behind a '%'. Interface names are not looked up: that is a question to the
// system.
std::optional<address> parse_v6(std::string_view host, std::uint16_t port) {
  std::uint32_t scope = 0;
  if (const std::size_t percent = host.find('%'); percent != std::string_view::npos) {
    const auto index = number<std::uint32_t>(host.substr(percent + 1));
    if (!index) return {};
    scope = *index;
    host = host.substr(0, percent);
  }
  std::array<std::uint8_t, 16> bytes{};
  if (::inet_pton(AF_INET6, std::string(host).c_str(), bytes.data()) != 1) return {};
  return address::ipv6(bytes, port, scope);
}

// The rest of `text` behind `scheme`.
std::optional<std::string_view> behind(std::string_view text, std::string_view scheme) {
  if (!text.starts_with(scheme)) return {};
  return text.substr(scheme.size());
}

}  // namespace

result<address> address::parse(std::string_view text) {
  if (const auto name = behind(text, "unix-abstract:")) return abstract(*name);
  if (const auto rest = behind(text, "unix:")) {
    const auto absolute = behind(*rest, "//");
    if (absolute && !absolute->starts_with('/'))
      return unfit_address(text, "names a host: write unix:/path or unix:///path");
    return path(absolute ? *absolute : *rest);
  }
  const result<host_and_port> parts = split(text);
  if (!parts) return parts.status();
  if (const auto v6 = parse_v6(parts->host, parts->port)) return *v6;
  if (parts->bracketed)
    return unfit_address(text,
                         "holds no IPv6 address between its brackets (a zone is an interface's number)");
  if (const auto v4 = parse_v4(parts->host, parts->port)) return *v4;
  return unfit_address(
      text, "is no IP address: names need a resolver, which is not asked here; use an address or localhost");
}

result<std::vector<address>> parse_addresses(std::string_view text) {
  std::vector<address> found;
  if (text.starts_with("localhost:")) {
    const result<host_and_port> parts = split(text);
    if (!parts) return parts.status();
    found.push_back(address::loopback_v4(parts->port));
    found.push_back(address::loopback_v6(parts->port));
    return found;
  }
  result<address> one = address::parse(text);
  if (!one) return one.status();
  found.push_back(*std::move(one));
  return found;
}

}  // namespace coracle::net
