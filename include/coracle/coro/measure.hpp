// measure(): makes a measurement, for the metrics of the program.
#pragma once

#include "coracle/base/metrics.hpp"
#include "coracle/coro/executor.hpp"

#include <initializer_list>
#include <span>
#include <string_view>

namespace coracle {

/// Makes one measurement with the instrument `by`: adds `value` to a counter, sets a gauge, or counts the
/// value in a histogram. `values` has the values of the instrument's labels in their order.
///
///   coracle::measure(uploads, 1, {"png"});
///
/// The loop of the calling thread takes it, without a lock. Does nothing on a loop without telemetry, and on
/// threads that drive no loop. Each distinct list of label values is a time series of its own that lasts as
/// long as the telemetry: take values from a short list, never from what clients send.
inline void measure(const instrument& by, double value,
                    std::initializer_list<std::string_view> values = {}) noexcept {
  if (coro::executor* const here = coro::executor::current())
    if (metrics_sink* const sink = here->metrics())
      sink->measure(by, value, std::span(values.begin(), values.size()));
}

}  // namespace coracle
