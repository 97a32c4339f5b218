// The five workloads of gRPCClient.jl's benchmark, against any server of bench/protos/testsvc.proto.
#pragma once

#include "testsvc.coracle.hpp"

#include <coracle/coro/task.hpp>

#include <span>
#include <string_view>

namespace coracle::workloads {

// One round. Checks every reply; gives the number of messages: those that were sent, or, of `resp`, came.
using round = task<int> (*)(test::rpc::TestService::stub to);

struct workload {
  std::string_view name;
  round run;
  std::string_view what;
};

// smol, big, req, resp, bidi.
[[nodiscard]] std::span<const workload> all() noexcept;
// Null when there is none of that name.
[[nodiscard]] const workload* find(std::string_view name) noexcept;

}  // namespace coracle::workloads
