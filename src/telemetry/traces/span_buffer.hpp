// span_buffer: the finished spans of a loop, until the sinks get them.
#pragma once

#include "coracle/coro/executor.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/telemetry/finished_span.hpp"
#include "telemetry/traces/span_sinks.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace coracle::telemetry_internal {

// Belongs to one loop. Spans are handed over in batches, never within a call: in the next iteration of the
// loop when there are enough for a batch, else after a pause.
class span_buffer final : public std::enable_shared_from_this<span_buffer>, private coro::timer {
 public:
  // As many as one take() gets; OTEL_BSP_MAX_EXPORT_BATCH_SIZE has the same default.
  static constexpr std::size_t batch_max = 512;
  // What may wait for the next iteration; more are dropped. OTEL_BSP_MAX_QUEUE_SIZE has the same default.
  static constexpr std::size_t waiting_max = 2048;
  static constexpr duration pause = std::chrono::seconds(1);

  span_buffer(std::shared_ptr<span_sinks> to, loop& owner_loop) noexcept;
  span_buffer(const span_buffer&) = delete;
  span_buffer& operator=(const span_buffer&) = delete;
  ~span_buffer();

  void add(finished_span&& s) noexcept;
  // Hands over what is there. Not within a call.
  void flush() noexcept;
  // Spans that the sinks did not get.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }
  [[nodiscard]] std::uint64_t finished() const noexcept { return finished_; }

 private:
  std::shared_ptr<span_sinks> to_;
  loop& loop_;
  std::vector<finished_span> waiting_;
  std::uint64_t dropped_ = 0;
  std::uint64_t finished_ = 0;
  bool posted_ = false;
};

}  // namespace coracle::telemetry_internal
