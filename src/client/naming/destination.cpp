#include "client/naming/destination.hpp"

#include "client/naming/host_and_port.hpp"
#include "coracle/net/address.hpp"
#include "coracle/net/resolver.hpp"
#include "net/host_name.hpp"

#include <utility>
#include <vector>

namespace coracle::client {

namespace {

class dns_resolver final : public resolver {
 public:
  dns_resolver(std::string host, std::uint16_t port) : host_(std::move(host)), port_(port) {}

  task<> run(const target&, resolution_sink& to) override {
    net::resolver names;
    while (true) {
      result<std::vector<net::address>> found = co_await names.resolve(host_, port_);
      if (found) {
        resolution found_addresses;
        for (net::address& a : *found) found_addresses.add(std::move(a));
        to.publish(std::move(found_addresses));
      } else {
        to.fail(found.status());
      }
      co_await to.wait_until_requested();
    }
  }

 private:
  std::string host_;
  std::uint16_t port_;
};

}  // namespace

std::shared_ptr<resolver> make_dns_resolver(std::string host, std::uint16_t port) {
  return std::make_shared<dns_resolver>(std::move(host), port);
}

namespace {

// naming.md: the default port of dns targets.
constexpr std::uint16_t default_port = 443;

status invalid_destination(const target& t, std::string_view problem) {
  std::string message = "the target \"" + t.text();
  message.append("\" ").append(problem);
  return status::unavailable(message);
}

// Sets either a resolver, or addresses if the host needs no resolution.
void find_host(const target& t, std::optional<std::uint16_t> port, const proxy_settings& by_proxy,
               destination& d) {
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
  d.by = make_dns_resolver(host, *port);
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
    find_host(t, {}, by_proxy, d);
  } else if (!t.authority().empty()) {
    d.bad = invalid_destination(t, "names a DNS server, which is not supported: write dns:///host:port");
  } else {
    find_host(t, default_port, by_proxy, d);
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
