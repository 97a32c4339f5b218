#include "telemetry/pages/server_settings.hpp"

#include "coracle/runtime/runtime.hpp"
#include "coracle/server/server_snapshot.hpp"
#include "server/server_state.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

namespace coracle::telemetry_internal {

namespace {

using services::ordered_json;

// The largest value of a type stands for no limit: null.
template <class Number>
ordered_json limit_json(Number n) {
  return n == std::numeric_limits<Number>::max() ? ordered_json() : ordered_json(n);
}
ordered_json limit_json(duration d) {
  if (d == duration::max()) return {};
  return std::chrono::duration<double>(d).count();
}

template <class Value>
constexpr std::string_view source_of(const Value& value, const Value& standard) {
  return value == standard ? "default" : "program";
}

struct limit_list {
  ordered_json rows = ordered_json::array();
  template <class Value>
  void add(std::string_view name, std::string_view unit, const Value& value, const Value& standard,
           ordered_json used = {}) {
    rows.push_back({{"name", name},
                    {"unit", unit},
                    {"limit", limit_json(value)},
                    {"used", std::move(used)},
                    {"source", source_of(value, standard)}});
  }
};

// Texts for people: true, 30 s, none.
std::string text_of_value(bool b) { return b ? "true" : "false"; }
std::string text_of_value(duration d) {
  if (d == duration::max()) return "none";
  const double s = std::chrono::duration<double>(d).count();
  std::string text = std::to_string(s);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text + " s";
}
template <class Number>
  requires std::is_integral_v<Number>
std::string text_of_value(Number n) {
  return n == std::numeric_limits<Number>::max() ? "none" : std::to_string(n);
}

struct setting_list {
  ordered_json rows = ordered_json::array();
  void add(std::string_view name, std::string value, std::string_view source) {
    rows.push_back({{"name", name}, {"value", std::move(value)}, {"source", source}});
  }
  template <class Value>
  void add(std::string_view name, const Value& value, const Value& standard) {
    add(name, text_of_value(value), source_of(value, standard));
  }
};

constexpr std::string_view backend_variable = "CORACLE_BACKEND";

}  // namespace

ordered_json limits_of(const server_internal::server_state& of, const server_snapshot& now) {
  const server_limits l = of.limits();
  const server_limits standard;
  const server_options options;
  std::uint64_t streams = 0;
  std::uint64_t most_streams = 0;
  for (const connection_snapshot& c : now.connections) {
    streams += c.streams_open;
    most_streams = std::max(most_streams, c.streams_open);
  }
  limit_list list;
  list.add("server_limits::connections", "connection", l.connections, standard.connections,
           now.connections.size());
  list.add("server_limits::streams", "call of the connection with most", l.streams, standard.streams,
           most_streams);
  list.add("server_limits::calls", "call", l.calls, standard.calls, streams);
  list.rows.push_back({{"name", "server_options::memory"},
                       {"unit", "byte"},
                       {"limit", of.memory.limit_bytes()},
                       {"used", of.memory.used_bytes()},
                       {"source", of.options.memory ? "program" : "default"}});
  list.add("server_options::max_receive_bytes", "byte", of.options.max_receive_bytes,
           options.max_receive_bytes);
  list.add("server_options::max_send_bytes", "byte", of.options.max_send_bytes, options.max_send_bytes);
  list.add("server_limits::header_list_bytes", "byte", l.header_list_bytes, standard.header_list_bytes);
  list.add("server_limits::unread_bytes", "byte of a connection", l.unread_bytes, standard.unread_bytes);
  list.add("server_limits::call_time", "second", l.call_time, standard.call_time);
  list.add("server_limits::handshake_time", "second", l.handshake_time, standard.handshake_time);
  list.add("server_limits::stall_time", "second", l.stall_time, standard.stall_time);
  return std::move(list.rows);
}

ordered_json admission_of(const server_snapshot& now) {
  ordered_json rows = ordered_json::array();
  for (const loop_admission& a : now.admission)
    rows.push_back({{"loop", a.loop},
                    {"limit", a.concurrency_limit == 0 ? ordered_json() : ordered_json(a.concurrency_limit)},
                    {"running", a.calls_limited},
                    {"waiting", a.calls_waiting},
                    {"rejections",
                     {{"overload", a.rejected_overload},
                      {"deadline", a.rejected_deadline},
                      {"rate", a.rejected_rate}}}});
  return rows;
}

ordered_json settings_of(const server_internal::server_state& of) {
  const server_options& o = of.options;
  const server_options standard;
  setting_list list;
  list.add("server_options::drain_grace", o.drain_grace, standard.drain_grace);
  list.add("server_options::reuse_port", o.reuse_port, standard.reuse_port);
  list.add("server_options::cost_trailers", o.cost_trailers, standard.cost_trailers);
  list.add("server_options::load_trailers", o.load_trailers, standard.load_trailers);
  list.add("server_options::keepalive.time", o.keepalive.time, standard.keepalive.time);
  list.add("server_options::keepalive.timeout", o.keepalive.timeout, standard.keepalive.timeout);
  list.add("server_options::client_pings.min_interval", o.client_pings.min_interval,
           standard.client_pings.min_interval);
  list.add("server_options::client_pings.without_calls", o.client_pings.without_calls,
           standard.client_pings.without_calls);
  list.add("server_options::max_connection_idle", o.max_connection_idle, standard.max_connection_idle);
  list.add("server_options::max_connection_age.max", o.max_connection_age.max,
           standard.max_connection_age.max);
  list.add("server_options::max_connection_age.grace", o.max_connection_age.grace,
           standard.max_connection_age.grace);
  return std::move(list.rows);
}

ordered_json settings_of(runtime& of) {
  setting_list list;
  list.add("loops", std::to_string(of.size()), of.size() == 1 ? "default" : "program");
  // The variable overrides the automatic choice only, and the choice of the program is not known here.
  list.add("backend", std::string(of.backend_name()),
           std::getenv(backend_variable.data()) ? "environment or program" : "default or program");
  return std::move(list.rows);
}

ordered_json known_environment() {
  ordered_json rows = ordered_json::array();
  for (const std::string_view name :
       {backend_variable, std::string_view("CORACLE_LOG"), std::string_view("CORACLE_LOG_FORMAT")}) {
    const char* const value = std::getenv(name.data());
    rows.push_back({{"name", name}, {"value", value ? ordered_json(value) : ordered_json()}});
  }
  return rows;
}

}  // namespace coracle::telemetry_internal
