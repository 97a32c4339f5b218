#include "client/connecting/proxy.hpp"

#include "base/percent.hpp"
#include "client/naming/host_and_port.hpp"
#include "coracle/base/impl/base64.hpp"
#include "coracle/net/address.hpp"
#include "net/host_name.hpp"

#include <charconv>
#include <cstdlib>
#include <vector>

namespace coracle::client {

namespace {

std::string from_environment(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    std::string upper(name);
    for (char& c : upper)
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    for (const char* spelled : {name, upper.c_str()})
      if (const char* value = std::getenv(spelled); value && *value) return value;
  }
  return {};
}

std::optional<net::address> literal(std::string_view host) {
  std::vector<net::address> found = net::addresses_at_once(host, 0);
  if (found.size() != 1) return {};
  return found.front();
}

// network: "10.0.0.0/8"
bool in_network(const net::address& a, std::string_view network) {
  const std::size_t slash = network.find('/');
  if (slash == std::string_view::npos) return false;
  const auto base = literal(network.substr(0, slash));
  const std::string_view size = network.substr(slash + 1);
  unsigned bits = 0;
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), bits);
  const unsigned all = a.kind() == net::address::family::ipv4 ? 32 : 128;
  if (!base || base->kind() != a.kind() || error != std::errc() || end != size.data() + size.size() ||
      bits > all)
    return false;
  for (unsigned i = 0; i < bits; ++i) {
    const unsigned mask = 0x80u >> (i % 8);
    if ((a.ip_bytes()[i / 8] & mask) != (base->ip_bytes()[i / 8] & mask)) return false;
  }
  return true;
}

bool is_same_or_subdomain(std::string_view host, std::string_view name) {
  if (name.starts_with('.')) name.remove_prefix(1);
  if (name.empty() || !host.ends_with(name)) return false;
  return host.size() == name.size() || host[host.size() - name.size() - 1] == '.';
}

status invalid_proxy(std::string_view url, std::string_view problem) {
  // Leaves out the beginning of the URL, which may contain a password.
  const std::size_t at = url.rfind('@');
  std::string message = "the proxy \"";
  message.append(url.substr(at == std::string_view::npos ? 0 : at + 1)).append("\" ").append(problem);
  return status::invalid_argument(message);
}

}  // namespace

result<proxy> proxy::parse(std::string_view url) {
  proxy found;
  std::string_view rest = url;
  if (const std::size_t colon = rest.find("://"); colon != std::string_view::npos) {
    if (rest.substr(0, colon) != "http")
      return invalid_proxy(
          url,
          "has an unsupported scheme: write http://host:port (TLS to the server stays encrypted end to end)");
    rest.remove_prefix(colon + 3);
  }
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) {
    found.authorization_ = "Basic " + base::padded_base64(base::percent_decode(rest.substr(0, at)));
    rest.remove_prefix(at + 1);
  }
  const auto parts = split_host_and_port(rest);
  if (!parts) return invalid_proxy(url, "is not a valid proxy URL: write http://host:port");
  found.host_ = parts->host;
  found.port_ = parts->port.value_or(80);
  return found;
}

proxy_settings proxy_settings_of_environment() {
  return {from_environment({"grpc_proxy", "https_proxy"}), from_environment({"no_grpc_proxy", "no_proxy"})};
}

bool bypasses_proxy(std::string_view host, std::uint16_t port, std::string_view except) {
  const std::vector<net::address> known = net::addresses_at_once(host, 0);
  if (!known.empty() && known.front().is_loopback()) return true;
  while (!except.empty()) {
    const std::size_t comma = except.find(',');
    std::string_view one = except.substr(0, comma);
    except.remove_prefix(comma == std::string_view::npos ? except.size() : comma + 1);
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    if (one == "*") return true;
    const auto parts = split_host_and_port(one);
    if (parts && parts->port && parts->port != port) continue;
    if (parts) one = parts->host;
    if (known.empty() ? is_same_or_subdomain(host, one)
                      : literal(one) == known.front() || in_network(known.front(), one))
      return true;
  }
  return false;
}

}  // namespace coracle::client
