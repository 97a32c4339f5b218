#include "client/call/retry_instruments.hpp"

#include "coracle/coro/measure.hpp"

#include <array>

namespace coracle::client {

namespace {

constexpr instrument throttled{.name = "coracle.client.retries_throttled",
                               .description = "Retries and hedges that the throttle of a channel prevented.",
                               .unit = "{attempt}",
                               .kind = instrument_kind::counter,
                               .labels = {},
                               .optional_labels = {},
                               .bounds = {}};
constexpr instrument calls_throttled{
    .name = "coracle.client.calls_throttled",
    .description = "Calls that a channel refused by itself because its servers refuse most of them.",
    .unit = "{call}",
    .kind = instrument_kind::counter,
    .labels = {},
    .optional_labels = {},
    .bounds = {}};
constexpr instrument calls_displaced{
    .name = "coracle.client.calls_displaced",
    .description = "Calls that lost their place among those that wait for a connection or a stream.",
    .unit = "{call}",
    .kind = instrument_kind::counter,
    .labels = {},
    .optional_labels = {},
    .bounds = {}};
constexpr instrument hedges_won{.name = "coracle.client.hedges_won",
                                .description = "Calls that ended with a hedge, not with their first attempt.",
                                .unit = "{call}",
                                .kind = instrument_kind::counter,
                                .labels = {},
                                .optional_labels = {},
                                .bounds = {}};

constexpr instrument calls_shared{
    .name = "coracle.client.calls_shared",
    .description = "Calls that single_flight() answered with the result of an equal call.",
    .unit = "{call}",
    .kind = instrument_kind::counter,
    .labels = {},
    .optional_labels = {},
    .bounds = {}};

constexpr std::array all_of_policies{&throttled, &calls_throttled, &calls_displaced, &hedges_won,
                                     &calls_shared};

}  // namespace

std::span<const instrument* const> policy_instruments() noexcept { return all_of_policies; }
void measure_throttled() noexcept { measure(throttled, 1); }
void measure_call_throttled() noexcept { measure(calls_throttled, 1); }
void measure_call_displaced() noexcept { measure(calls_displaced, 1); }
void measure_hedge_won() noexcept { measure(hedges_won, 1); }
void measure_call_shared() noexcept { measure(calls_shared, 1); }

}  // namespace coracle::client
