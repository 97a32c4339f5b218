#include "net/dns/dns_instruments.hpp"

#include "coracle/coro/measure.hpp"

#include <array>
#include <chrono>

namespace coracle::net {

namespace {

constexpr std::array<double, 12> bounds_s{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5};

constexpr instrument lookups{.name = "coracle.dns.lookup.duration",
                             .description = "The time that the resolution of a name took.",
                             .unit = "s",
                             .kind = instrument_kind::histogram,
                             .labels = {"coracle.status"},
                             .optional_labels = {},
                             .bounds = bounds_s};

constexpr std::array all_of_dns{&lookups};

}  // namespace

std::span<const instrument* const> dns_instruments() noexcept { return all_of_dns; }

void measure_lookup(duration took, status_code outcome) noexcept {
  measure(lookups, std::chrono::duration<double>(took).count(), {name_of(outcome)});
}

}  // namespace coracle::net
