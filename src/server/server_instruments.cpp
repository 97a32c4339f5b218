#include "server/server_instruments.hpp"

#include "coracle/coro/measure.hpp"

#include <array>

namespace coracle::server_internal {

namespace {

constexpr instrument of_servers(instrument_kind kind, std::string_view name, std::string_view unit,
                                std::string_view description, label_keys labels = {}) {
  return {.name = name,
          .description = description,
          .unit = unit,
          .kind = kind,
          .labels = labels,
          .optional_labels = {},
          .bounds = {}};
}

using enum instrument_kind;

constexpr instrument connections =
    of_servers(up_down_counter, "coracle.server.connections", "{connection}", "Open connections of servers.");
constexpr instrument under_pressure =
    of_servers(up_down_counter, "coracle.server.connections.under_pressure", "{connection}",
               "Connections that get no credit because the memory quota is used up.");
constexpr instrument connection_memory =
    of_servers(up_down_counter, "coracle.server.connections.memory", "By",
               "Memory that connections hold because of their peers, by what the connections do.",
               {"coracle.connection.state"});
constexpr instrument calls = of_servers(up_down_counter, "coracle.server.calls", "{call}",
                                        "Calls that have not ended, or whose handlers still run.");
constexpr instrument orphaned_calls =
    of_servers(up_down_counter, "coracle.server.calls.orphaned", "{call}",
               "Calls that have ended for their clients while their handlers still run.");
constexpr instrument orphaned_memory = of_servers(up_down_counter, "coracle.server.calls.orphaned.memory",
                                                  "By", "Memory of the messages of orphaned calls.");
constexpr instrument traffic =
    of_servers(counter, "coracle.server.io", "By", "Bytes that connections of servers carried.",
               {"network.io.direction"});
constexpr instrument draining =
    of_servers(up_down_counter, "coracle.server.draining", "{loop}", "Loops whose server drains.");
constexpr instrument memory_used = of_servers(up_down_counter, "coracle.server.memory.usage", "By",
                                              "Memory that connections hold because of their peers.");
constexpr instrument memory_limit =
    of_servers(up_down_counter, "coracle.server.memory.limit", "By", "The memory quota of servers.");
constexpr instrument admission_limit =
    of_servers(up_down_counter, "coracle.server.admission.limit", "{call}",
               "How many unary calls may run at a time (server_options::admission).");
constexpr instrument admission_running = of_servers(up_down_counter, "coracle.server.admission.running",
                                                    "{call}", "Calls that count for that limit.");
constexpr instrument admission_waiting =
    of_servers(up_down_counter, "coracle.server.admission.waiting", "{call}",
               "Calls that wait because the limit is reached.");
constexpr instrument rejections =
    of_servers(counter, "coracle.server.rejections", "{rejection}",
               "Connections and calls that a limit of the server rejected.", {"coracle.limit"});

constexpr std::array all_of_servers{
    &connections,       &under_pressure,   &connection_memory, &calls,
    &orphaned_calls,    &orphaned_memory,  &traffic,           &draining,
    &memory_used,       &memory_limit,     &rejections,        &admission_limit,
    &admission_running, &admission_waiting};

double number(auto n) noexcept { return static_cast<double>(n); }

}  // namespace

std::span<const instrument* const> server_instruments() noexcept { return all_of_servers; }

void report(const shard_values& now, metrics_sink& to) noexcept {
  to.measure(connections, number(now.connections), {});
  to.measure(under_pressure, number(now.connections_under_pressure), {});
  to.measure(connection_memory, number(now.bytes_of_idle), std::array<std::string_view, 1>{"idle"});
  to.measure(connection_memory, number(now.bytes_of_active), std::array<std::string_view, 1>{"active"});
  to.measure(connection_memory, number(now.bytes_under_pressure),
             std::array<std::string_view, 1>{"under_pressure"});
  to.measure(calls, number(now.calls), {});
  to.measure(orphaned_calls, number(now.orphaned_calls), {});
  to.measure(orphaned_memory, number(now.orphaned_bytes), {});
  to.measure(traffic, number(now.bytes_sent), std::array<std::string_view, 1>{"transmit"});
  to.measure(traffic, number(now.bytes_received), std::array<std::string_view, 1>{"receive"});
  to.measure(draining, now.draining ? 1 : 0, {});
  if (now.concurrency_limit == 0) return;
  to.measure(admission_limit, number(now.concurrency_limit), {});
  to.measure(admission_running, number(now.limited_calls), {});
  to.measure(admission_waiting, number(now.waiting_calls), {});
}

void report_quota(std::size_t used_bytes, std::size_t limit_bytes, metrics_sink& to) noexcept {
  to.measure(memory_used, number(used_bytes), {});
  to.measure(memory_limit, number(limit_bytes), {});
}

void measure_rejection(std::string_view limit) noexcept { measure(rejections, 1, {limit}); }

}  // namespace coracle::server_internal
