// workloads: the five workloads of gRPCClient.jl's benchmark, for any server of bench/protos/testsvc.proto.
#pragma once

#include "testsvc.coracle.hpp"

#include <coracle/coro/task.hpp>

#include <span>
#include <string_view>

namespace coracle::workloads {

// Runs one round. Checks every reply; returns the number of messages sent or, for `resp`, received.
using round = task<int> (*)(test::rpc::TestService::stub to);

struct workload {
  std::string_view name;
  round run;
  std::string_view text;
};

// The workloads smol, big, req, resp and bidi.
[[nodiscard]] std::span<const workload> all() noexcept;
// Null if there is no workload with that name.
[[nodiscard]] const workload* find(std::string_view name) noexcept;

}  // namespace coracle::workloads
