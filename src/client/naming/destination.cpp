#include "client/naming/destination.hpp"

#include "client/naming/dns_resolver.hpp"
#include "client/naming/host_and_port.hpp"
#include "coracle/net/address.hpp"
#include "net/host_name.hpp"

#include <utility>
#include <vector>

namespace coracle::client {

namespace {

// naming.md: the default port of dns targets.
constexpr std::uint16_t default_port = 443;

status invalid_destination(const target& t, std::string_view problem) {
  std::string message = "the target \"" + t.text();
  message.append("\" ").append(problem);
  return status::unavailable(message);
}

// RFC 2782: "_grpc._tcp.example.org".
bool names_a_service(std::string_view name) noexcept {
  return name.starts_with('_') && name.find("._tcp.") == name.find('.') && name.find('.') != name.npos;
}

// The name servers of "dns://127.0.0.1:5353/...", or those of the machine. False if they are no addresses.
bool name_servers_of(const target& t, std::string& servers) {
  const std::string& authority = t.authority();
  servers = authority;
  return authority.empty() || net::address::parse(authority).ok() ||
         net::address::parse(authority + ":53").ok();
}

// A service, whose records have its ports. It is never reached by a proxy, which knows hosts only.
void find_service(const target& t, dns_name by, destination& d) {
  if (const status fit = net::check_host_name(t.endpoint()); !fit.ok()) {
    d.bad = invalid_destination(t, "is not the name of a service: " + std::string(fit.message()));
    return;
  }
  by.service = t.endpoint();
  const std::size_t end = by.service.find("._tcp.") + std::string_view("._tcp.").size();
  by.host = by.service.substr(end);
  d.authority = by.host;
  d.by = make_dns_resolver(std::move(by));
}

// Sets either a resolver, or addresses if the host needs no resolution.
void find_host(const target& t, std::optional<std::uint16_t> port, const proxy_settings& by_proxy,
               dns_name by, destination& d) {
  const auto parts = split_host_and_port(t.endpoint());
  if (!parts) {
    d.bad =
        invalid_destination(t, "is not a valid host and port: write host:port, 127.0.0.1:port or [::1]:port");
    return;
  }
  if (parts->port) port = parts->port;
  if (!port) {
    d.bad = invalid_destination(t, "has no port: write host:port");
    return;
  }
  std::string host = parts->host;
  if (!by_proxy.url.empty() && !bypasses_proxy(host, *port, by_proxy.except)) {
    const result<proxy> p = proxy::parse(by_proxy.url);
    if (!p) {
      d.bad = invalid_destination(t, "cannot be reached: " + std::string(p.status().message()));
      return;
    }
    // A name that must not be resolved must not be sent in a header either.
    const bool literal = !net::addresses_at_once(host, *port).empty();
    if (const status fit = net::check_host_name(host); !literal && !fit.ok()) {
      d.bad = invalid_destination(t, "is not a valid address or host name: " + std::string(fit.message()));
      return;
    }
    const bool v6 = host.find(':') != std::string::npos;
    d.through = tunnel{(v6 ? "[" + host + "]" : host) + ":" + std::to_string(*port), p->authorization()};
    host = p->host();
    port = p->port();
  }
  std::vector<net::address> literal = net::addresses_at_once(host, *port);
  for (net::address& a : literal) d.known.add(std::move(a));
  if (!literal.empty()) return;
  if (const status fit = net::check_host_name(host); !fit.ok()) {
    d.bad = invalid_destination(t, "is not a valid address or host name: " + std::string(fit.message()));
    return;
  }
  by.host = std::move(host);
  by.port = *port;
  if (d.through) by.reads_service_config = false;  // the host is that of the proxy
  d.by = make_dns_resolver(std::move(by));
}

// Parses "a:p,b:p".
void find_list(const target& t, net::address::family family, destination& d) {
  std::string_view rest = t.endpoint();
  while (true) {
    const std::size_t comma = rest.find(',');
    std::string_view one = rest.substr(0, comma);
    const auto parts = split_host_and_port(one);
    const auto found = parts ? net::addresses_at_once(parts->host, parts->port.value_or(default_port))
                             : std::vector<net::address>();
    if (found.size() != 1 || found.front().kind() != family) {
      d.bad =
          invalid_destination(t, family == net::address::family::ipv4
                                     ? "is not a valid list of IPv4 addresses: write ipv4:1.2.3.4:50051,..."
                                     : "is not a valid list of IPv6 addresses: write ipv6:[::1]:50051,...");
      return;
    }
    d.known.add(found.front());
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  // HTTP requires a single host.
  d.authority = d.known.endpoints().front().address().to_string();
}

void find_unix(const target& t, destination& d) {
  d.authority = "localhost";
  const bool abstract = t.scheme() == "unix-abstract";
  if (!t.authority().empty()) {
    d.bad = invalid_destination(t, "names a host: write unix:/path, unix:///path or unix-abstract:name");
    return;
  }
  auto found = abstract ? net::address::abstract(t.endpoint()) : net::address::path(t.endpoint());
  if (found) d.known.add(*std::move(found));
  else d.bad = invalid_destination(t, found.status().message());
}

void find(const target& t, const channel_options& options, const proxy_settings& by_proxy, destination& d) {
  const auto made = options.resolver_makers().find(t.scheme());
  if (options.resolver) {
    d.by = options.resolver;
  } else if (made != options.resolver_makers().end()) {
    d.by = (*made->second)(t);
    if (d.by) d.authority = d.by->authority(t);
    else d.bad = invalid_destination(t, "was rejected by the resolver of its scheme");
  } else if (t.scheme() == "unix" || t.scheme() == "unix-abstract") {
    find_unix(t, d);
  } else if (t.scheme() == "ipv4" || t.scheme() == "ipv6") {
    find_list(t, t.scheme() == "ipv4" ? net::address::family::ipv4 : net::address::family::ipv6, d);
  } else if (t.scheme() == "passthrough") {
    find_host(t, {}, by_proxy, {}, d);
  } else {
    dns_name by;
    by.reads_service_config = options.dns_service_config;
    if (!name_servers_of(t, by.name_servers))
      d.bad = invalid_destination(t,
                                  "names a DNS server by something else than its IP address: write "
                                  "dns:///host:port or dns://127.0.0.1:53/host:port");
    else if (names_a_service(t.endpoint())) find_service(t, std::move(by), d);
    else find_host(t, default_port, by_proxy, std::move(by), d);
  }
}

// RFC 6874 4: the zone of an address means nothing to another machine, and is not sent.
std::string without_zone(std::string authority) {
  const std::size_t percent = authority.find('%');
  if (percent != std::string::npos && authority.starts_with('['))
    authority.erase(percent, authority.find(']') - percent);
  return authority;
}

}  // namespace

namespace {

// Only the default scheme, dns, may be left out.
std::string with_scheme(const target& t) {
  const bool has_scheme = t.text().size() > t.endpoint().size() && t.text() != t.endpoint();
  return has_scheme ? t.text() : "dns:///" + t.text();
}

}  // namespace

destination find_destination(std::string_view text, const channel_options& options,
                             const proxy_settings& by_proxy) {
  std::vector<std::string_view> schemes{"dns", "unix", "unix-abstract", "ipv4", "ipv6", "passthrough"};
  for (const auto& [scheme, maker] : options.resolver_makers()) schemes.push_back(scheme);
  destination d;
  d.name = text;
  result<target> parsed = target::parse(text, schemes);
  if (!parsed) {
    d.bad = status::unavailable(parsed.status().message());
    return d;
  }
  d.of = *std::move(parsed);
  d.uri = with_scheme(*d.of);
  d.authority = d.of->endpoint();
  find(*d.of, options, by_proxy, d);
  d.authority = without_zone(std::move(d.authority));
  if (!options.authority.empty()) d.authority = options.authority;
  return d;
}

}  // namespace coracle::client
