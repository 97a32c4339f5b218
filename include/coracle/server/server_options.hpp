// server_options: what a server may be told beside its services and addresses.
#pragma once

#include "coracle/base/clock.hpp"

#include <chrono>
#include <cstdint>
#include <type_traits>

namespace coracle {

class server_options {
 public:
  server_options() noexcept {}
  // A larger request message ends its call with RESOURCE_EXHAUSTED. Default 4 MiB, as in other
  // implementations of gRPC.
  server_options& max_receive_bytes(std::uint32_t n) noexcept { return max_receive_bytes_ = n, *this; }
  // How long a drain waits for running calls before it stops them. Default 30 s, what Kubernetes
  // gives a container to end.
  server_options& drain_grace(duration d) noexcept { return drain_grace_ = d, *this; }

  [[nodiscard]] std::uint32_t max_receive_bytes() const noexcept { return max_receive_bytes_; }
  [[nodiscard]] duration drain_grace() const noexcept { return drain_grace_; }

 private:
  duration drain_grace_ = std::chrono::seconds(30);
  std::uint32_t max_receive_bytes_ = 4u << 20;
};
static_assert(!std::is_aggregate_v<server_options>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle
