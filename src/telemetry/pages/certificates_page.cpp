#include "telemetry/pages/certificates_page.hpp"

#include <cstdint>
#include <ratio>
#include <string>
#include <string_view>

namespace coracle::telemetry_internal {

namespace {

using services::ordered_json;
using date = std::chrono::system_clock::time_point;

constexpr double expires_soon_days = 30;
constexpr double expires_very_soon_days = 7;

// Null for an event that has not happened, and for an end that never comes.
ordered_json date_json(date t) {
  if (t == date{} || t == date::max()) return {};
  return std::chrono::duration<double>(t.time_since_epoch()).count();
}

double days_between(date from, date to) {
  return std::chrono::duration<double, std::ratio<86400>>(to - from).count();
}
// Rounded down.
std::int64_t whole_days(date from, date to) {
  return std::chrono::floor<std::chrono::days>(to - from).count();
}

std::string_view state_of(const security::listed_certificate& c, date now) {
  if (now < c.not_before) return "not_yet_valid";
  const double left = days_between(now, c.chain_not_after);
  if (left < 0) return "expired";
  if (left < expires_very_soon_days) return "under_7_days";
  return left < expires_soon_days ? "under_30_days" : "valid";
}

ordered_json certificate_json(const security::listed_certificate& c, date now) {
  ordered_json names = ordered_json::array();
  for (const peer_identity& one : c.names) names.push_back(one.value());
  const bool ends = c.chain_not_after != date::max();
  return {{"title", title_of(c)},
          {"state", state_of(c, now)},
          {"days_left", ends ? ordered_json(whole_days(now, c.chain_not_after)) : ordered_json()},
          {"subject", c.subject},
          {"issuer", c.issuer},
          {"names", std::move(names)},
          {"serial", c.serial},
          {"sha256", c.sha256},
          {"key_type", c.key_type},
          {"not_before", date_json(c.not_before)},
          {"not_after", date_json(c.not_after)},
          {"chain_size", c.chain_size},
          {"chain_not_after", date_json(c.chain_not_after)},
          {"file", c.file.empty() ? ordered_json() : ordered_json(c.file)},
          {"server_names", c.server_names},
          {"is_default", c.is_default}};
}

std::string_view name_of(security::trusted_cas which) {
  switch (which) {
    case security::trusted_cas::none: return "none";
    case security::trusted_cas::system: return "system";
    case security::trusted_cas::program: return "program";
  }
  return "none";
}

ordered_json credentials_json(const used_credentials& of, date now) {
  const security::certificates_in_use& in_use = of.in_use;
  ordered_json certificates = ordered_json::array();
  for (const security::listed_certificate& c : in_use.certificates)
    certificates.push_back(certificate_json(c, now));
  ordered_json error;
  if (!in_use.reload_error.ok())
    error = {{"time", date_json(in_use.reload_failed)}, {"text", in_use.reload_error.message()}};
  const bool own = in_use.trusted == security::trusted_cas::program;
  return {{"side", of.server ? "server" : "client"},
          {"server", of.server ? ordered_json(*of.server) : ordered_json()},
          {"users", of.users},
          {"user_count", of.user_count},
          {"loaded", date_json(in_use.loaded)},
          {"reload_error", std::move(error)},
          {"certificates", std::move(certificates)},
          {"trusted",
           {{"from", name_of(in_use.trusted)},
            {"count", own ? ordered_json(in_use.trusted_count) : ordered_json()},
            {"not_after", own ? date_json(in_use.trusted_not_after) : ordered_json()}}}};
}

}  // namespace

ordered_json certificates_json(const std::vector<used_credentials>& all, date now) {
  ordered_json credentials = ordered_json::array();
  for (const used_credentials& one : all) {
    if (credentials.size() >= listed_credentials_max) break;
    credentials.push_back(credentials_json(one, now));
  }
  return {
      {"time", date_json(now)}, {"credentials_count", all.size()}, {"credentials", std::move(credentials)}};
}

}  // namespace coracle::telemetry_internal
