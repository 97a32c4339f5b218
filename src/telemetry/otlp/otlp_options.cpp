#include "coracle/telemetry/otlp.hpp"

#include "telemetry/otlp/environment.hpp"

#include <algorithm>
#include <cstdlib>

namespace coracle {

otlp_options::otlp_options(std::string_view endpoint, otlp_protocol p) {
  const auto set = [&](otlp_destination& d, std::string_view path) {
    d.endpoint = p == otlp_protocol::grpc ? std::string(endpoint)
                                          : telemetry_internal::endpoint_of_signal(endpoint, path);
    d.protocol = p;
  };
  set(metrics, "v1/metrics");
  set(spans, "v1/traces");
  set(logs, "v1/logs");
}

otlp_options otlp_options::from_environment(logger& log) {
  return telemetry_internal::read_otlp_environment([](const char* name) { return std::getenv(name); }, log);
}

bool otlp_options::requires_tls(const otlp_destination& d) noexcept {
  constexpr std::string_view scheme = "https://";
  return d.enabled && std::equal(scheme.begin(), scheme.end(), d.endpoint.begin(),
                                 d.endpoint.begin() +
                                     static_cast<std::ptrdiff_t>(std::min(scheme.size(), d.endpoint.size())),
                                 [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b + 32 : b); });
}

}  // namespace coracle
