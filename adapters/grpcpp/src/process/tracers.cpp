// GRPC_VERBOSITY and GRPC_TRACE: what they mean for the rooms of the log.
#include "adapters/grpcpp/src/process/library_log.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace grpc::internal {
namespace {

using coracle::log_level;
using coracle::log_room;

struct tracers_of_room {
  log_room room;
  std::string_view names;  // each between blanks
};

// The tracers of grpc++ (doc/environment_variables.md and trace_flags.md of its releases) by the room that
// does their work here. docs/guides/from_grpcpp.md has the same table.
constexpr std::array known_tracers{
    tracers_of_room{log_room::adapters, " api "},
    tracers_of_room{
        log_room::runtime,
        " call_combiner closure combiner event_engine event_engine_client_channel_resolver "
        "event_engine_endpoint event_engine_endpoint_data event_engine_poller executor fd_refcount fd_trace "
        "op_failure party_state pending_tags pollable_refcount polling polling_api promise_primitives "
        "queue_pluck queue_refcount queue_timeout resource_quota timer timer_check work_serializer "},
    tracers_of_room{log_room::net,
                    " cares_address_sorting cares_resolver dns_resolver event_engine_dns iomgr tcp udp "},
    tracers_of_room{log_room::tls,
                    " handshaker plugin_credentials secure_endpoint token_fetcher_credentials tsi "},
    tracers_of_room{
        log_room::transport,
        " bdp_estimator chttp2_hpack_parser chttp2_refcount compression flowctl hpack_parser http http1 "
        "http2_ping http2_ph2_transport http2_stream_state http_keepalive inproc metadata_query "
        "ping_abuse_policy stream_refcount "},
    tracers_of_room{
        log_room::client,
        " backend_metric backend_metric_filter channel channel_stack client_channel client_channel_call "
        "client_channel_lb_call client_channel_routing client_idle_filter connectivity_state "
        "fault_injection_filter glb health_check_client lb_policy_refcount oob_backend_metric orca_client "
        "outlier_detection_lb pick_first priority_lb resolver_refcount retry ring_hash_lb rls_lb "
        "round_robin stateful_session_filter subchannel subchannel_pool subchannel_refcount "
        "weighted_round_robin_lb weighted_target_lb xds_client xds_client_refcount "
        "xds_cluster_impl_lb xds_cluster_manager_lb xds_override_host_lb xds_resolver xds_wrr_locality_lb "},
    tracers_of_room{
        log_room::server,
        " call call_error call_refcount call_state grpc_authz_api server_channel xds_server_config_fetcher "},
};

std::optional<log_room> room_of(std::string_view tracer) {
  const std::string between_blanks = " " + std::string(tracer) + " ";
  for (const tracers_of_room& of : known_tracers)
    if (of.names.find(between_blanks) != of.names.npos) return of.room;
  return std::nullopt;
}

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  return lower;
}

// grpc++ has no warnings: those of Coracle are written like errors.
std::optional<log_level> level_of_verbosity(std::string_view verbosity) {
  const std::string name = in_lower_case(verbosity);
  if (name == "debug") return log_level::debug;
  if (name == "info") return log_level::info;
  if (name == "error") return log_level::warning;
  if (name == "none") return coracle::log_nothing;
  return std::nullopt;
}

// The name of a tracer that does not exist, for a line of the log.
std::string printable(std::string_view name) {
  std::string text(name.substr(0, 64));
  for (char& c : text)
    if (c < ' ' || c > '~') c = '?';
  return text;
}

std::string_view without_blanks(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string set_levels_of_grpc(coracle::logger& of, std::string_view verbosity, std::string_view tracers) {
  if (const auto level = level_of_verbosity(verbosity)) of.set_min_level(*level);
  const log_level before = of.min_level();
  std::string unknown;
  while (!tracers.empty()) {
    const auto comma = std::min(tracers.find(','), tracers.size());
    std::string_view tracer = without_blanks(tracers.substr(0, comma));
    tracers.remove_prefix(std::min(comma + 1, tracers.size()));
    const bool off = tracer.starts_with('-');
    if (off) tracer.remove_prefix(1);
    const log_level level = off ? before : log_level::debug;
    if (tracer == "all") {
      of.set_min_level(level);
    } else if (const auto room = room_of(tracer)) {
      of.set_min_level(*room, level);
    } else if (!tracer.empty()) {
      unknown.append(unknown.empty() ? "" : ", ").append(printable(tracer));
    }
  }
  return unknown;
}

}  // namespace grpc::internal
