// server_instruments: what a server measures beside its calls.
#pragma once

#include "coracle/base/metrics.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace coracle::server_internal {

[[nodiscard]] std::span<const instrument* const> server_instruments() noexcept;

// What a shard has at the moment, and the bytes of its connections so far.
struct shard_values {
  std::size_t connections = 0;
  std::size_t connections_under_pressure = 0;
  std::size_t bytes_of_idle = 0;  // held by connections without calls
  std::size_t bytes_of_active = 0;  // by those with calls that are not under pressure
  std::size_t bytes_under_pressure = 0;
  std::size_t calls = 0;
  std::size_t orphaned_calls = 0;
  std::size_t orphaned_bytes = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  bool draining = false;
  // Of the overload protection; the limit is 0 without it.
  std::size_t limited_calls = 0;
  std::size_t waiting_calls = 0;
  std::size_t concurrency_limit = 0;
};

void report(const shard_values& now, metrics_sink& to) noexcept;
// The memory quota, for one shard of those that share it.
void report_quota(std::size_t used_bytes, std::size_t limit_bytes, metrics_sink& to) noexcept;

// The server has rejected a connection or a call because of the limit with this name. On a loop.
void measure_rejection(std::string_view limit) noexcept;

}  // namespace coracle::server_internal
