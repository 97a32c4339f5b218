#include "telemetry/metrics/cost_instruments.hpp"

#include <array>
#include <chrono>
#include <utility>

namespace coracle::telemetry_internal {

namespace {

constexpr instrument of_costs(std::string_view name, std::string_view unit, label_keys labels,
                              std::string_view description) {
  return {.name = name,
          .description = description,
          .unit = unit,
          .kind = instrument_kind::counter,
          .labels = labels,
          .optional_labels = {},
          .bounds = {}};
}

constexpr instrument measured_calls = of_costs("coracle.server.cost.calls", "{call}", {"grpc.method"},
                                               "Calls of the server whose cost was measured: a sample.");
constexpr instrument running_time =
    of_costs("coracle.server.cost.running", "s", {"grpc.method"},
             "The time in which code of the measured calls ran on their loops.");
constexpr instrument waiting_time =
    of_costs("coracle.server.cost.waiting", "s", {"grpc.method", "coracle.wait"},
             "The time in which measured calls waited, by what they waited for.");
constexpr instrument heap_blocks_of_calls =
    of_costs("coracle.server.cost.heap_blocks", "{block}", {"grpc.method"},
             "Blocks of memory that measured calls needed and that could not be recycled ones.");

constexpr std::array all_of_costs{&measured_calls, &running_time, &waiting_time, &heap_blocks_of_calls};

double seconds(duration d) noexcept { return std::chrono::duration<double>(d).count(); }

}  // namespace

std::span<const instrument* const> cost_instruments() noexcept { return all_of_costs; }

void measure_cost(const call_cost& c, std::string_view method, metrics_sink& to) noexcept {
  const std::array of_method{method};
  to.measure(measured_calls, 1, of_method);
  to.measure(running_time, seconds(c.running), of_method);
  to.measure(heap_blocks_of_calls, static_cast<double>(c.heap_blocks), of_method);
  for (const auto& [kind, d] : {std::pair(std::string_view("messages"), c.waiting_for_messages),
                                std::pair(std::string_view("room"), c.waiting_for_room),
                                std::pair(std::string_view("calls"), c.waiting_for_calls),
                                std::pair(std::string_view("other"), c.waiting_otherwise)}) {
    const std::array labels{method, kind};
    to.measure(waiting_time, seconds(d), labels);
  }
}

}  // namespace coracle::telemetry_internal
