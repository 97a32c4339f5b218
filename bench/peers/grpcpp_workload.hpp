// grpcpp_workload: gRPCClient.jl's five workloads on the APIs of grpc++.
#pragma once

#include "testsvc.grpc.pb.h"

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

namespace bench {

using stub = test::TestService::Stub;
// By name; each plays a round, and returns the number of its messages.
using workloads = std::map<std::string, int (*)(stub&)>;

// Unary calls through a queue, since a blocking call has none beside it; streams by the blocking API.
extern const workloads blocking_workloads;
extern const workloads queue_workloads;
extern const workloads callback_workloads;
extern const workloads agrpc_workloads;

constexpr int small_messages = 1000;  // a round of all workloads but `big`
constexpr int big_messages = 100;
constexpr int big_numbers = 32 * 224 * 224 / 8;

[[noreturn]] inline void fail(const std::string& reason) {
  std::fprintf(stderr, "bench_grpcpp_workload: %s\n", reason.c_str());
  std::exit(1);
}

inline void expect_numbers(const test::TestResponse& reply, int count) {
  if (reply.data_size() != count || (count > 0 && reply.data(count - 1) != static_cast<std::uint64_t>(count)))
    fail("a reply has other numbers than are due");
}

inline void expect_ok(const grpc::Status& outcome) {
  if (!outcome.ok()) fail(outcome.error_message());
}

inline test::TestRequest small_request(int wanted = 1) {
  test::TestRequest request;
  request.set_test_response_sz(static_cast<std::uint64_t>(wanted));
  request.add_data(0);
  return request;
}

inline test::TestRequest big_request() {
  test::TestRequest request = small_request();
  request.mutable_data()->Resize(big_numbers, 0);
  return request;
}

}  // namespace bench
