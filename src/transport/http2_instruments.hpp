// http2_instruments: what the connections of a loop measure about errors of HTTP/2 and about decoding.
#pragma once

#include "coracle/base/metrics.hpp"
#include "coracle/coro/executor.hpp"
#include "http2/error_counts.hpp"

#include <cstdint>
#include <span>

namespace coracle::transport {

[[nodiscard]] std::span<const instrument* const> http2_instruments() noexcept;

// One per loop.
class connection_counts final : public coro::executor_local, public metrics_source {
 public:
  // Of the current loop.
  static connection_counts& here();

  http2::error_counts errors;
  std::uint64_t deferrals = 0;  // input waited because its loop had decoded enough in an iteration

  // metrics_source
  void report(metrics_sink& to) const noexcept override;
};

}  // namespace coracle::transport
