#include "telemetry/metrics/call_instruments.hpp"

#include "telemetry/metrics/histogram.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::telemetry_internal {

namespace {

constexpr label_keys of_server{"grpc.method"};
constexpr label_keys of_ended_server{"grpc.method", "grpc.status"};
constexpr label_keys of_client{"grpc.method", "grpc.target"};
constexpr label_keys of_ended_client{"grpc.method", "grpc.target", "grpc.status"};
constexpr label_keys of_calls{custom_label_key};
// The first two are set by balancers of xDS (gRFC A78, A89), and empty without them.
constexpr label_keys of_attempts{locality_label_key, service_label_key, custom_label_key};

constexpr instrument counter(std::string_view name, std::string_view unit, label_keys labels,
                             std::string_view description, label_keys optional = {}) {
  return {.name = name,
          .description = description,
          .unit = unit,
          .kind = instrument_kind::counter,
          .labels = labels,
          .optional_labels = optional,
          .bounds = {}};
}

constexpr instrument histogram(std::string_view name, std::string_view unit, label_keys labels,
                               std::span<const double> bounds, std::string_view description,
                               label_keys optional = {}) {
  return {.name = name,
          .description = description,
          .unit = unit,
          .kind = instrument_kind::histogram,
          .labels = labels,
          .optional_labels = optional,
          .bounds = bounds};
}

constexpr instrument server_started =
    counter("grpc.server.call.started", "{call}", of_server, "Calls that the server has received.");
constexpr instrument server_duration =
    histogram("grpc.server.call.duration", "s", of_ended_server, latency_bounds_s,
              "The time from the headers of a call to its trailers.");
constexpr instrument server_sent =
    histogram("grpc.server.call.sent_total_compressed_message_size", "By", of_ended_server, size_bounds_bytes,
              "The size of the replies of a call, compressed, without metadata and framing.");
constexpr instrument server_received =
    histogram("grpc.server.call.rcvd_total_compressed_message_size", "By", of_ended_server, size_bounds_bytes,
              "The size of the requests of a call, compressed, without metadata and framing.");
constexpr instrument attempt_started = counter("grpc.client.attempt.started", "{attempt}", of_client,
                                               "Attempts of calls that the client has begun.", of_calls);
constexpr instrument attempt_duration =
    histogram("grpc.client.attempt.duration", "s", of_ended_client, latency_bounds_s,
              "The time that an attempt of a call took, with the wait for a connection.", of_attempts);
constexpr instrument attempt_sent = histogram(
    "grpc.client.attempt.sent_total_compressed_message_size", "By", of_ended_client, size_bounds_bytes,
    "The size of the requests of an attempt, compressed, without metadata and framing.", of_attempts);
constexpr instrument attempt_received = histogram(
    "grpc.client.attempt.rcvd_total_compressed_message_size", "By", of_ended_client, size_bounds_bytes,
    "The size of the replies of an attempt, compressed, without metadata and framing.", of_attempts);
constexpr instrument client_duration =
    histogram("grpc.client.call.duration", "s", of_ended_client, latency_bounds_s,
              "The time that a call took for the program, with its retries.", of_calls);

constexpr std::array all_of_calls{&server_started,  &server_duration,  &server_sent,
                                  &server_received, &attempt_started,  &attempt_duration,
                                  &attempt_sent,    &attempt_received, &client_duration};

metric_point point_of(const method_calls& m) {
  metric_point p;
  p.start = m.start;
  p.labels.emplace_back("grpc.method", m.key.method);
  if (m.key.client) p.labels.emplace_back("grpc.target", m.key.target);
  return p;
}

// Makes the families of one side.
class families {
 public:
  families(bool client, const std::vector<const method_calls*>& calls, const selection& what,
           metrics_snapshot& to)
      : client_(client), calls_(calls), what_(what), to_(to) {}

  void add_started(const instrument& by) {
    if (!what_.reports(by)) return;
    metric_family f = family_of(by);
    for (const method_calls* m : calls_) {
      // Where an attempt goes is not known when it starts.
      if (m->key.client != client_ || m->key.server != server_labels()) continue;
      metric_point& p = f.points.emplace_back(point_of(*m));
      add_optional(p, by, *m);
      p.value = static_cast<double>(m->started);
    }
    keep(std::move(f));
  }
  void add_ended(const instrument& by,
                 std::array<std::unique_ptr<call_histograms>, status_codes> method_calls::* which,
                 histogram_data (call_histograms::*value)() const,
                 std::vector<metric_exemplar> (call_histograms::*exemplars)() const) {
    if (!what_.reports(by)) return;
    metric_family f = family_of(by);
    for (const method_calls* m : calls_) {
      if (m->key.client != client_) continue;
      for (std::size_t code = 0; code < status_codes; ++code) {
        const auto& h = (m->*which)[code];
        if (!h) continue;
        metric_point& p = f.points.emplace_back(point_of(*m));
        p.labels.emplace_back("grpc.status", name_of(static_cast<status_code>(code)));
        add_optional(p, by, *m);
        p.histogram = (*h.*value)();
        p.exemplars = (*h.*exemplars)();
      }
    }
    keep(std::move(f));
  }

 private:
  void add_optional(metric_point& p, const instrument& by, const method_calls& m) const {
    for (const std::string_view key : by.optional_labels)
      if (what_.reports_label(key)) p.labels.emplace_back(key, value_of(key, m.key));
  }
  static const std::string& value_of(std::string_view key, const call_key& of) noexcept {
    if (key == locality_label_key) return of.server.locality;
    return key == service_label_key ? of.server.backend_service : of.custom;
  }
  void keep(metric_family&& f) {
    if (!f.points.empty()) to_.families.push_back(std::move(f));
  }
  const bool client_;
  const std::vector<const method_calls*>& calls_;
  const selection& what_;
  metrics_snapshot& to_;
};

}  // namespace

std::span<const instrument* const> call_instruments() noexcept { return all_of_calls; }

void add_call_families(const std::vector<const method_calls*>& calls, const selection& what,
                       metrics_snapshot& to) {
  families server(false, calls, what, to);
  server.add_started(server_started);
  server.add_ended(server_duration, &method_calls::ended, &call_histograms::duration,
                   &call_histograms::duration_exemplars);
  server.add_ended(server_sent, &method_calls::ended, &call_histograms::sent,
                   &call_histograms::sent_exemplars);
  server.add_ended(server_received, &method_calls::ended, &call_histograms::received,
                   &call_histograms::received_exemplars);
  families client(true, calls, what, to);
  client.add_started(attempt_started);
  client.add_ended(attempt_duration, &method_calls::ended, &call_histograms::duration,
                   &call_histograms::duration_exemplars);
  client.add_ended(attempt_sent, &method_calls::ended, &call_histograms::sent,
                   &call_histograms::sent_exemplars);
  client.add_ended(attempt_received, &method_calls::ended, &call_histograms::received,
                   &call_histograms::received_exemplars);
  client.add_ended(client_duration, &method_calls::client_calls, &call_histograms::duration,
                   &call_histograms::duration_exemplars);
}

}  // namespace coracle::telemetry_internal
