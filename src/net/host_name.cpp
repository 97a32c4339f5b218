#include "net/host_name.hpp"

#include "base/if_memory_allows.hpp"
#include "base/printable.hpp"

#include <unistd.h>
#include <algorithm>
#include <array>
#include <string>

namespace coracle::net {

namespace {

// RFC 1035 2.3.4: 255 octets on the wire, which leave 253 for the text without its final dot.
constexpr std::size_t longest_name = 253;
constexpr std::size_t longest_label = 63;

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string_view without_final_dot(std::string_view host) noexcept {
  if (host.ends_with('.')) host.remove_suffix(1);
  return host;
}

// Letters, digits and hyphens (RFC 1123 2.1), and the underscore, which existing names also use.
bool is_name_character(char c) noexcept {
  return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z') || c == '-' || c == '_';
}

bool is_localhost(std::string_view host) noexcept {
  constexpr std::string_view name = "localhost";
  host = without_final_dot(host);
  if (host.size() < name.size()) return false;
  const std::string_view last = host.substr(host.size() - name.size());
  if (!std::equal(last.begin(), last.end(), name.begin(), [](char a, char b) { return lower(a) == b; }))
    return false;
  return host.size() == name.size() || host[host.size() - name.size() - 1] == '.';
}

status invalid_host(std::string_view host, std::string_view problem) {
  return status::invalid_argument(
      "\"" + base::printable(host.substr(0, longest_name), longest_name).append("\" ").append(problem));
}

status check_label(std::string_view host, std::string_view label) {
  if (label.empty())
    return invalid_host(host, "is not a valid host name: it begins with a dot or has two dots in a row");
  if (label.size() > longest_label)
    return invalid_host(host, "is not a valid host name: a label exceeds 63 characters");
  for (const char c : label) {
    if (is_name_character(c)) continue;
    if (static_cast<unsigned char>(c) >= 0x80)
      return invalid_host(
          host,
          "is not a valid host name: it has non-ASCII characters; write its ASCII form, which "
          "begins with xn--");
    if (c == ':' || c == '%' || c == '[' || c == ']')
      return invalid_host(host,
                          "is not a valid IPv6 address or host name: pass the port separately, and a zone as "
                          "the name or the index of an interface");
    return invalid_host(host, "is not a valid host name: it has a character that host names do not permit");
  }
  return {};
}

}  // namespace

std::vector<address> addresses_at_once(std::string_view host, std::uint16_t port) {
  if (is_localhost(host)) return {address::loopback_v4(port), address::loopback_v6(port)};
  const bool brackets = host.find(':') != std::string_view::npos && !host.starts_with('[');
  std::string text = brackets ? "[" : "";
  text.append(host).append(brackets ? "]:" : ":").append(std::to_string(port));
  if (text.starts_with("unix")) return {};
  result<address> literal = address::parse(text);
  if (!literal) return {};
  return {*std::move(literal)};
}

status check_host_name(std::string_view host) {
  std::string_view rest = without_final_dot(host);
  if (rest.empty()) return invalid_host(host, "is not a valid host name: it is empty; write example.org");
  if (rest.size() > longest_name)
    return invalid_host(host, "is not a valid host name: it exceeds 253 characters");
  std::string_view label;
  for (;;) {
    const std::size_t dot = rest.find('.');
    label = rest.substr(0, dot);
    status checked = check_label(host, label);
    if (!checked.ok()) return checked;
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  // No top-level domain is a number (RFC 3696 2): "127.1" or "1.2.3.256" must not be sent to a server as a
  // name.
  if (std::all_of(label.begin(), label.end(), is_digit))
    return invalid_host(host, "is not a valid IPv4 address: write all four numbers, as in 127.0.0.1");
  return {};
}

std::string own_host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string();
}

namespace {

// Without memory for its name, the status does not say which host it is about.
status about(status_code code, std::string_view host, std::string_view detail) noexcept {
  std::string text;
  const bool whole = base::if_memory_allows([&] { text.append(host).append(": ").append(detail); });
  return {code, whole ? std::string_view(text) : detail};
}

}  // namespace

status no_such_name(std::string_view host) noexcept {
  return about(status_code::not_found, host, "the host name does not exist");
}
status no_address(std::string_view host) noexcept {
  return about(status_code::not_found, host, "the host name exists but has no address");
}
status no_name_server(std::string_view host) noexcept {
  return about(status_code::unavailable, host, "no name server responded");
}
status name_cancelled(std::string_view host) noexcept {
  return about(status_code::cancelled, host, "the name lookup was cancelled");
}
status name_timed_out(std::string_view host) noexcept {
  return about(status_code::deadline_exceeded, host, "the deadline passed before the name lookup ended");
}
status no_memory_for_name(std::string_view host) noexcept {
  return about(status_code::resource_exhausted, host, "the process is out of memory");
}

}  // namespace coracle::net
