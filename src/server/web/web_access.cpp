#include "server/web/web_access.hpp"

#include "coracle/base/usage_error.hpp"
#include "protocol/web/origin.hpp"

#include <algorithm>

namespace coracle::server_internal {

namespace {

protocol::cors_policy policy_of(const web_options& o) {
  protocol::cors_policy p;
  p.allowed_origins = o.allowed_origins;
  p.any_origin = o.any_origin;
  p.credentials = o.credentials;
  p.allowed_headers = o.allowed_headers;
  p.exposed_headers = o.exposed_headers;
  p.max_age = o.preflight_max_age;
  return p;
}

std::string_view value_of(const metadata& fields, std::string_view name) noexcept {
  return fields.find(name).value_or(std::string_view());
}

}  // namespace

web_access::web_access(const web_options& o)
    : cors_(policy_of(o)),
      hosts_(o.allowed_hosts),
      hsts_(o.hsts.count() > 0 ? "max-age=" + std::to_string(o.hsts.count()) : std::string()),
      varies_(o.any_origin || !o.allowed_origins.empty()) {
  for (const std::string& host : hosts_)
    CORACLE_REQUIRE(protocol::web::parse_host_port(host),
                    "web_options::allowed_hosts has an invalid entry: use \"movies.example\", "
                    "\"movies.example:8080\" or \"[::1]\"");
}

bool web_access::permits_host(const transport::exchange& x, std::string_view authority,
                              bool http1) const noexcept {
  using protocol::web::parse_host_port;
  const auto host = parse_host_port(authority);
  if (hosts_.empty()) {
    // Browsers always name the host; clients of HTTP/1.0 need not.
    const bool open_to_rebinding =
        http1 && !authority.empty() && !x.auth() && x.local_address().is_loopback();
    return !open_to_rebinding || (host && protocol::web::is_loopback_host(host->host));
  }
  return host && std::any_of(hosts_.begin(), hosts_.end(), [&](const std::string& entry) {
           const auto allowed = parse_host_port(entry);
           return protocol::web::same_host(allowed->host, host->host) &&
                  (!allowed->port || allowed->port == host->port);
         });
}

web_access::decision web_access::decide(const transport::exchange& x, const request_info& r,
                                        const metadata& received) const {
  protocol::cors_request c;
  c.method = r.method == request_info::verb::options ? "OPTIONS" : "";
  // Behind a proxy that terminates TLS, pages have https and this connection has not.
  c.scheme = x.auth() ? "https" : "";
  c.authority = r.authority();
  c.origin = value_of(received, "origin");
  c.fetch_site = value_of(received, "sec-fetch-site");
  if (!varies_ && c.origin.empty() && c.fetch_site.empty()) return {};
  c.request_method = value_of(received, "access-control-request-method");
  c.request_headers = value_of(received, "access-control-request-headers");
  const protocol::cors_decision d = cors_.decide(c);
  decision result;
  result.verdict = d.verdict;
  if (d.verdict == protocol::cors_verdict::preflight) cors_.add_preflight_fields(d, c, result.preflight);
  else if (d.verdict != protocol::cors_verdict::refused)
    result.fields = std::make_unique<cross_origin>(cors_, d);
  return result;
}

}  // namespace coracle::server_internal
