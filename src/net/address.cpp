#include "coracle/net/address.hpp"

#include <arpa/inet.h>
#include <net/if.h>
#include <sys/un.h>
#include <algorithm>
#include <charconv>
#include <optional>
#include <ostream>
#include <tuple>

namespace coracle::net {

namespace {

// The kernel requires a terminating zero after a path and a leading zero before an abstract name.
constexpr std::size_t longest_path = sizeof(sockaddr_un::sun_path) - 1;

status invalid_name(std::string_view kind_of_name, std::string_view name) {
  std::string text(kind_of_name);
  if (name.empty()) return status::invalid_argument(text + " is empty: write one, as in unix:/run/my.sock");
  if (name.size() <= longest_path) return status::invalid_argument(text + " contains a zero byte: remove it");
  return status::invalid_argument(text + " has " + std::to_string(name.size()) + " bytes, limit " +
                                  std::to_string(longest_path) + ": choose a shorter one");
}

bool fits(std::string_view name) {
  return !name.empty() && name.size() <= longest_path && name.find('\0') == std::string_view::npos;
}

std::string ip_text(int family, const void* bytes) {
  char text[INET6_ADDRSTRLEN] = {};
  return ::inet_ntop(family, bytes, text, sizeof text);
}

}  // namespace

address address::ipv4(std::array<std::uint8_t, 4> bytes, std::uint16_t port) noexcept {
  address a;
  a.family_ = family::ipv4;
  std::copy(bytes.begin(), bytes.end(), a.ip_.begin());
  a.port_ = port;
  return a;
}

address address::ipv6(const std::array<std::uint8_t, 16>& bytes, std::uint16_t port,
                      std::uint32_t scope) noexcept {
  address a;
  a.family_ = family::ipv6;
  a.ip_ = bytes;
  a.port_ = port;
  a.scope_ = scope;
  return a;
}

address address::loopback_v6(std::uint16_t port) noexcept {
  std::array<std::uint8_t, 16> bytes{};
  bytes[15] = 1;
  return ipv6(bytes, port);
}

const std::string& address::name() const noexcept {
  static const auto& none = *new std::string;  // never destroyed: addresses may outlive main()
  return name_ ? *name_ : none;
}

std::strong_ordering operator<=>(const address& a, const address& b) noexcept {
  const auto rest = [](const address& of) { return std::tie(of.ip_, of.scope_, of.port_, of.family_); };
  if (a.name_ != b.name_)
    if (const auto by_name = a.name() <=> b.name(); by_name != 0) return by_name;
  return rest(a) <=> rest(b);
}

result<address> address::path(std::string_view path) {
  if (!fits(path)) return invalid_name("the path of a UNIX socket", path);
  address a;
  a.family_ = family::path;
  a.name_ = std::make_shared<const std::string>(path);
  return a;
}

result<address> address::abstract(std::string_view name) {
  if (!fits(name)) return invalid_name("the abstract name of a UNIX socket", name);
  address a;
  a.family_ = family::abstract;
  a.name_ = std::make_shared<const std::string>(name);
  return a;
}

address address::unnamed_unix() noexcept {
  address a;
  a.family_ = family::path;
  return a;
}

bool address::is_loopback() const noexcept {
  if (family_ == family::ipv4) return ip_[0] == 127;
  if (family_ == family::ipv6) return ip_ == loopback_v6(0).ip_;
  return is_unix();
}

address address::with_port(std::uint16_t port) const {
  address a = *this;
  if (is_ip()) a.port_ = port;
  return a;
}

std::string address::to_string() const {
  switch (family_) {
    case family::none: return "(none)";
    case family::path: return "unix:" + name();
    case family::abstract: return "unix-abstract:" + name();
    case family::ipv4: return ip_text(AF_INET, ip_.data()) + ":" + std::to_string(port_);
    case family::ipv6: break;
  }
  std::string text = "[" + ip_text(AF_INET6, ip_.data());
  if (scope_ != 0) text += "%" + std::to_string(scope_);
  return text + "]:" + std::to_string(port_);
}

std::ostream& operator<<(std::ostream& out, const address& a) { return out << a.to_string(); }

namespace {

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number n{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return n;
}

status invalid_address(std::string_view text, std::string_view problem) {
  std::string message = "\"";
  message.append(text).append("\" ").append(problem);
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
      return invalid_address(text, "has no closing bracket: write [address]:port");
    found.bracketed = true;
    found.host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
  } else {
    const std::size_t colon = text.rfind(':');
    found.host = text.substr(0, colon);
    if (found.host.find(':') != std::string_view::npos)
      return invalid_address(text, "looks like IPv6 without brackets: write [address]:port");
    if (colon != std::string_view::npos) rest = text.substr(colon);
  }
  if (rest.empty())
    return invalid_address(text, "has no port: write host:port, with port 0 for any free port");
  const auto port = number<std::uint16_t>(rest.substr(1));
  if (rest.front() != ':' || !port)
    return invalid_address(text, "has no valid port: write a number from 0 to 65535");
  if (found.host.empty())
    return invalid_address(text, "has no host: write 127.0.0.1 for this machine only, * for all interfaces");
  found.port = *port;
  return found;
}

std::optional<address> parse_v4(std::string_view host, std::uint16_t port) {
  std::array<std::uint8_t, 4> bytes{};
  if (::inet_pton(AF_INET, std::string(host).c_str(), bytes.data()) != 1) return {};
  return address::ipv4(bytes, port);
}

// RFC 4007 11: a zone is the index or the name of an interface. 0 if there is no such interface.
std::uint32_t index_of_zone(std::string_view zone) {
  if (const auto index = number<std::uint32_t>(zone)) return *index;
  const unsigned found = ::if_nametoindex(std::string(zone).c_str());
  // RFC 6874 2: URIs write "%25" for the '%' in front of the zone.
  return found == 0 && zone.starts_with("25") ? ::if_nametoindex(std::string(zone.substr(2)).c_str()) : found;
}

std::optional<address> parse_v6(std::string_view host, std::uint16_t port) {
  std::uint32_t scope = 0;
  if (const std::size_t percent = host.find('%'); percent != std::string_view::npos) {
    scope = index_of_zone(host.substr(percent + 1));
    if (scope == 0) return {};
    host = host.substr(0, percent);
  }
  std::array<std::uint8_t, 16> bytes{};
  if (::inet_pton(AF_INET6, std::string(host).c_str(), bytes.data()) != 1) return {};
  return address::ipv6(bytes, port, scope);
}

// Returns the rest of `text` after `scheme`.
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
      return invalid_address(text, "names a host: write unix:/path or unix:///path");
    return path(absolute ? *absolute : *rest);
  }
  const result<host_and_port> parts = split(text);
  if (!parts) return parts.status();
  if (const auto v6 = parse_v6(parts->host, parts->port)) return *v6;
  if (parts->bracketed)
    return invalid_address(text,
                           "has no valid IPv6 address between its brackets (a zone must be the name or "
                           "the index of an interface of this machine, as in [fe80::1%eth0]:80)");
  if (const auto v4 = parse_v4(parts->host, parts->port)) return *v4;
  return invalid_address(
      text, "is not a valid IP address: host names are not resolved here; use an address or localhost");
}

result<std::vector<address>> parse_addresses(std::string_view text) {
  std::vector<address> found;
  const bool loopback = text.starts_with("localhost:");
  if (loopback || text.starts_with("*:") || text.starts_with("0.0.0.0:")) {
    const result<host_and_port> parts = split(text);
    if (!parts) return parts.status();
    found.push_back(loopback ? address::loopback_v4(parts->port) : address::ipv4({}, parts->port));
    found.push_back(loopback ? address::loopback_v6(parts->port) : address::ipv6({}, parts->port));
    return found;
  }
  result<address> one = address::parse(text);
  if (!one) return one.status();
  found.push_back(*std::move(one));
  return found;
}

}  // namespace coracle::net
