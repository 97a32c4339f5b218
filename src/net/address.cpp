#include "coracle/net/address.hpp"

#include <arpa/inet.h>
#include <sys/un.h>
#include <algorithm>
#include <ostream>

namespace coracle::net {

namespace {

// The kernel wants a terminating zero behind a path and a leading one before an abstract name.
constexpr std::size_t longest_path = sizeof(sockaddr_un::sun_path) - 1;

status unfit_name(std::string_view what, std::string_view name) {
  std::string text(what);
  if (name.empty()) return status::invalid_argument(text + " is empty: give one, as in unix:/run/my.sock");
  if (name.size() <= longest_path)
    return status::invalid_argument(text + " holds a zero byte: give one without");
  return status::invalid_argument(text + " has " + std::to_string(name.size()) + " bytes, the system takes " +
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

result<address> address::path(std::string_view path) {
  if (!fits(path)) return unfit_name("the path of a UNIX socket", path);
  address a;
  a.family_ = family::path;
  a.name_ = path;
  return a;
}

result<address> address::abstract(std::string_view name) {
  if (!fits(name)) return unfit_name("the abstract name of a UNIX socket", name);
  address a;
  a.family_ = family::abstract;
  a.name_ = name;
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
    case family::path: return "unix:" + name_;
    case family::abstract: return "unix-abstract:" + name_;
    case family::ipv4: return ip_text(AF_INET, ip_.data()) + ":" + std::to_string(port_);
    case family::ipv6: break;
  }
  std::string text = "[" + ip_text(AF_INET6, ip_.data());
  if (scope_ != 0) text += "%" + std::to_string(scope_);
  return text + "]:" + std::to_string(port_);
}

std::ostream& operator<<(std::ostream& out, const address& a) { return out << a.to_string(); }

}  // namespace coracle::net
