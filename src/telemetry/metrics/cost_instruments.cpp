#include "telemetry/metrics/cost_instruments.hpp"

#include "telemetry/metrics/call_instruments.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <string_view>
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

// In the order of method_costs::waiting.
constexpr std::array<std::string_view, method_costs::wait_kinds> waits{"messages", "room", "calls", "other"};

double seconds(duration d) noexcept { return std::chrono::duration<double>(d).count(); }

class cost_families {
 public:
  cost_families(const std::vector<const method_calls*>& calls, const selection& what, metrics_snapshot& to)
      : calls_(calls), what_(what), to_(to) {}

  // add_points(f, m): adds what is known of a method with measured calls.
  template <class F>
  void add(const instrument& by, F add_points) {
    if (!what_.reports(by)) return;
    metric_family f = family_of(by);
    for (const method_calls* m : calls_)
      if (m->costs.calls != 0) add_points(f, *m);
    if (!f.points.empty()) to_.families.push_back(std::move(f));
  }
  static metric_point& add_point(metric_family& f, const method_calls& m, double value) {
    metric_point& p = f.points.emplace_back();
    p.start = m.start;
    p.labels.emplace_back("grpc.method", m.key.method);
    p.value = value;
    return p;
  }

 private:
  const std::vector<const method_calls*>& calls_;
  const selection& what_;
  metrics_snapshot& to_;
};

}  // namespace

std::span<const instrument* const> cost_instruments() noexcept { return all_of_costs; }

void add_cost_families(const std::vector<const method_calls*>& calls, const selection& what,
                       metrics_snapshot& to) {
  cost_families all(calls, what, to);
  all.add(measured_calls, [](metric_family& f, const method_calls& m) {
    cost_families::add_point(f, m, static_cast<double>(m.costs.calls));
  });
  all.add(running_time, [](metric_family& f, const method_calls& m) {
    cost_families::add_point(f, m, seconds(m.costs.running));
  });
  all.add(waiting_time, [](metric_family& f, const method_calls& m) {
    for (std::size_t i = 0; i < waits.size(); ++i)
      cost_families::add_point(f, m, seconds(m.costs.waiting[i]))
          .labels.emplace_back("coracle.wait", waits[i]);
  });
  all.add(heap_blocks_of_calls, [](metric_family& f, const method_calls& m) {
    cost_families::add_point(f, m, static_cast<double>(m.costs.heap_blocks));
  });
}

}  // namespace coracle::telemetry_internal
