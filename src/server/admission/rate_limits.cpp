#include "server/admission/rate_limits.hpp"

#include "base/xxh64.hpp"
#include "coracle/base/status.hpp"
#include "coracle/base/usage_error.hpp"
#include "rpc/method_list.hpp"
#include "server/admission/client_key.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <utility>

namespace coracle::server_internal {

namespace {

constexpr double calls_per_second_min = 1e-4;
constexpr double calls_per_second_max = 1e7;
constexpr double burst_max = 1e9;

double burst_of(const rate_limit& of) noexcept {
  return of.burst > 0 ? of.burst : std::max(of.calls_per_second, 1.0);
}

rejection rejection_by(const rate_limit& of) {
  char rate[40];
  std::snprintf(rate, sizeof rate, "%g", of.calls_per_second);
  std::string text = "the rate limit is exceeded: ";
  text.append(rate).append(" calls a second");
  if (of.per == rate_limit::caller::client) text.append(" for each client");
  if (of.per == rate_limit::caller::metadata) text.append(" for each value of ").append(of.metadata_name);
  text.append(" (see server_options::rate_limits)");
  return rejection(status::resource_exhausted(text), "rate");
}

}  // namespace

void rate_limits::require_valid(std::span<const rate_limit> all) {
  for (const rate_limit& l : all) {
    (void)rpc::method_list(l.methods);
    CORACLE_REQUIRE(
        l.calls_per_second >= calls_per_second_min && l.calls_per_second <= calls_per_second_max,
        "a rate limit accepts 0.0001 to 10,000,000 calls a second: set rate_limit::calls_per_second");
    CORACLE_REQUIRE(l.burst == 0 || (l.burst >= 1 && l.burst <= burst_max),
                    "the burst of a rate limit is 1 to 10^9 calls, or 0: set rate_limit::burst");
    CORACLE_REQUIRE(
        (l.per == rate_limit::caller::metadata) == !l.metadata_name.empty(),
        "a rate limit has a metadata_name if it is for each value of metadata, and only then: set "
        "rate_limit::per and rate_limit::metadata_name");
  }
}

rate_limits::limit::limit(const rate_limit& of)
    : per(of.per), metadata_name(of.metadata_name), why(rejection_by(of)) {
  const token_bucket_rule rule(of.calls_per_second, burst_of(of));
  if (per == rate_limit::caller::all) shared.emplace(rule);
  else buckets = std::make_unique<token_buckets>(rule);
}

rate_limits::rate_limits(std::span<const rate_limit> all, std::span<const std::string_view> paths,
                         std::uint64_t seed)
    : by_method_(paths.size() + 1), seed_(seed) {
  for (const bool for_all : {false, true}) {
    for (const rate_limit& l : all) {
      if ((l.per == rate_limit::caller::all) != for_all) continue;
      limit* const made = limits_.emplace_back(std::make_unique<limit>(l)).get();
      const rpc::method_list methods(l.methods);
      if (methods.empty()) by_method_.back().push_back(made);
      for (std::size_t i = 0; i < paths.size(); ++i)
        if (methods.empty() || methods.contains(paths[i])) by_method_[i].push_back(made);
      for (const std::string& m : methods.paths()) {
        const auto named = [&m](std::string_view path) { return rpc::method_list::matches(m, path); };
        if (std::none_of(paths.begin(), paths.end(), named)) unknown_.push_back(m);
      }
    }
  }
}

rate_limits::refusal rate_limits::take(std::uint32_t method, const net::address& peer,
                                       const auth_context* auth, const metadata& received,
                                       time_point now) noexcept {
  for (limit* const l : by_method_[method]) {
    duration wait{};
    switch (l->per) {
      case rate_limit::caller::all: wait = l->shared->take(now); break;
      case rate_limit::caller::client: wait = l->buckets->take(client_key(peer, auth, seed_), now); break;
      case rate_limit::caller::metadata:
        wait = l->buckets->take(base::xxh64(received.find(l->metadata_name).value_or(""), seed_), now);
        break;
    }
    if (wait > duration::zero()) return {&l->why, wait};
  }
  return {};
}

int rate_limits::refusal::wait_ms() const noexcept {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(wait).count();
  return static_cast<int>(std::min<std::int64_t>(ms, std::numeric_limits<int>::max()));
}

}  // namespace coracle::server_internal
