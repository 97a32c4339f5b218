#include "server/admission/rate_limits.hpp"

#include "base/xxh64.hpp"
#include "coracle/base/status.hpp"
#include "coracle/base/usage_error.hpp"
#include "protocol/grpc/wire_metadata.hpp"
#include "rpc/method_list.hpp"
#include "server/admission/client_key.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
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

// Clients are not told which metadata counts, nor the rate.
rejection rejection_by(const rate_limit& of) {
  std::string text = "the rate limit is exceeded";
  if (of.per == rate_limit::caller::client) text = "the rate limit of each client is exceeded";
  if (of.per == rate_limit::caller::metadata) text = "the rate limit of each caller is exceeded";
  return rejection(status::resource_exhausted(text + " (see server_options::rate_limits)"), "rate");
}

bool are_equal(const rate_limit& a, const rate_limit& b) noexcept {
  return a.methods == b.methods && a.per == b.per && a.metadata_name == b.metadata_name &&
         a.calls_per_second == b.calls_per_second && a.burst == b.burst;
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
    CORACLE_REQUIRE(l.metadata_name.empty() || (protocol::grpc::is_valid_key(l.metadata_name) &&
                                                !protocol::grpc::is_protocol_field(l.metadata_name)),
                    "rate_limit::metadata_name is a key of metadata in lower case, such as x-tenant");
  }
}

rate_limits::limit::limit(const rate_limit& l) : of(l), why(rejection_by(l)) {
  const token_bucket_rule rule(of.calls_per_second, burst_of(of));
  if (of.per == rate_limit::caller::all) shared.emplace(rule);
  else buckets = std::make_unique<token_buckets>(rule);
}

rate_limits::rate_limits(std::span<const rate_limit> all, std::span<const std::string_view> paths,
                         const rate_limits* before)
    : by_method_(paths.size() + 1), seed_(before ? before->seed_.load(std::memory_order_relaxed) : 0) {
  std::vector<std::shared_ptr<limit>> kept;
  if (before) kept = before->limits_;
  for (const rate_limit& l : all) {
    const auto same =
        std::find_if(kept.begin(), kept.end(), [&l](const auto& k) { return k && are_equal(k->of, l); });
    limits_.push_back(same == kept.end() ? std::make_shared<limit>(l) : std::exchange(*same, nullptr));
    limit* const made = limits_.back().get();
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

void rate_limits::seed(std::uint64_t random) noexcept {
  std::uint64_t none = 0;
  seed_.compare_exchange_strong(none, random | 1, std::memory_order_relaxed);
}

template <class Shared, class Each>
duration rate_limits::ask(limit& l, const caller_of_call& by, Shared shared, Each each) const noexcept {
  const std::uint64_t seed = seed_.load(std::memory_order_relaxed);
  switch (l.of.per) {
    case rate_limit::caller::client: return each(*l.buckets, client_key(by.peer, by.auth, seed));
    case rate_limit::caller::metadata:
      return each(*l.buckets, base::xxh64(by.received.find(l.of.metadata_name).value_or(""), seed));
    default: return shared(*l.shared);
  }
}

rate_limits::refusal rate_limits::take(std::uint32_t method, const caller_of_call& by,
                                       time_point now) noexcept {
  const std::vector<limit*>& limits = by_method_[method];
  refusal r;
  const auto refuse_by = [&r](const limit& l, duration wait) {
    if (wait > r.wait) r = {&l.why, wait, l.of.per != rate_limit::caller::client};
  };
  // A call that one limit refuses must take nothing of the others.
  if (limits.size() > 1)
    for (limit* const l : limits)
      refuse_by(*l, ask(
                        *l, by, [now](const auto& b) { return b.wait(now); },
                        [now](auto& b, std::uint64_t key) { return b.wait(key, now); }));
  if (r.why) return r;
  for (limit* const l : limits)
    refuse_by(*l, ask(
                      *l, by, [now](auto& b) { return b.take(now); },
                      [now](auto& b, std::uint64_t key) { return b.take(key, now); }));
  return r;
}

int rate_limits::refusal::wait_ms(std::uint64_t random) const noexcept {
  constexpr std::uint64_t spread_ms = 100;
  const std::int64_t ms = std::chrono::ceil<std::chrono::milliseconds>(wait).count();
  const auto later = static_cast<std::int64_t>(is_shared ? random % spread_ms : 0);
  return static_cast<int>(std::min<std::int64_t>(ms + later, std::numeric_limits<int>::max()));
}

}  // namespace coracle::server_internal
