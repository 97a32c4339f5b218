#include "http1/start_line.hpp"

#include "http/field_rules.hpp"
#include "http1/text.hpp"

#include <algorithm>
#include <cstddef>

namespace coracle::http1 {

namespace {

constexpr std::string_view version_name = "HTTP/";
constexpr std::size_t version_bytes = 8;  // HTTP/1.1

// RFC 9112 2.3: HTTP-version = "HTTP/" DIGIT "." DIGIT, and the name is case-sensitive.
bool is_version(std::string_view text) noexcept {
  return text.size() == version_bytes && text.starts_with(version_name) && is_digit(text[5]) &&
         text[6] == '.' && is_digit(text[7]);
}

refusal check_version(std::string_view text, bool& is_1_0) noexcept {
  if (text == "HTTP/1.1") {
    is_1_0 = false;
    return {};
  }
  if (text == "HTTP/1.0") {
    is_1_0 = true;
    return {};
  }
  if (is_version(text)) return {505, "a version other than HTTP/1.0 and HTTP/1.1"};
  return {400, "a malformed version"};
}

// RFC 3986 3.2.2, reg-name and IPv4address: unreserved, percent-encoded and sub-delims.
bool is_host_name(std::string_view text) noexcept {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z')) continue;
    if (c == '%') {
      if (text.size() - i < 3 || !is_hex_digit(text[i + 1]) || !is_hex_digit(text[i + 2])) return false;
      i += 2;
      continue;
    }
    if (std::string_view("-._~!$&'()*+,;=").find(c) == std::string_view::npos) return false;
  }
  return true;
}

// RFC 3986 3.2.2, the part of an IP-literal between its brackets. The digits are not counted: a name that is
// no address resolves to nothing.
bool is_ip_literal(std::string_view text) noexcept {
  return text.find(':') != std::string_view::npos && std::all_of(text.begin(), text.end(), [](char c) {
           return is_hex_digit(c) || c == ':' || c == '.';
         });
}

bool is_port(std::string_view text) noexcept {
  std::uint16_t number = 0;
  return text.empty() || read_number(text, number);
}

bool equal_hosts(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

// RFC 9112 3.2.2. `rest` follows "scheme://".
refusal read_absolute_target(std::string_view rest, request_line& into) noexcept {
  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  into.authority = rest.substr(0, end);
  authority parts;
  // RFC 9110 4.2.1: a URI of the scheme http without a host is invalid.
  if (!read_authority(into.authority, parts) || parts.host.empty())
    return {400, "an absolute target whose authority is not valid"};
  into.path = rest.substr(end);
  if (into.path.empty()) {
    // RFC 9112 3.2.4: the form that a proxy turns into an asterisk.
    into.path = into.method == "OPTIONS" ? "*" : "/";
  } else {
    into.add_slash = into.path.front() == '?';
  }
  return {};
}

refusal read_target(std::string_view target, request_line& into) noexcept {
  if (target.empty()) return {400, "a request without a target"};
  // RFC 3986 3.5: a fragment is never sent.
  if (!http::valid_uri_characters(target) || target.find('#') != std::string_view::npos)
    return {400, "a target with a character that must be percent-encoded"};
  if (target.front() == '/') {
    into.path = target;
    return {};
  }
  if (target == "*") {
    // RFC 9112 3.2.4
    if (into.method != "OPTIONS") return {400, "the target * without the method OPTIONS"};
    into.path = target;
    return {};
  }
  for (const std::string_view scheme : {std::string_view("http"), std::string_view("https")}) {
    const std::size_t n = scheme.size();
    if (target.size() < n + 3 || !equal_ignoring_case(target.substr(0, n), scheme) ||
        target.substr(n, 3) != "://")
      continue;
    into.scheme = scheme;
    return read_absolute_target(target.substr(n + 3), into);
  }
  return {400, "a target that is neither a path nor an absolute URI of http or https"};
}

}  // namespace

bool read_authority(std::string_view text, authority& into) noexcept {
  std::size_t end = 0;  // of the host
  if (text.starts_with('[')) {
    end = text.find(']');
    if (end == std::string_view::npos || !is_ip_literal(text.substr(1, end - 1))) return false;
    ++end;
  } else {
    end = std::min(text.find(':'), text.size());
    if (!is_host_name(text.substr(0, end))) return false;
  }
  into.host = text.substr(0, end);
  into.port = {};
  if (end == text.size()) return true;
  if (text[end] != ':') return false;
  into.port = text.substr(end + 1);
  return is_port(into.port) && !into.host.empty();
}

bool same_authority(const authority& a, const authority& b, std::string_view scheme) noexcept {
  const auto port_of = [scheme](const authority& x) {
    std::uint16_t number = scheme == "https" ? 443 : 80;
    if (!x.port.empty()) static_cast<void>(read_number(x.port, number));
    return number;
  };
  return equal_hosts(a.host, b.host) && port_of(a) == port_of(b);
}

bool names_http(std::string_view line) noexcept {
  for (std::size_t i = 0; i + version_name.size() <= line.size(); ++i)
    if (equal_ignoring_case(line.substr(i, version_name.size()), "http/")) return true;
  return false;
}

std::string_view not_http(std::string_view first) noexcept {
  // RFC 8446 5.1: a record of the handshake, or an alert.
  if (first.starts_with('\x16') || first.starts_with('\x15'))
    return "the peer speaks TLS, and this side plaintext";
  if (first.starts_with("SSH-")) return "the peer speaks SSH";
  if (first.starts_with("PROXY ")) return "the peer begins with the PROXY protocol, which is not supported";
  return "the first line is not one of HTTP/1.x";
}

refusal read_request_line(std::string_view line, request_line& into) noexcept {
  into = {};
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (!line.ends_with("HTTP/1.1") && !names_http(line)) return {0, not_http(line)};
  // RFC 9112 3: one space on each side of the target, and none elsewhere. Recipients that are lenient here
  // disagree on where the target ends.
  if (first == std::string_view::npos || first == last)
    return {400, "a request line that is not a method, a target and a version"};
  into.method = line.substr(0, first);
  if (!http::valid_token(into.method)) return {400, "a method that is not a token"};
  if (const refusal wrong = check_version(line.substr(last + 1), into.is_1_0)) return wrong;
  // RFC 9110 9.3.6. What would follow is a tunnel, not a message.
  if (into.method == "CONNECT") return {501, "CONNECT is not supported"};
  return read_target(line.substr(first + 1, last - first - 1), into);
}

refusal read_status_line(std::string_view line, status_line& into) noexcept {
  into = {};
  if (!names_http(line.substr(0, version_name.size()))) return {0, not_http(line)};
  if (const refusal wrong = check_version(line.substr(0, version_bytes), into.is_1_0)) return wrong;
  // RFC 9112 4. Without a reason, some servers also omit the space before it.
  const std::string_view rest = line.substr(version_bytes);
  if (rest.size() < 4 || rest[0] != ' ' || (rest.size() > 4 && rest[4] != ' ') ||
      !read_number(rest.substr(1, 3), into.code) || into.code < 100 || into.code > 999)
    return {400, "a status line without a status of three digits"};
  into.code_text = rest.substr(1, 3);
  into.reason = rest.substr(std::min<std::size_t>(rest.size(), 5));
  if (!std::all_of(into.reason.begin(), into.reason.end(), is_value_character))
    return {400, "a reason phrase with a control character"};
  return {};
}

}  // namespace coracle::http1
