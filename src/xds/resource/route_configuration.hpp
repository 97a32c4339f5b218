// route_configuration: which cluster a call goes to (envoy.config.route.v3.RouteConfiguration; gRFC A28, A31,
// A42, A44, A81).
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/status.hpp"
#include "xds/resource/field_path.hpp"
#include "xds/resource/http_filters.hpp"
#include "xds/routing/header_matcher.hpp"
#include "xds/routing/text_matcher.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace coracle::xds {

namespace wire {
class RouteConfiguration;
}

// What retry_on asks for. Calls end with the status of their last attempt.
struct route_retry {
  std::vector<status_code> codes;
  std::uint64_t attempts_max = 2;  // the channel has its own maximum, too
  duration backoff_base = std::chrono::milliseconds(25);
  duration backoff_max = std::chrono::milliseconds(250);

  friend bool operator==(const route_retry&, const route_retry&) = default;
};

struct weighted_cluster {
  std::string name;
  std::uint32_t weight = 0;  // never 0
  http_filters overrides{};

  friend bool operator==(const weighted_cluster&, const weighted_cluster&) = default;
};

// A part of a call's hash (gRFC A42).
struct hash_policy {
  struct header {
    std::string name;  // in lower case
    std::optional<regex> pattern;
    std::string substitution;

    // What of a header's value is hashed.
    [[nodiscard]] std::string rewritten(std::string value) const {
      return pattern ? pattern->replaced(value, substitution) : value;
    }

    friend bool operator==(const header&, const header&) = default;
  };
  struct channel_id {
    friend bool operator==(const channel_id&, const channel_id&) = default;
  };

  std::variant<header, channel_id> of;
  bool terminal = false;

  friend bool operator==(const hash_policy&, const hash_policy&) = default;
};

struct route_match {
  text_matcher path;
  std::vector<header_matcher> headers;
  std::optional<std::uint64_t> millionths;  // of the calls; all if there is nothing

  friend bool operator==(const route_match&, const route_match&) = default;
};

struct route_action {
  std::vector<weighted_cluster> clusters;  // one, or several of which each call gets one
  std::optional<duration>
      timeout_max;  // of calls, zero for none; if there is nothing, that of the Listener holds
  std::optional<route_retry> retry;  // with that of the virtual host
  std::vector<hash_policy> hash_policies;
  bool rewrites_authority = false;  // gRFC A81; from a trusted server alone

  friend bool operator==(const route_action&, const route_action&) = default;
};

struct route {
  // A client forwards calls, a server answers those of routes that do not forward. Other actions, such as a
  // redirect, fail calls.
  enum class action_kind : unsigned char { forward, non_forwarding, unsupported };

  std::string name;
  route_match match;
  action_kind kind = action_kind::unsupported;
  route_action action;  // of `forward`
  http_filters overrides{};

  friend bool operator==(const route&, const route&) = default;
};

// "*", "*.example", "api.*" or "api.example", in lower case.
struct domain_pattern {
  enum class kind : unsigned char { any, prefix, suffix, exact };  // by rank

  kind how = kind::any;
  std::string text;  // without the star

  friend bool operator==(const domain_pattern&, const domain_pattern&) = default;
};

struct virtual_host {
  std::string name;
  std::vector<domain_pattern> domains;
  std::vector<route> routes;
  http_filters overrides{};

  friend bool operator==(const virtual_host&, const virtual_host&) = default;
};

struct route_configuration {
  std::string name;
  std::vector<virtual_host> virtual_hosts;

  friend bool operator==(const route_configuration&, const route_configuration&) = default;
};

// Throws invalid_resource.
[[nodiscard]] route_configuration read_route_configuration(const wire::RouteConfiguration& from,
                                                           const reading& how, const field_path& at);

}  // namespace coracle::xds
