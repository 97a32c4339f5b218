#include "telemetry/otlp/destination.hpp"

#include "base/if_memory_allows.hpp"
#include "base/printable.hpp"
#include "coracle/base/version.hpp"
#include "coracle/client/channel.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/compress/compression.hpp"
#include "coracle/runtime/loop.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace coracle::telemetry_internal {

namespace {

constexpr std::string_view grpc_path_of(signal s) noexcept {
  switch (s) {
    case signal::metrics: return "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export";
    case signal::spans: return "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
    case signal::logs: break;
  }
  return "/opentelemetry.proto.collector.logs.v1.LogsService/Export";
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  return out;
}

channel make_channel(runtime& on, const otlp_destination& to, const endpoint_parts& at,
                     std::shared_ptr<http_observer> observer) {
  channel_options o;
  o.user_agent = std::string("OTel-OTLP-Exporter-Cpp/") + version_text;
  o.retries = false;  // the exporter retries by OTLP's rules
  if (to.protocol == otlp_protocol::http_protobuf) {
    o.protocol = call_protocol::connect;
    o.http_version = http_version::http1;
    o.http1_connections_per_server = 1;
    o.http_observer = std::move(observer);
  }
  const bool plaintext = at.secured == endpoint_parts::security::plaintext;
  return {on, at.target, plaintext ? channel_credentials(insecure()) : to.credentials, std::move(o)};
}

}  // namespace

std::string_view name_of(signal s) noexcept {
  return s == signal::metrics ? "metrics" : s == signal::spans ? "spans" : "logs";
}

result<endpoint_parts> parse_endpoint(std::string_view endpoint, otlp_protocol p) {
  endpoint_parts parts;
  const std::size_t scheme_end = endpoint.find("://");
  const auto invalid = [&](std::string_view why) {
    return status::invalid_argument("the endpoint \"" + base::printable(endpoint) + "\" " + std::string(why));
  };
  const std::string scheme =
      scheme_end == endpoint.npos ? std::string() : lower(endpoint.substr(0, scheme_end));
  if (scheme != "http" && scheme != "https") {
    if (p != otlp_protocol::grpc || endpoint.empty())
      return invalid("is not a URL: write http://host:4318 or https://host:4318");
    parts.target = endpoint;
    parts.secured = endpoint_parts::security::as_credentials;
    return parts;
  }
  const bool secure = scheme == "https";
  if (secure) parts.secured = endpoint_parts::security::tls;
  std::string_view rest = endpoint.substr(scheme_end + 3);
  const std::size_t path = rest.find_first_of("/?#");
  const std::string_view authority = rest.substr(0, path);
  if (authority.empty()) return invalid("has no host");
  if (authority.find('@') != authority.npos)
    return invalid("has a user name: write credentials as a header, such as authorization");
  parts.path = path == rest.npos ? std::string_view() : rest.substr(path, rest.find('#') - path);
  if (!parts.path.starts_with('/')) parts.path.insert(0, 1, '/');
  parts.target = "dns:///" + std::string(authority);
  const bool has_port =
      authority.find(':', authority.rfind(']') == authority.npos ? 0 : authority.rfind(']')) !=
      authority.npos;
  if (!has_port) parts.target += p == otlp_protocol::grpc ? ":4317" : secure ? ":443" : ":80";
  return parts;
}

collector_channel::collector_channel(runtime& on, signal s, const otlp_destination& to,
                                     const endpoint_parts& at)
    : protocol_(to.protocol),
      path_(to.protocol == otlp_protocol::grpc ? grpc_path_of(s) : at.path),
      channel_(make_channel(on, to, at, head_)) {
  options_.timeout = to.timeout;
  if (to.gzip) options_.compression = compression(encoding::gzip);
  if (protocol_ == otlp_protocol::http_protobuf) options_.content_subtype = "x-protobuf";
  for (const auto& [key, value] : to.headers) options_.add_metadata(lower(key), value);
}

task<export_answer> collector_channel::send(const bytes_message& request) {
  head_->status = 0;
  head_->retry_after.clear();
  const generic_stub stub(channel_);
  const result<bytes_message> reply = co_await stub.unary(path_.c_str(), request, options_);
  if (protocol_ == otlp_protocol::grpc) co_return read_grpc_answer(reply);
  co_return read_http_answer(reply, head_->status, head_->retry_after, loop::current()->wall_now());
}

void collector_channel::response_head::response_headers(const http::header_list& fields,
                                                        http_version) noexcept {
  status = 0;
  const std::string_view digits = fields.find(":status").value_or("");
  for (const char c : digits) status = status * 10 + (c - '0');
  base::if_memory_allows([&] { retry_after = fields.find("retry-after").value_or(""); });
}

}  // namespace coracle::telemetry_internal
