#include "coracle/telemetry/sampler.hpp"

#include "telemetry/traces/sampler_rule.hpp"

#include <charconv>
#include <cmath>
#include <system_error>

namespace coracle {

using telemetry_internal::never_sampled;
using telemetry_internal::sampler_rule;

namespace {

sampler_rule::pointer by_threshold(std::uint64_t threshold, bool is_ratio) {
  auto rule = std::make_shared<sampler_rule>();
  rule->threshold = threshold;
  rule->is_ratio = is_ratio;
  return rule;
}

std::uint64_t threshold_of(double share) noexcept {
  if (!(share > 0)) return never_sampled;  // NaN, too
  if (share >= 1) return 0;
  const auto recorded = static_cast<std::uint64_t>(std::ldexp(share, telemetry_internal::random_bits));
  return never_sampled - std::max<std::uint64_t>(recorded, 1);
}

}  // namespace

sampler sampler::always_on() { return sampler(by_threshold(0, false)); }
sampler sampler::always_off() { return sampler(by_threshold(never_sampled, false)); }
sampler sampler::ratio(double share) { return sampler(by_threshold(threshold_of(share), true)); }

sampler sampler::rate_limited(double per_second) {
  auto rule = std::make_shared<sampler_rule>();
  rule->kind = sampler_rule::form::rate;
  rule->per_second = per_second > 0 ? per_second : 0;
  return sampler(std::move(rule));
}

sampler sampler::parent_based(sampler root) {
  auto rule = std::make_shared<sampler_rule>();
  rule->kind = sampler_rule::form::parent;
  rule->otherwise = std::move(root.rule_);
  return sampler(std::move(rule));
}

sampler sampler::by_method(std::vector<std::pair<std::string, sampler>> rules, sampler otherwise) {
  auto rule = std::make_shared<sampler_rule>();
  rule->kind = sampler_rule::form::method;
  for (auto& [name, then] : rules) rule->methods.emplace_back(std::move(name), std::move(then.rule_));
  rule->otherwise = std::move(otherwise.rule_);
  return sampler(std::move(rule));
}

result<sampler> sampler::parse(std::string_view name, std::string_view argument) {
  constexpr std::string_view parent = "parentbased_";
  const bool follows = name.starts_with(parent);
  const std::string_view root = follows ? name.substr(parent.size()) : name;
  const auto wrapped = [&](sampler s) { return follows ? parent_based(std::move(s)) : std::move(s); };
  if (root == "always_on") return wrapped(always_on());
  if (root == "always_off") return wrapped(always_off());
  if (root != "traceidratio")
    return status::invalid_argument(
        "OTEL_TRACES_SAMPLER=" + std::string(name) +
        " is not supported: use always_on, always_off or traceidratio, or one of them "
        "after parentbased_");
  double share = 1;
  if (!argument.empty()) {
    const auto [end, error] = std::from_chars(argument.data(), argument.data() + argument.size(), share);
    if (error != std::errc() || end != argument.data() + argument.size() || !(share >= 0 && share <= 1))
      return status::invalid_argument("OTEL_TRACES_SAMPLER_ARG=" + std::string(argument) +
                                      " is not a number from 0 to 1");
  }
  return wrapped(ratio(share));
}

}  // namespace coracle

namespace coracle::telemetry_internal {

namespace {

bool matches(std::string_view rule, std::string_view method) noexcept {
  if (rule.ends_with("/*")) return method.starts_with(rule.substr(0, rule.size() - 1));
  return rule == method;
}

}  // namespace

std::int64_t loop_sampler::root_threshold() const noexcept {
  const sampler_rule* rule = root_.get();
  if (rule->kind == sampler_rule::form::parent) rule = rule->otherwise.get();
  return rule->kind == sampler_rule::form::threshold ? static_cast<std::int64_t>(rule->threshold) : -1;
}

sampling_decision loop_sampler::decide(const sampler_rule& rule, const sampling_request& r) {
  switch (rule.kind) {
    case sampler_rule::form::threshold:
      return {random_part(r.random) >= rule.threshold,
              rule.is_ratio ? static_cast<std::int64_t>(rule.threshold) : -1};
    case sampler_rule::form::rate: return {take_token(rule, r.now), -1};
    case sampler_rule::form::parent:
      if (r.has_parent) return {r.parent_sampled, -1};
      return decide(*rule.otherwise, r);
    case sampler_rule::form::method: break;
  }
  for (const auto& [name, then] : rule.methods)
    if (matches(name, r.method)) return decide(*then, r);
  return decide(*rule.otherwise, r);
}

// Holds the traces of one second at most, and one at least, so that a limit below one per second lets some
// pass.
bool loop_sampler::take_token(const sampler_rule& rule, time_point now) {
  const double full = std::max(rule.per_second, 1.0);
  const auto [at, is_new] = buckets_.try_emplace(&rule, bucket{rule.per_second > 0 ? full : 0, now});
  bucket& b = at->second;
  const double seconds = std::chrono::duration<double>(now - b.filled).count();
  b.tokens = std::min(full, b.tokens + seconds * rule.per_second);
  b.filled = now;
  if (b.tokens < 1) return false;
  b.tokens -= 1;
  return true;
}

std::string threshold_text(std::uint64_t threshold) {
  std::string text;
  for (int shift = static_cast<int>(random_bits) - 4; shift >= 0; shift -= 4)
    text.push_back("0123456789abcdef"[(threshold >> shift) & 15]);
  text.erase(std::max<std::size_t>(text.find_last_not_of('0') + 1, 1));
  return text;
}

}  // namespace coracle::telemetry_internal
