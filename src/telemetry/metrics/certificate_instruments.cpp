#include "telemetry/metrics/certificate_instruments.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::telemetry_internal {

namespace {

constexpr instrument certificate_expiry{
    .name = "coracle.tls.certificate.expiry",
    .description = "The time until a certificate in use, or one of its chain, expires; negative afterwards.",
    .unit = "s",
    .kind = instrument_kind::gauge,
    .labels = {"coracle.tls.certificate.subject", "coracle.tls.side"},
    .optional_labels = {},
    .bounds = {}};

constexpr std::array all_of_certificates{&certificate_expiry};

}  // namespace

std::span<const instrument* const> certificate_instruments() noexcept { return all_of_certificates; }

void report_certificates(const std::vector<used_credentials>& all, std::chrono::system_clock::time_point now,
                         metrics_sink& to) {
  std::map<std::pair<std::string, std::string_view>, double> first;
  for (const used_credentials& one : all)
    for (const security::listed_certificate& c : one.in_use.certificates) {
      const double left_s = std::chrono::duration<double>(c.chain_not_after - now).count();
      const std::pair<std::string, std::string_view> key(title_of(c), one.server ? "server" : "client");
      const auto [at, is_new] = first.try_emplace(key, left_s);
      if (!is_new) at->second = std::min(at->second, left_s);
    }
  for (const auto& [key, left_s] : first) {
    const std::array<std::string_view, 2> values{key.first, key.second};
    to.measure(certificate_expiry, left_s, values);
  }
}

}  // namespace coracle::telemetry_internal
