#include "xds/resource/balancing_config.hpp"

#include "base/printable.hpp"
#include "xds/limits.hpp"
#include "xds/resource/json_object.hpp"
#include "xds/resource/wire_values.hpp"
#include "xds/wire/balancing.pb.h"
#include "xds/wire/cluster.pb.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::xds {

namespace {

constexpr std::uint64_t ring_size_default = 1024;
constexpr std::uint64_t ring_size_limit = 8'388'608;

std::string one_policy(std::string_view name, std::string_view config) {
  return "[" + json_object().add(name, config).text() + "]";
}

std::string wrr_locality(std::string_view child) {
  return one_policy("xds_wrr_locality_experimental", json_object().add("childPolicy", child).text());
}

std::string ring_hash(const google::protobuf::UInt64Value* min, const google::protobuf::UInt64Value* max,
                      const field_path& at) {
  const std::uint64_t min_size = min ? min->value() : ring_size_default;
  const std::uint64_t max_size = max ? max->value() : ring_size_limit;
  if (max_size > ring_size_limit) at.at("maximum_ring_size").refuse("must be at most 8388608");
  if (min_size > max_size)
    at.at("minimum_ring_size").refuse("must not exceed the maximum, " + std::to_string(max_size));
  json_object to;
  to.add("minRingSize", json_of(min_size)).add("maxRingSize", json_of(max_size));
  return one_policy("ring_hash_experimental", to.text());
}

std::string least_request(const google::protobuf::UInt32Value* count, const field_path& at) {
  const std::uint64_t n = count ? count->value() : 2;
  if (n < 2) at.at("choice_count").refuse("must be at least 2");
  return one_policy("least_request_experimental",
                    json_object().add("choiceCount", json_of(std::min<std::uint64_t>(n, 10))).text());
}

// gRFC A100, and Envoy's for round_robin.
void add_slow_start(json_object& to, const wire::SlowStart& from, const field_path& at) {
  const duration window = duration_of(from.slow_start_window(), at.at("slow_start_window"));
  if (window <= duration::zero()) return;  // none
  json_object slow_start;
  slow_start.add("slowStartWindow", json_of_duration(window));
  if (from.has_aggression()) {
    const double aggression = from.aggression().default_value();
    if (!(aggression > 0) || std::isinf(aggression)) at.at("aggression").refuse("must be more than 0");
    slow_start.add("aggression", json_of(aggression));
  }
  if (from.has_min_weight_percent()) {
    const double percent = from.min_weight_percent().value();
    if (!(percent >= 0 && percent <= 100)) at.at("min_weight_percent").refuse("must be from 0 to 100");
    slow_start.add("minWeightPercent", json_of(percent));
  }
  to.add("slowStartConfig", slow_start.text());
}

std::string round_robin(const wire::RoundRobin& from, const field_path& at) {
  json_object to;
  if (from.has_slow_start_config()) add_slow_start(to, from.slow_start_config(), at.at("slow_start_config"));
  return one_policy("round_robin", to.text());
}

std::string weighted_round_robin(const wire::WeightedRoundRobin& from, const field_path& at) {
  json_object to;
  if (from.has_enable_oob_load_report())
    to.add("enableOobLoadReport", json_of(from.enable_oob_load_report().value()));
  const auto period = [&](bool has, const google::protobuf::Duration& d, const char* field,
                          const char* name) {
    if (has) to.add(name, json_of_duration(duration_of(d, at.at(field))));
  };
  period(from.has_oob_reporting_period(), from.oob_reporting_period(), "oob_reporting_period",
         "oobReportingPeriod");
  period(from.has_blackout_period(), from.blackout_period(), "blackout_period", "blackoutPeriod");
  period(from.has_weight_expiration_period(), from.weight_expiration_period(), "weight_expiration_period",
         "weightExpirationPeriod");
  period(from.has_weight_update_period(), from.weight_update_period(), "weight_update_period",
         "weightUpdatePeriod");
  if (from.has_error_utilization_penalty()) {
    const double penalty = from.error_utilization_penalty().value();
    if (!(penalty >= 0) || std::isinf(penalty))
      at.at("error_utilization_penalty").refuse("must be a number that is not negative");
    to.add("errorUtilizationPenalty", json_of(penalty));
  }
  if (from.metric_names_for_computing_utilization_size() > 0) {
    std::string names;
    for (const std::string& name : from.metric_names_for_computing_utilization())
      names.append(names.empty() ? "" : ",").append(json_of(name));
    to.add("metricNamesForComputingUtilization", "[" + names + "]");
  }
  if (from.has_slow_start_config()) add_slow_start(to, from.slow_start_config(), at.at("slow_start_config"));
  return one_policy("weighted_round_robin", to.text());
}

class policy_reader {
 public:
  explicit policy_reader(custom_policies has_custom) : has_custom_(std::move(has_custom)) {}

  [[nodiscard]] std::string read(const wire::LoadBalancingPolicy& from, std::size_t depth,
                                 const field_path& at) const {
    if (depth > limits::policy_depth_max)
      at.refuse("is nested deeper than " + std::to_string(limits::policy_depth_max) + " policies");
    for (int i = 0; i < from.policies_size(); ++i) {
      const field_path here = at.at("policies", static_cast<std::size_t>(i));
      const field_path config = here.at("typed_extension_config.typed_config");
      if (auto found = one(from.policies(i).typed_extension_config().typed_config(), depth, config))
        return *std::move(found);
    }
    at.refuse("has no policy that is supported");
  }

 private:
  // Nothing if the type is not supported.
  [[nodiscard]] std::optional<std::string> one(const google::protobuf::Any& any, std::size_t depth,
                                               const field_path& at) const {
    std::string_view type = type_of(any);
    if (is_typed_struct(type)) {
      const auto custom = unpacked<wire::TypedStruct>(any, at);
      const std::string name = custom.type_url().substr(custom.type_url().rfind('/') + 1);
      const std::string config = json_of(custom.value());
      const auto accepted = has_custom_ ? has_custom_(name, config) : std::nullopt;
      if (!accepted) return std::nullopt;
      if (!accepted->ok()) at.refuse(base::printable(accepted->message()));
      return one_policy(name, config);
    }
    constexpr std::string_view package = "envoy.extensions.load_balancing_policies.";
    if (!type.starts_with(package)) return std::nullopt;
    type.remove_prefix(package.size());
    if (type == "round_robin.v3.RoundRobin") return round_robin(unpacked<wire::RoundRobin>(any, at), at);
    if (type == "pick_first.v3.PickFirst")
      return one_policy(
          "pick_first",
          json_object()
              .add("shuffleAddressList", json_of(unpacked<wire::PickFirst>(any, at).shuffle_address_list()))
              .text());
    if (type == "least_request.v3.LeastRequest") {
      const auto m = unpacked<wire::LeastRequest>(any, at);
      return least_request(m.has_choice_count() ? &m.choice_count() : nullptr, at);
    }
    if (type == "ring_hash.v3.RingHash") {
      const auto m = unpacked<wire::RingHash>(any, at);
      if (m.hash_function() != 0 && m.hash_function() != 1) at.at("hash_function").refuse("must be XX_HASH");
      return ring_hash(m.has_minimum_ring_size() ? &m.minimum_ring_size() : nullptr,
                       m.has_maximum_ring_size() ? &m.maximum_ring_size() : nullptr, at);
    }
    if (type == "client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin")
      return weighted_round_robin(unpacked<wire::WeightedRoundRobin>(any, at), at);
    if (type == "wrr_locality.v3.WrrLocality") {
      const auto m = unpacked<wire::WrrLocality>(any, at);
      return wrr_locality(read(m.endpoint_picking_policy(), depth + 1, at.at("endpoint_picking_policy")));
    }
    if (type == "random_subsetting.v3.RandomSubsetting") {
      const auto m = unpacked<wire::RandomSubsetting>(any, at);
      if (m.subset_size().value() == 0) at.at("subset_size").refuse("must be more than 0");
      json_object to;
      to.add("subsetSize", json_of(std::uint64_t{m.subset_size().value()}));
      // A program's policy cannot be there: service configs have no names for them.
      to.add("childPolicy", policy_reader(nullptr).read(m.child_policy(), depth + 1, at.at("child_policy")));
      return one_policy("random_subsetting_experimental", to.text());
    }
    return std::nullopt;
  }

  const custom_policies has_custom_;
};

}  // namespace

std::string balancing_config_of(const wire::Cluster& from, const custom_policies& has_custom,
                                const field_path& at) {
  if (from.has_load_balancing_policy())
    return policy_reader(has_custom).read(from.load_balancing_policy(), 1, at.at("load_balancing_policy"));
  switch (from.lb_policy()) {
    case 0: return wrr_locality(round_robin(from.round_robin_lb_config(), at.at("round_robin_lb_config")));
    case 1: {
      const wire::LeastRequestConfig& c = from.least_request_lb_config();
      return wrr_locality(least_request(c.has_choice_count() ? &c.choice_count() : nullptr,
                                        at.at("least_request_lb_config")));
    }
    case 2: {
      const wire::RingHashConfig& c = from.ring_hash_lb_config();
      if (c.hash_function() != 0) at.at("ring_hash_lb_config.hash_function").refuse("must be XX_HASH");
      return ring_hash(c.has_minimum_ring_size() ? &c.minimum_ring_size() : nullptr,
                       c.has_maximum_ring_size() ? &c.maximum_ring_size() : nullptr,
                       at.at("ring_hash_lb_config"));
    }
    default: at.at("lb_policy").refuse("is an unexpected lb policy: " + std::to_string(from.lb_policy()));
  }
}

}  // namespace coracle::xds
