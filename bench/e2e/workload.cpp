// bench_workload PORT smol|big|req|resp|bidi SECONDS: one of gRPCClient.jl's five workloads against
// test.TestService, on one loop, repeated for the given time. Prints `messages seconds cpu_seconds`, where
// the CPU time is the client's.
#include "e2e/clocks.hpp"
#include "tools/workloads/workloads.hpp"

#include <coracle/client.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

namespace {

using stub = test::rpc::TestService::stub;

// The first round connects and warms up, and does not count.
coracle::task<> drive(stub to, coracle::workloads::round one, double for_seconds) {
  co_await one(to);
  const double began = now_seconds();
  const double cpu_before = cpu_seconds();
  long messages = 0;
  while (now_seconds() - began < for_seconds) messages += co_await one(to);
  std::printf("%ld %.6f %.6f\n", messages, now_seconds() - began, cpu_seconds() - cpu_before);
}

}  // namespace

int main(int argc, char** argv) {
  const auto* const found = argc == 4 ? coracle::workloads::find(argv[2]) : nullptr;
  if (!found) {
    std::fputs("usage: bench_workload PORT smol|big|req|resp|bidi SECONDS\n", stderr);
    return 2;
  }
  try {
    coracle::runtime runtime(1);
    coracle::channel channel(runtime, std::string("127.0.0.1:") + argv[1], coracle::insecure());
    coracle::sync_wait(runtime, drive(stub(channel), found->run, std::atof(argv[3])));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_workload: %s\n", e.what());
    return 1;
  }
}
