// bench_load ADDRESS CxM SECONDS FILE [path=/package.Service/Method] [ca=FILE]: a closed loop of unary calls through the
// library's own client: C connections with M calls on their way on each, all on one loop. FILE is the request, as it is on
// the wire without its envelope; the method is one that answers with the same bytes, which are compared.
//
// Prints a line of JSON once all calls that were begun in SECONDS have ended; cpu_seconds is its own CPU time meanwhile,
// connecting and the first call of each connection left out. A call that fails ends it.
#include "e2e/latency_histogram.hpp"

#include <coracle/client.hpp>
#include <coracle/rpc/generic_stub.hpp>
#include <coracle/tls/client_options.hpp>

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

using clock_type = std::chrono::steady_clock;

struct plan {
  std::string address;
  unsigned connections = 0;
  unsigned streams = 0;
  double seconds = 0;
  coracle::bytes_message request;
  std::string path = "/helloworld.Greeter/SayHello";
  coracle::transport::channel_credentials credentials = coracle::insecure();
};

struct outcome {
  clock_type::time_point end;
  unsigned long requests = 0;
  double sum_us = 0;
  latency_histogram latencies;
};

void expect_same(const plan& p, const coracle::result<coracle::bytes_message>& reply) {
  if (reply.value() != p.request) throw std::runtime_error("a reply has other bytes than its request");
}

coracle::task<> call_on(const coracle::generic_stub to, const plan& p, outcome& out) {
  auto began = clock_type::now();
  while (began < out.end) {
    const auto reply = co_await to.unary(p.path.c_str(), p.request);
    const auto now = clock_type::now();
    expect_same(p, reply);
    out.latencies.add(now - began);
    out.sum_us += std::chrono::duration<double, std::micro>(now - began).count();
    ++out.requests;
    began = now;
  }
}

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

void print(const outcome& out, double seconds, double cpu) {
  const auto requests = static_cast<double>(out.requests);
  std::printf("{\"requests\": %lu, \"requests_per_second\": %.1f, \"seconds\": %.4f, \"cpu_seconds\": %.4f, ",
              out.requests, requests / seconds, seconds, cpu);
  const auto at = [&](double q) { return out.latencies.quantile_us(q); };
  std::printf("\"mean_us\": %.2f, \"p50_us\": %.2f, \"p90_us\": %.2f, \"p95_us\": %.2f, \"p99_us\": %.2f, ",
              out.sum_us / requests, at(0.5), at(0.9), at(0.95), at(0.99));
  std::printf("\"max_us\": %.2f}\n", at(1));
}

coracle::task<> drive(coracle::runtime& runtime, const plan& p) {
  std::deque<coracle::channel> channels;
  for (unsigned i = 0; i < p.connections; ++i) {
    const coracle::generic_stub to(channels.emplace_back(runtime, p.address, p.credentials));
    const auto reply = co_await to.unary(p.path.c_str(), p.request);
    expect_same(p, reply);
  }
  outcome out;
  const double cpu_before = cpu_seconds();
  const auto began = clock_type::now();
  out.end =
      began + std::chrono::duration_cast<clock_type::duration>(std::chrono::duration<double>(p.seconds));
  coracle::scope calls{co_await coracle::coro::this_environment()};
  for (coracle::channel& one : channels)
    for (unsigned i = 0; i < p.streams; ++i) calls.spawn(call_on(coracle::generic_stub(one), p, out));
  co_await calls.join();
  const std::chrono::duration<double> took = clock_type::now() - began;
  print(out, took.count(), cpu_seconds() - cpu_before);
}

bool read_plan(int argc, char** argv, plan& p) {
  if (argc < 5 || std::sscanf(argv[2], "%ux%u", &p.connections, &p.streams) != 2) return false;
  p.address = argv[1];
  p.seconds = std::atof(argv[3]);
  std::ifstream file(argv[4], std::ios::binary);
  if (!file) return false;
  p.request = coracle::bytes_message(std::string(std::istreambuf_iterator<char>(file), {}));
  for (const std::string_view word : std::span(argv + 5, argv + argc)) {
    if (word.starts_with("path=")) p.path = word.substr(5);
    else if (word.starts_with("ca="))
      p.credentials = coracle::tls::client_options().ca_file(std::string(word.substr(3)));
    else return false;
  }
  return p.connections > 0 && p.streams > 0;
}

}  // namespace

int main(int argc, char** argv) {
  plan p;
  if (!read_plan(argc, argv, p)) {
    std::fputs("usage: bench_load ADDRESS CxM SECONDS FILE [path=/package.Service/Method] [ca=FILE]\n",
               stderr);
    return 2;
  }
  try {
    coracle::runtime runtime(1);
    coracle::sync_wait(runtime, drive(runtime, p));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_load: %s: %s\n", argv[1], e.what());
    return 1;
  }
}
