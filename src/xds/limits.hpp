// The limits of what a control plane may send (docs/reference/limits.md).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace coracle::xds::limits {

// A bootstrap file. Real ones have a few kilobytes.
inline constexpr std::size_t bootstrap_bytes_max = 1024 * 1024;
// A token for control planes, in its file. Headers with more would be rejected.
inline constexpr std::size_t token_bytes_max = 16 * 1024;
// A message of a control plane: all of its Clusters, of which there may be thousands.
inline constexpr std::uint32_t response_bytes_max = 64 * 1024 * 1024;
// One resource, serialized: a cluster of 100,000 endpoints has less.
inline constexpr std::size_t resource_bytes_max = 16 * 1024 * 1024;
// Of a response, and names with an error as many. They are counted before the response is parsed: an empty
// one has two bytes, of which parsing makes a hundred.
inline constexpr std::size_t resources_per_response_max = 20'000;
// Of one resource, counted before it is parsed, too: localities, endpoints and their addresses, drops,
// virtual hosts, domains, routes and their matchers, clusters, policies and filters.
inline constexpr std::size_t elements_per_resource_max = 200'000;
// What a client keeps of the resources that it watches, serialized.
inline constexpr std::size_t cache_bytes_max = 128 * 1024 * 1024;
// The elements of their lists, and of those of one response. Parsed, an element has up to 512 bytes beside
// its texts, also one that has two bytes in a message.
inline constexpr std::size_t cached_elements_max = 2'000'000;
// A host name (RFC 1035 2.3.4, without the last dot).
inline constexpr std::size_t host_bytes_max = 253;
// The version and the nonce of a response: each resource keeps its version.
inline constexpr std::size_t version_bytes_max = 4 * 1024;
// Of one server, which are tried one after the other.
inline constexpr std::size_t addresses_per_endpoint_max = 64;
// What ring_hash hashes for an endpoint, as often as the ring has places.
inline constexpr std::size_t hash_key_bytes_max = 1024;
// The name of a share of calls that is dropped.
inline constexpr std::size_t category_bytes_max = 256;
// One pattern: long enough for a list of a hundred paths.
inline constexpr std::size_t regex_bytes_max = 4 * 1024;
// What RE2 may use for one pattern, its states at run time included; it matches more slowly when they are
// used up.
inline constexpr std::int64_t regex_memory_bytes_max = 256 * 1024;
// Of one resource. Together with the limit before, a bound for what its patterns use.
inline constexpr std::size_t regexes_per_resource_max = 1024;
// Of the resources of one response that are watched, and of all that a client keeps.
inline constexpr std::size_t regexes_max = 2048;
// What replaces a match for a call's hash. A match may be empty, so each byte of a header may become this
// many.
inline constexpr std::size_t substitution_bytes_max = 256;
// Of a Listener, and overrides of filters in one place. A call passes all of them.
inline constexpr std::size_t filters_max = 64;
// Of one filter, or of its override, serialized: it is parsed as a whole before anything in it is counted.
inline constexpr std::size_t filter_config_bytes_max = 1024 * 1024;
// Of the cookies of sessions, which are sent with each first response.
inline constexpr std::size_t cookie_name_bytes_max = 256;
inline constexpr std::size_t cookie_path_bytes_max = 4 * 1024;
// Of the filter chains of a server's Listener: ranges of addresses times ranges of sources times ports. Each
// connection that is accepted looks at all of them, which takes 0.1 ms at the limit.
inline constexpr std::size_t filter_chain_criteria_max = 10'000;
// Permissions and principals of the RBAC filters of one response: a call is compared with those of its
// filters, one after the other.
inline constexpr std::size_t rbac_conditions_max = 50'000;
// Permissions, and principals, that contain others.
inline constexpr std::size_t rbac_depth_max = 16;
// Of one RBAC filter.
inline constexpr std::size_t audit_loggers_max = 16;
// Policies that contain policies (gRFC A52).
inline constexpr std::size_t policy_depth_max = 16;
// Aggregate clusters that contain aggregate clusters (gRFC A37).
inline constexpr std::size_t aggregate_depth_max = 16;
// The clusters below all aggregate clusters that the routes of a target name: each has policies of its own
// there, also if it is a part of several.
inline constexpr std::size_t aggregate_parts_max = 10'000;
// In the line of the log that says what is wrong with a channel's configuration.
inline constexpr std::size_t problems_logged_max = 16;
// Of the text that a NACK contains: a thousand invalid resources have one cause, as a rule.
inline constexpr std::size_t nack_text_bytes_max = 4 * 1024;
// What a control plane says of load reports: the names of the clusters that it wants.
inline constexpr std::uint32_t load_response_bytes_max = 1024 * 1024;
// Between two load reports, whatever the control plane asks for.
inline constexpr std::chrono::seconds load_interval_min{1};
// Of a locality, in one load report: servers name their metrics as they like.
inline constexpr std::size_t named_metrics_max = 1000;
// Of a cluster, in one load report.
inline constexpr std::size_t drop_categories_max = 1000;
// Names that a client subscribes to, per type. The names of clusters come from the control plane's own
// routes.
inline constexpr std::size_t subscriptions_max = 10'000;

}  // namespace coracle::xds::limits
