#include "telemetry/metrics/retry_instruments.hpp"

#include "telemetry/metrics/histogram.hpp"

#include <array>
#include <chrono>
#include <span>
#include <string_view>

namespace coracle::telemetry_internal {

namespace {

constexpr std::array<double, 5> up_to_five{1, 2, 3, 4, 5};
constexpr std::array<double, 6> up_to_ten{1, 2, 3, 4, 5, 10};

constexpr instrument of_retries(std::string_view name, std::string_view unit, std::span<const double> bounds,
                                std::string_view description) {
  return {.name = name,
          .description = description,
          .unit = unit,
          .kind = instrument_kind::histogram,
          .labels = {"grpc.method", "grpc.target"},
          .optional_labels = {custom_label_key},
          .bounds = bounds,
          .on_by_default = false};
}

constexpr instrument retries =
    of_retries("grpc.client.call.retries", "{retry}", up_to_five, "Retries of a call by its retry policy.");
constexpr instrument transparent_retries =
    of_retries("grpc.client.call.transparent_retries", "{transparent_retry}", up_to_ten,
               "Attempts of a call that were repeated because the server had not processed them.");
constexpr instrument hedges = of_retries("grpc.client.call.hedges", "{hedge}", up_to_five,
                                         "Attempts of a call by its hedging policy, beyond the first.");
constexpr instrument retry_delay = of_retries("grpc.client.call.retry_delay", "s", latency_bounds_s,
                                              "The time in which a call had no active attempt.");

constexpr std::array all_of_retries{&retries, &transparent_retries, &hedges, &retry_delay};

}  // namespace

std::span<const instrument* const> retry_instruments() noexcept { return all_of_retries; }

void measure_retries(const observed_call& c, const call_key& key, metrics_sink& to) noexcept {
  const std::array<std::string_view, 3> labels{key.method, key.target, key.custom};
  if (c.retries) to.measure(retries, c.retries, labels);
  if (c.transparent_retries) to.measure(transparent_retries, c.transparent_retries, labels);
  if (c.hedges) to.measure(hedges, c.hedges, labels);
  if (c.retry_delay.count() > 0)
    to.measure(retry_delay, std::chrono::duration<double>(c.retry_delay).count(), labels);
}

}  // namespace coracle::telemetry_internal
