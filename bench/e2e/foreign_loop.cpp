// Unary calls, one after another, on a loop that drives itself and on one that another event loop drives.
//
//   bench_foreign_loop LOOP SERVER CALLS
//
// LOOP: own, or poll, uv or glib, as examples/08_foreign_loop drives them. SERVER: same (on the loop of the
// client) or apart (on a loop of its own thread). Prints the median and the mean latency, and the CPU time of
// the thread of the client, in microseconds per call.
#include "e2e/latency_histogram.hpp"
#include "helloworld.coracle.hpp"
#include "support/foreign_loops.hpp"

#include "coracle/client.hpp"
#include "coracle/server.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace {

using helloworld::HelloReply;
using helloworld::HelloRequest;
using clock = std::chrono::steady_clock;

constexpr int warm_up_calls = 500;

double thread_cpu_us() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
}

class greeter final : public helloworld::rpc::Greeter::service {
  coracle::reply<HelloReply> SayHello(coracle::server_context&, const HelloRequest& request) override {
    HelloReply reply;
    reply.set_message(request.name());
    return reply;
  }
};

coracle::task<> call(helloworld::rpc::Greeter::stub stub, int calls, std::function<void()> ended) {
  latency_histogram latencies;
  HelloRequest request;
  request.set_name(std::string(100, 'x'));
  double cpu_before = 0;
  clock::time_point begin{};
  for (int i = -warm_up_calls; i < calls; ++i) {
    if (i == 0) {
      begin = clock::now();
      cpu_before = thread_cpu_us();
    }
    const clock::time_point sent = clock::now();
    const auto reply = co_await stub.SayHello(request);
    if (!reply) std::abort();
    if (i >= 0) latencies.add(clock::now() - sent);
  }
  const double cpu_us = (thread_cpu_us() - cpu_before) / calls;
  const std::chrono::duration<double, std::micro> all = clock::now() - begin;
  std::printf("p50 %.2f mean %.2f cpu %.2f\n", latencies.quantile_us(0.5), all.count() / calls, cpu_us);
  ended();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: bench_foreign_loop LOOP SERVER CALLS\n");
    return 1;
  }
  const std::string_view name = argv[1];
  std::unique_ptr<foreign_loop> host;
  for (const auto& one : coracle::testing_support::foreign_loops())
    if (one.name == name) host = one.make();
  if (!host && name != "own") {
    std::fprintf(stderr, "bench_foreign_loop: there is no loop %s here\n", argv[1]);
    return 1;
  }
  greeter service;
  std::optional<coracle::runtime> apart;
  if (std::string_view(argv[2]) == "apart") apart.emplace();
  coracle::runtime guest;
  coracle::server server(apart ? *apart : guest);
  server.add(service);
  server.listen("127.0.0.1:0", coracle::insecure()).throw_if_error();
  if (apart) apart->start();
  const coracle::channel channel(guest, "127.0.0.1:" + std::to_string(server.port()), coracle::insecure());
  guest.spawn(call(helloworld::rpc::Greeter::stub(channel), std::atoi(argv[3]), [&] {
    if (host) host->stop();
  }));
  if (host) {
    host->drive(guest);
    host->run();
    host->release();
  } else {
    guest.run();
  }
  return 0;
}
