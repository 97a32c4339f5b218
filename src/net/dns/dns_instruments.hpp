// dns_instruments: how long name resolution takes, and how it ends.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/metrics.hpp"
#include "coracle/base/status.hpp"

#include <span>

namespace coracle::net {

[[nodiscard]] std::span<const instrument* const> dns_instruments() noexcept;

// A name was resolved, or could not be. On a loop.
void measure_lookup(duration took, status_code outcome) noexcept;

}  // namespace coracle::net
