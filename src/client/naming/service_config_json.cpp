// service_config_json: parses a service config (grpc/grpc doc/service_config.md, gRFC A6, A21 and A105).
#include "client/balancing/policy_problems.hpp"
#include "client/balancing/priority.hpp"
#include "client/balancing/weighted_target.hpp"
#include "client/call/retry_policy.hpp"
#include "client/naming/service_config_data.hpp"
#include "rpc/json_document.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

namespace coracle::client {

namespace {

using nlohmann::json;

// More than any configuration needs. A resolver may pass on what it has been sent by those who are hostile,
// and each policy below `priority` or `weighted_target` has connections to all servers.
constexpr std::size_t config_bytes_max = 256 * 1024;
constexpr std::size_t policy_depth_max = 16;  // policies below each other
constexpr std::size_t policies_max = 32;  // of one configuration

// Thrown to leave the parser; caught in parse_service_config().
struct broken_rule {
  std::string where;
  std::string reason;
};

// A value and its path from the top: "methodConfig[0].retryPolicy".
class field {
 public:
  field(const json& value, std::string where) : value_(value), where_(std::move(where)) {}

  [[noreturn]] void refuse(std::string_view reason) const { throw broken_rule{where_, std::string(reason)}; }
  [[nodiscard]] const json& value() const noexcept { return value_; }

  [[nodiscard]] const field& object() const {
    if (!value_.is_object()) refuse("must be an object");
    return *this;
  }
  // For an object. Null and missing are the same, as in protobuf's JSON.
  [[nodiscard]] std::optional<field> find(const std::string& name) const {
    const auto found = value_.find(name);
    if (found == value_.end() || found->is_null()) return std::nullopt;
    return field(*found, where_.empty() ? name : where_ + "." + name);
  }
  [[nodiscard]] field need(const std::string& name) const {
    if (auto f = find(name)) return *std::move(f);
    refuse("requires " + name);
  }
  [[nodiscard]] std::vector<field> array() const {
    if (!value_.is_array()) refuse("must be an array");
    std::vector<field> items;
    for (std::size_t i = 0; i < value_.size(); ++i)
      items.emplace_back(value_[i], where_ + "[" + std::to_string(i) + "]");
    return items;
  }
  [[nodiscard]] std::string text() const {
    if (!value_.is_string()) refuse("must be a string");
    return value_.get<std::string>();
  }
  [[nodiscard]] bool boolean() const {
    if (!value_.is_boolean()) refuse("must be true or false");
    return value_.get<bool>();
  }
  [[nodiscard]] double number() const {
    if (!value_.is_number()) refuse("must be a number");
    return value_.get<double>();
  }
  // Accepts strings, too, as protobuf's JSON uses them for large numbers.
  [[nodiscard]] std::uint32_t whole() const {
    constexpr double max_value = std::numeric_limits<std::uint32_t>::max();
    double n = -1;
    if (value_.is_number()) {
      n = value_.get<double>();
    } else if (value_.is_string()) {
      const std::string t = value_.get<std::string>();
      std::uint32_t read = 0;
      const auto [end, error] = std::from_chars(t.data(), t.data() + t.size(), read);
      if (error == std::errc() && end == t.data() + t.size() && !t.empty()) n = read;
    }
    if (n < 0 || n > max_value || n != std::floor(n)) refuse("must be a whole number from 0 to 4294967295");
    return static_cast<std::uint32_t>(n);
  }
  // Parses "1.5s", protobuf's JSON form of a Duration, which is never negative here.
  [[nodiscard]] duration time() const;

 private:
  const json& value_;
  std::string where_;
};

duration field::time() const {
  constexpr std::int64_t seconds_max = 315'576'000'000;  // 10,000 years, protobuf's limit
  const std::string t = text();
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto point = std::find_if_not(t.begin(), t.end(), is_digit);
  const auto whole_digits = static_cast<std::size_t>(point - t.begin());
  std::string fraction;
  auto end = point;
  if (end != t.end() && *end == '.') {
    end = std::find_if_not(end + 1, t.end(), is_digit);
    fraction.assign(point + 1, end);
  }
  if (whole_digits == 0 || whole_digits > 12 || fraction.size() > 9 || (point != end && fraction.empty()) ||
      std::string_view(t).substr(static_cast<std::size_t>(end - t.begin())) != "s")
    refuse("must be a duration such as \"1.5s\"");
  fraction.resize(9, '0');
  const std::int64_t seconds = std::stoll(t.substr(0, whole_digits));
  if (seconds > seconds_max) refuse("exceeds the maximum duration, 315576000000s");
  // A time that does not fit into a duration is as good as unlimited.
  if (seconds > std::chrono::duration_cast<std::chrono::seconds>(duration::max()).count() - 1)
    return duration::max();
  return std::chrono::seconds(seconds) + duration(std::stoll(fraction));
}

status_code code_of(const field& f) {
  if (f.value().is_number()) {
    const std::uint32_t n = f.whole();
    if (n > 16) f.refuse("is not a valid status code");
    return static_cast<status_code>(n);
  }
  std::string name = f.text();
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  for (unsigned n = 0; n <= 16; ++n)
    if (name_of(static_cast<status_code>(n)) == name) return static_cast<status_code>(n);
  f.refuse("is not a valid status code");
}

status_code_set codes_of(const field& f) {
  status_code_set codes;
  for (const field& item : f.array()) codes.add(code_of(item));
  return codes;
}

unsigned attempts_of(const field& policy) {
  const field f = policy.need("maxAttempts");
  const std::uint32_t n = f.whole();
  if (n < 2) f.refuse("must be at least 2");
  return std::min<std::uint32_t>(n, attempts_max);
}

duration positive_time(const field& f) {
  const duration d = f.time();
  if (d <= duration::zero()) f.refuse("must be more than 0");
  return d;
}

std::shared_ptr<const retry_policy> retry_of(const field& f) {
  auto p = std::make_shared<retry_policy>();
  p->max_attempts = attempts_of(f.object());
  p->initial_backoff = positive_time(f.need("initialBackoff"));
  p->max_backoff = positive_time(f.need("maxBackoff"));
  const field multiplier = f.need("backoffMultiplier");
  p->backoff_multiplier = multiplier.number();
  if (!(p->backoff_multiplier > 0)) multiplier.refuse("must be more than 0");
  const field codes = f.need("retryableStatusCodes");
  p->retryable = codes_of(codes);
  if (p->retryable.empty()) codes.refuse("must name at least one status code");
  return p;
}

std::shared_ptr<const hedging_policy> hedging_of(const field& f) {
  auto p = std::make_shared<hedging_policy>();
  p->max_attempts = attempts_of(f.object());
  if (const auto delay = f.find("hedgingDelay")) p->delay = delay->time();
  if (const auto codes = f.find("nonFatalStatusCodes")) p->non_fatal = codes_of(*codes);
  return p;
}

throttle_config throttle_of(const field& f) {
  throttle_config t;
  const field max_tokens = f.object().need("maxTokens");
  const std::uint32_t tokens = max_tokens.whole();
  if (tokens == 0 || tokens > 1000) max_tokens.refuse("must be from 1 to 1000");
  t.max_tokens = static_cast<std::int32_t>(tokens);
  const field ratio = f.need("tokenRatio");
  // Three decimals count. The small addend compensates for binary rounding.
  const double thousandths = std::floor(ratio.number() * 1000 + 1e-6);
  if (!(thousandths >= 1)) ratio.refuse("must be at least 0.001");
  t.ratio_thousandths = static_cast<std::int32_t>(std::min(thousandths, 1'000'000.0));
  return t;
}

method_config method_of(const field& f) {
  method_config m;
  if (const auto v = f.find("timeout")) m.timeout = v->time();
  if (const auto v = f.find("waitForReady")) m.wait_for_ready = v->boolean();
  if (const auto v = f.find("maxRequestMessageBytes")) m.max_request_bytes = v->whole();
  if (const auto v = f.find("maxResponseMessageBytes")) m.max_response_bytes = v->whole();
  if (const auto v = f.find("retryPolicy")) m.retry = retry_of(*v);
  if (const auto v = f.find("hedgingPolicy")) m.hedging = hedging_of(*v);
  if (m.retry && m.hedging) f.refuse("has both a retryPolicy and a hedgingPolicy: remove one");
  return m;
}

std::string key_of(const field& name) {
  const auto service = name.object().find("service");
  const auto method = name.find("method");
  const std::string s = service ? service->text() : "";
  const std::string m = method ? method->text() : "";
  if (s.empty() && !m.empty()) name.refuse("has a method without a service");
  return s.empty() ? "/" : "/" + s + "/" + m;
}

void read_methods(const field& list, service_config_data& into) {
  for (const field& f : list.array()) {
    const method_config m = method_of(f.object());
    const auto names = f.find("name");
    if (!names) continue;  // applies to no method
    for (const field& name : names->array())
      if (!into.methods.emplace(key_of(name), m).second) name.refuse("is a duplicate of an earlier name");
  }
}

template <class Options>
balancing checked(const field& config, Options options, balancing (*make)(Options)) {
  if (const std::string_view wrong = problem_of(options); !wrong.empty())
    config.refuse("is invalid: " + std::string(wrong));
  return make(std::move(options));
}

void read_into(const field& config, const char* name, std::uint32_t& to) {
  if (const auto f = config.find(name)) to = f->whole();
}
void read_into(const field& config, const char* name, duration& to) {
  if (const auto f = config.find(name)) to = f->time();
}

// gRFC A100
std::optional<slow_start_options> slow_start_of(const field& config) {
  const auto f = config.find("slowStartConfig");
  if (!f) return std::nullopt;
  slow_start_options o;
  o.window = f->object().need("slowStartWindow").time();
  if (const auto n = f->find("aggression")) o.aggression = n->number();
  if (const auto n = f->find("minWeightPercent")) o.min_weight_percent = n->number();
  if (const std::string_view wrong = problem_of(o); !wrong.empty())
    f->refuse("is invalid: " + std::string(wrong));
  return o;
}

// gRFC A58, A100, A114
balancing weighted_round_robin_of(const field& config) {
  weighted_round_robin_options o;
  if (const auto f = config.find("enableOobLoadReport")) o.oob_load_report = f->boolean();
  read_into(config, "oobReportingPeriod", o.oob_reporting_period);
  read_into(config, "blackoutPeriod", o.blackout_period);
  read_into(config, "weightExpirationPeriod", o.weight_expiration_period);
  read_into(config, "weightUpdatePeriod", o.weight_update_period);
  if (const auto f = config.find("errorUtilizationPenalty")) o.error_utilization_penalty = f->number();
  if (const auto names = config.find("metricNamesForComputingUtilization"))
    for (const field& f : names->array()) o.metric_names_for_computing_utilization.push_back(f.text());
  o.slow_start = slow_start_of(config);
  return checked(config, std::move(o), balancing::weighted_round_robin);
}

// gRFC A42, A76
balancing ring_hash_of(const field& config) {
  ring_hash_options o;
  read_into(config, "minRingSize", o.min_ring_size);
  read_into(config, "maxRingSize", o.max_ring_size);
  if (const auto f = config.find("requestHashHeader")) o.request_hash_header = f->text();
  return checked(config, std::move(o), balancing::ring_hash);
}

// Where a policy stands below others.
struct policy_place {
  std::size_t& policies;  // so far, in the whole configuration
  std::size_t depth = 0;
  bool below_outlier_detection = false;
};

balancing policy_of(const field& list, std::vector<service_config::policy>* all, policy_place at);

balancing child_of(const field& config, policy_place at, const char* name = "childPolicy") {
  ++at.depth;
  return policy_of(config.need(name), nullptr, at);
}

// gRFC A56. A service config cannot say which servers a child has: each has all.
balancing priority_of(const field& config, policy_place at) {
  const field children = config.need("children");
  std::vector<priority_config::level> levels;
  const field order = config.need("priorities");
  for (const field& f : order.array()) {
    const std::string name = f.text();
    const auto child = children.object().find(name);
    if (!child) f.refuse("is not the name of a child");
    if (std::ranges::any_of(levels, [&](const auto& l) { return l.name == name; }))
      f.refuse("is a duplicate of an earlier name");
    const auto ignores = child->object().find("ignoreReresolutionRequests");
    levels.push_back({name, child_of(*child, at, "config"), nullptr, ignores && ignores->boolean()});
  }
  if (levels.empty()) order.refuse("must have at least one name");
  return balancing(std::make_shared<const priority_config>(std::move(levels)));
}

// As above, each child has all servers. The weights are limited as those of routes and localities are (gRFC
// A28, A27).
balancing weighted_target_of(const field& config, policy_place at) {
  constexpr std::uint64_t weights_max = std::numeric_limits<std::uint32_t>::max();
  const field all = config.need("targets");
  std::vector<weighted_target_config::target> targets;
  std::uint64_t weights = 0;
  for (const auto& [name, value] : all.object().value().items()) {
    const field target = all.need(name);
    const field weight = target.object().need("weight");
    if (weight.whole() == 0) weight.refuse("must be at least 1");
    weights += weight.whole();
    if (weights > weights_max) all.refuse("has weights whose sum exceeds 4294967295");
    targets.push_back({name, weight.whole(), child_of(target, at)});
  }
  if (targets.empty()) all.refuse("must have at least one target");
  return balancing(std::make_shared<const weighted_target_config>(std::move(targets)));
}

// gRFC A68
balancing random_subsetting_of(const field& config, policy_place at) {
  const field size = config.need("subsetSize");
  if (size.whole() == 0) size.refuse("must be at least 1");
  return balancing::random_subsetting(size.whole(), child_of(config, at));
}

// gRFC A50
balancing outlier_detection_of(const field& config, policy_place at) {
  // Two would eject the servers of each other.
  if (std::exchange(at.below_outlier_detection, true))
    config.refuse("stands below another outlier_detection");
  outlier_detection_options o;
  read_into(config, "interval", o.interval);
  read_into(config, "baseEjectionTime", o.base_ejection_time);
  read_into(config, "maxEjectionTime", o.max_ejection_time);
  read_into(config, "maxEjectionPercent", o.max_ejection_percent);
  if (const auto f = config.find("successRateEjection")) {
    auto& rate = o.success_rate_ejection.emplace();
    read_into(f->object(), "stdevFactor", rate.stdev_factor);
    read_into(*f, "enforcementPercentage", rate.enforcement_percentage);
    read_into(*f, "minimumHosts", rate.minimum_hosts);
    read_into(*f, "requestVolume", rate.request_volume);
  }
  if (const auto f = config.find("failurePercentageEjection")) {
    auto& percentage = o.failure_percentage_ejection.emplace();
    read_into(f->object(), "threshold", percentage.threshold);
    read_into(*f, "enforcementPercentage", percentage.enforcement_percentage);
    read_into(*f, "minimumHosts", percentage.minimum_hosts);
    read_into(*f, "requestVolume", percentage.request_volume);
  }
  if (const std::string_view wrong = problem_of(o); !wrong.empty())
    config.refuse("is invalid: " + std::string(wrong));
  return balancing::outlier_detection(o, child_of(config, at));
}

// gRFC A48
balancing least_request_of(const field& config) {
  const auto choices = config.find("choiceCount");
  if (!choices) return balancing::least_request();
  if (choices->whole() < 2) choices->refuse("must be at least 2");
  return balancing::least_request(choices->whole());
}

// Empty if there is no such policy here.
std::optional<balancing> balancing_of(const std::string& name, const field& config, policy_place at) {
  if (name == "round_robin") {
    const std::optional<slow_start_options> slow_start = slow_start_of(config);
    return slow_start ? balancing::round_robin(*slow_start) : balancing::round_robin();
  }
  if (name == "pick_first") {
    const auto shuffle = config.find("shuffleAddressList");  // gRFC A62
    return balancing::pick_first(shuffle && shuffle->boolean());
  }
  if (name == "least_request_experimental") return least_request_of(config);
  if (name == "weighted_round_robin") return weighted_round_robin_of(config);
  if (name == "ring_hash_experimental") return ring_hash_of(config);
  if (name == "random_subsetting_experimental") return random_subsetting_of(config, at);
  if (name == "outlier_detection_experimental") return outlier_detection_of(config, at);
  if (name == "priority_experimental") return priority_of(config, at);
  if (name == "weighted_target_experimental") return weighted_target_of(config, at);
  return std::nullopt;
}

// The first policy of the list that is known (gRFC A24). all: receives every one.
balancing policy_of(const field& list, std::vector<service_config::policy>* all, policy_place at) {
  if (at.depth >= policy_depth_max) list.refuse("is nested more than 16 policies deep");
  if (++at.policies > policies_max) list.refuse("is one of more than 32 policies");
  std::optional<balancing> first;
  for (const field& f : list.array()) {
    if (f.object().value().size() != 1) f.refuse("must have one field, the policy's name");
    const auto entry = f.value().begin();
    if (!entry->is_object()) f.need(entry.key()).refuse("must be an object");
    if (!first) first = balancing_of(entry.key(), f.need(entry.key()), at);
    if (all) all->emplace_back(entry.key(), entry->dump());
  }
  if (!first) list.refuse("names no known policy");
  return *std::move(first);
}

void read_balancing(const field& top, service_config_data& into) {
  if (const auto list = top.find("loadBalancingConfig")) {
    if (list->array().empty()) return;
    std::size_t policies = 0;
    into.balance = policy_of(*list, &into.load_balancing, {policies});
  } else if (const auto name = top.find("loadBalancingPolicy")) {  // deprecated: lower precedence
    std::string policy = name->text();
    std::transform(policy.begin(), policy.end(), policy.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (policy.empty()) return;
    const json without_parameters = json::object();
    std::size_t policies = 0;
    into.balance = balancing_of(policy, field(without_parameters, ""), {policies});
    if (!into.balance) name->refuse("names no known policy");
    into.load_balancing.emplace_back(std::move(policy), "{}");
  }
}

// More than the configuration of any policy needs; a bound is required because deeper values are processed
// recursively.
constexpr std::size_t depth_max = 64;

// Rejects duplicate keys, since one of the values would be ignored.
class config_builder final : public rpc::json_builder {
 public:
  explicit config_builder(rpc::json_document& to) : json_builder(to, depth_max) {}
  bool key(string_t& name) override {
    if (innermost().contains(name)) throw broken_rule{"", "duplicate key \"" + name + "\""};
    return json_builder::key(name);
  }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::detail::exception& error) override {
    constexpr int number_overflow = 406;
    if (error.id == number_overflow) throw broken_rule{"", "a number is too large"};
    throw broken_rule{"", "it is not valid JSON: parse error at byte " + std::to_string(at)};
  }

 private:
  void too_deep() override { throw broken_rule{"", "it is nested more than 64 levels deep"}; }
};

service_config_data read_config(std::string_view text) {
  if (text.size() > config_bytes_max) throw broken_rule{"", "it has more than 256 KiB"};
  rpc::json_document document;
  config_builder builder(document);
  json::sax_parse(text, &builder);
  const field top(document.whole(), "");
  service_config_data d;
  d.json = text;
  read_balancing(top.object(), d);
  if (const auto f = top.find("methodConfig")) read_methods(*f, d);
  if (const auto f = top.find("retryThrottling")) d.throttle = throttle_of(*f);
  if (const auto f = top.find("healthCheckConfig")) {
    if (const auto service = f->object().find("serviceName")) d.health_check_service = service->text();
  }
  if (const auto f = top.find("connectionScaling")) {
    const auto connections_max = f->object().find("maxConnectionsPerSubchannel");
    if (connections_max) d.connections_max = connections_max->whole();
    if (connections_max && d.connections_max == 0) connections_max->refuse("must be at least 1");
  }
  return d;
}

}  // namespace

result<service_config_data> parse_service_config(std::string_view json) {
  try {
    return read_config(json);
  } catch (const broken_rule& b) {
    std::string reason = "service config: ";
    if (!b.where.empty()) reason.append(b.where).append(" ");
    return status::invalid_argument(reason.append(b.reason));
  }
}

}  // namespace coracle::client
