#include "xds/resource/route_configuration.hpp"

#include "base/printable.hpp"
#include "xds/limits.hpp"
#include "xds/resource/http_filters.hpp"
#include "xds/resource/matchers.hpp"
#include "xds/resource/wire_values.hpp"
#include "xds/wire/route.pb.h"

#include <algorithm>
#include <unordered_set>

namespace coracle::xds {

namespace {

constexpr std::pair<std::string_view, status_code> retry_conditions[] = {
    {"cancelled", status_code::cancelled},     {"deadline-exceeded", status_code::deadline_exceeded},
    {"internal", status_code::internal},       {"resource-exhausted", status_code::resource_exhausted},
    {"unavailable", status_code::unavailable},
};

// gRFC A44. Nothing if no condition is one of gRPC's.
std::optional<route_retry> retry_of(const wire::RetryPolicy& from, const field_path& at) {
  route_retry to;
  for (std::string_view rest = from.retry_on(); !rest.empty();) {
    const auto comma = rest.find(',');
    std::string_view one = rest.substr(0, comma);
    rest = comma == rest.npos ? std::string_view() : rest.substr(comma + 1);
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    for (const auto& [name, code] : retry_conditions)
      if (one == name && std::ranges::find(to.codes, code) == to.codes.end()) to.codes.push_back(code);
  }
  if (from.has_num_retries()) {
    if (from.num_retries().value() == 0) at.at("num_retries").refuse("must be at least 1");
    to.attempts_max = std::uint64_t{from.num_retries().value()} + 1;
  }
  if (from.has_retry_back_off()) {
    const wire::RetryBackOff& b = from.retry_back_off();
    if (!b.has_base_interval()) at.at("retry_back_off").refuse("has no base_interval");
    const duration base = duration_of(b.base_interval(), at.at("retry_back_off.base_interval"));
    if (base == duration::zero()) at.at("retry_back_off.base_interval").refuse("must be more than 0");
    to.backoff_base = std::max<duration>(base, std::chrono::milliseconds(1));
    to.backoff_max = base > duration::max() / 10 ? duration::max() : std::max(base * 10, to.backoff_base);
    if (b.has_max_interval()) {
      const duration max = duration_of(b.max_interval(), at.at("retry_back_off.max_interval"));
      if (max == duration::zero()) at.at("retry_back_off.max_interval").refuse("must be more than 0");
      if (max < base) at.at("retry_back_off.max_interval").refuse("must not be less than base_interval");
      to.backoff_max = std::max(max, to.backoff_base);
    }
  }
  if (to.codes.empty()) return std::nullopt;
  return to;
}

domain_pattern domain_of(std::string_view text, const field_path& at) {
  using kind = domain_pattern::kind;
  domain_pattern p{kind::exact, lower_case(text)};
  if (text.empty()) at.refuse("must not be empty");
  if (text == "*") return {kind::any, ""};
  if (text.starts_with('*')) {
    p.how = kind::suffix;
    p.text.erase(0, 1);
  } else if (text.ends_with('*')) {
    p.how = kind::prefix;
    p.text.pop_back();
  }
  if (p.text.find('*') != std::string::npos) at.refuse("has a \"*\" that is neither its begin nor its end");
  return p;
}

class route_reader {
 public:
  route_reader(const wire::RouteConfiguration& from, const reading& how, const field_path& at)
      : how_(how), matchers_(how.regexes) {
    for (int i = 0; i < from.cluster_specifier_plugins_size(); ++i) {
      const wire::ClusterSpecifierPlugin& p = from.cluster_specifier_plugins(i);
      const field_path here = at.at("cluster_specifier_plugins", static_cast<std::size_t>(i));
      if (!p.is_optional()) {
        here.refuse("is of the type " + base::printable(type_of(p.extension().typed_config())) +
                    ", which is not supported and not optional");
      }
      plugins_.insert(p.extension().name());
    }
  }

  [[nodiscard]] virtual_host host(const wire::VirtualHost& from, const field_path& at) {
    virtual_host to;
    to.name = from.name();
    for (int i = 0; i < from.domains_size(); ++i) {
      const field_path here = at.at("domains", static_cast<std::size_t>(i));
      to.domains.push_back(domain_of(from.domains(i), here));
      if (!domains_.insert(lower_case(from.domains(i))).second)
        here.refuse("occurs twice: " + base::printable(from.domains(i)));
    }
    if (to.domains.empty()) at.refuse("has no domains");
    to.overrides = overrides_of(from, at);
    std::optional<route_retry> retry;
    if (from.has_retry_policy()) retry = retry_of(from.retry_policy(), at.at("retry_policy"));
    for (int i = 0; i < from.routes_size(); ++i) {
      auto one = route_of(from.routes(i), retry, at.at("routes", static_cast<std::size_t>(i)));
      if (one) to.routes.push_back(*std::move(one));
    }
    return to;
  }

 private:
  template <class Message>
  [[nodiscard]] http_filters overrides_of(const Message& from, const field_path& at) {
    return read_filter_overrides(from.typed_per_filter_config(), how_, matchers_, at);
  }

  // Nothing if the route is to be ignored.
  [[nodiscard]] std::optional<route> route_of(const wire::Route& from,
                                              const std::optional<route_retry>& of_host,
                                              const field_path& at) {
    if (!from.has_match()) at.refuse("has no match");
    if (from.match().query_parameters_size() > 0) return std::nullopt;
    route to;
    to.name = from.name();
    to.match = match_of(from.match(), at.at("match"));
    to.overrides = overrides_of(from, at);
    if (from.has_non_forwarding_action()) to.kind = route::action_kind::non_forwarding;
    if (from.has_route()) {
      auto action = action_of(from.route(), of_host, at.at("route"));
      if (!action) return std::nullopt;
      to.action = *std::move(action);
      to.kind = route::action_kind::forward;
    }
    return to;
  }

  [[nodiscard]] route_match match_of(const wire::RouteMatch& from, const field_path& at) {
    using kind = text_matcher::kind;
    route_match to;
    const bool ignore_case = from.has_case_sensitive() && !from.case_sensitive().value();
    const auto with = [&](kind how, const std::string& text) {
      to.path = {how, ignore_case, ignore_case ? lower_case(text) : text, {}};
    };
    switch (from.path_specifier_case()) {
      case wire::RouteMatch::kPrefix: with(kind::prefix, from.prefix()); break;
      case wire::RouteMatch::kPath: with(kind::exact, from.path()); break;
      case wire::RouteMatch::kSafeRegex:
        to.path.how = kind::expression;
        to.path.expression = matchers_.expression(from.safe_regex(), at.at("safe_regex"));
        break;
      default: at.refuse("has an unrecognized path specifier");
    }
    for (int i = 0; i < from.headers_size(); ++i)
      to.headers.push_back(matchers_.header(from.headers(i), at.at("headers", static_cast<std::size_t>(i))));
    if (from.has_runtime_fraction())
      to.millionths =
          millionths_of(from.runtime_fraction().default_value(), at.at("runtime_fraction.default_value"));
    return to;
  }

  [[nodiscard]] std::optional<route_action> action_of(const wire::RouteAction& from,
                                                      const std::optional<route_retry>& of_host,
                                                      const field_path& at) {
    route_action to;
    switch (from.cluster_specifier_case()) {
      case wire::RouteAction::kCluster:
        if (from.cluster().empty()) at.at("cluster").refuse("must not be empty");
        to.clusters.push_back({from.cluster(), 1, {}});
        break;
      case wire::RouteAction::kWeightedClusters:
        to.clusters = weighted_of(from.weighted_clusters(), at.at("weighted_clusters"));
        break;
      case wire::RouteAction::kClusterSpecifierPlugin:
        if (!plugins_.contains(from.cluster_specifier_plugin())) {
          at.at("cluster_specifier_plugin")
              .refuse("is not declared: " + base::printable(from.cluster_specifier_plugin()));
        }
        return std::nullopt;
      default: return std::nullopt;  // gRFC A28: ignored, as newer specifiers are
    }
    if (from.has_max_stream_duration()) {
      const wire::MaxStreamDuration& d = from.max_stream_duration();
      if (d.has_grpc_timeout_header_max())
        to.timeout_max =
            duration_of(d.grpc_timeout_header_max(), at.at("max_stream_duration.grpc_timeout_header_max"));
      else if (d.has_max_stream_duration())
        to.timeout_max =
            duration_of(d.max_stream_duration(), at.at("max_stream_duration.max_stream_duration"));
    }
    to.retry = from.has_retry_policy() ? retry_of(from.retry_policy(), at.at("retry_policy")) : of_host;
    for (int i = 0; i < from.hash_policy_size(); ++i)
      if (auto one = hash_of(from.hash_policy(i), at.at("hash_policy", static_cast<std::size_t>(i))))
        to.hash_policies.push_back(*std::move(one));
    to.rewrites_authority = how_.rules.trusted && from.auto_host_rewrite().value();
    return to;
  }

  [[nodiscard]] std::vector<weighted_cluster> weighted_of(const wire::WeightedCluster& from,
                                                          const field_path& at) {
    std::vector<weighted_cluster> to;
    std::uint64_t sum = 0;
    for (int i = 0; i < from.clusters_size(); ++i) {
      const wire::ClusterWeight& c = from.clusters(i);
      const field_path here = at.at("clusters", static_cast<std::size_t>(i));
      if (c.weight().value() == 0) continue;
      if (c.name().empty()) here.refuse("has no name");
      sum += c.weight().value();
      if (sum > weight_sum_max) at.refuse("has weights whose sum exceeds 4294967295");
      to.push_back({c.name(), c.weight().value(), overrides_of(c, here)});
    }
    if (to.empty()) at.refuse("has no cluster with a weight above 0");
    return to;
  }

  // Nothing for a policy that gRPC ignores.
  [[nodiscard]] std::optional<hash_policy> hash_of(const wire::HashPolicy& from, const field_path& at) {
    if (from.has_filter_state()) {
      if (from.filter_state().key() != "io.grpc.channel_id") return std::nullopt;
      return hash_policy{hash_policy::channel_id(), from.terminal()};
    }
    if (!from.has_header()) return std::nullopt;
    hash_policy::header to;
    to.name = lower_case(from.header().header_name());
    if (from.header().has_regex_rewrite()) {
      const wire::RegexRewrite& r = from.header().regex_rewrite();
      const field_path here = at.at("header.regex_rewrite");
      to.pattern = matchers_.expression(r.pattern(), here.at("pattern"), regex::groups::captured);
      to.substitution = r.substitution();
      if (to.substitution.size() > limits::substitution_bytes_max)
        here.at("substitution")
            .refuse("must have at most " + std::to_string(limits::substitution_bytes_max) + " bytes");
      if (!to.pattern->can_substitute(to.substitution)) {
        here.at("substitution")
            .refuse("is not valid for its pattern, or names a group that the pattern does not have: \"" +
                    base::printable(to.substitution) + "\"");
      }
    }
    if (to.name.ends_with("-bin")) return std::nullopt;
    return hash_policy{std::move(to), from.terminal()};
  }

  const reading& how_;
  std::unordered_set<std::string> plugins_;  // optional ones, none of which is supported
  std::unordered_set<std::string> domains_;
  matcher_reader matchers_;
};

}  // namespace

route_configuration read_route_configuration(const wire::RouteConfiguration& from, const reading& how,
                                             const field_path& at) {
  route_configuration to;
  to.name = from.name();
  route_reader reader(from, how, at);
  for (int i = 0; i < from.virtual_hosts_size(); ++i)
    to.virtual_hosts.push_back(
        reader.host(from.virtual_hosts(i), at.at("virtual_hosts", static_cast<std::size_t>(i))));
  return to;
}

}  // namespace coracle::xds
