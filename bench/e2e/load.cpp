// bench_load ADDRESS CxM SECONDS FILE [path=/package.Service/Method] [window=N] [ca=FILE]: a closed loop of
// unary calls through the library's own client: C connections with M concurrent calls on each, all on one
// loop. FILE is the request, as it is on the wire without its envelope; the method must reply with the same
// bytes, which are compared. window: the method is a bidirectional stream that replies to each message; C
// times M streams stay open, with N messages in flight on each.
//
// Prints a line of JSON once all calls that began within SECONDS have replies; cpu_seconds is its own CPU
// time meanwhile, without connecting and the first call of each connection. A failed call ends it.
#include "e2e/clocks.hpp"
#include "e2e/latency_histogram.hpp"

#include <coracle/client.hpp>
#include <coracle/client/generic_stub.hpp>
#include <coracle/tls/client_options.hpp>

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
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

coracle::tls::client_options trusting(std::string ca_path) {
  coracle::tls::client_options options;
  options.cas = {coracle::tls::pem_source::file(std::move(ca_path))};
  return options;
}

struct plan {
  std::string address;
  unsigned connections = 0;
  unsigned streams = 0;
  unsigned window = 0;  // messages on their way on each stream; 0: unary calls
  double seconds = 0;
  coracle::bytes_message request;
  std::string path = "/helloworld.Greeter/SayHello";
  coracle::channel_credentials credentials = coracle::insecure();
};

struct outcome {
  void add(clock_type::duration d) {
    latencies.add(d);
    sum_us += std::chrono::duration<double, std::micro>(d).count();
    ++requests;
  }
  clock_type::time_point end;
  unsigned long requests = 0;
  double sum_us = 0;
  latency_histogram latencies;
};

void expect_same(const plan& p, const coracle::bytes_message& reply) {
  if (reply != p.request) throw std::runtime_error("a reply has other bytes than its request");
}

coracle::task<> call_on(const coracle::generic_stub to, const plan& p, outcome& out) {
  auto began = clock_type::now();
  while (began < out.end) {
    const auto reply = co_await to.unary(p.path.c_str(), p.request);
    const auto now = clock_type::now();
    expect_same(p, reply.value());
    out.add(now - began);
    began = now;
  }
}

coracle::task<> stream_on(const coracle::generic_stub to, const plan& p, outcome& out) {
  auto call = to.bidi(p.path.c_str());
  std::vector<clock_type::time_point> began(p.window);
  for (auto& each : began) {
    each = clock_type::now();
    (co_await call.write(p.request)).throw_if_error();
  }
  unsigned under_way = p.window;
  coracle::bytes_message reply;
  for (unsigned next = 0; under_way > 0; next = (next + 1) % p.window) {
    if (!(co_await call.read(reply)).value()) throw std::runtime_error("a stream has ended early");
    const auto now = clock_type::now();
    expect_same(p, reply);
    out.add(now - began[next]);
    --under_way;
    if (now >= out.end) continue;
    began[next] = now;
    ++under_way;
    (co_await call.write(p.request)).throw_if_error();
  }
  const coracle::status outcome = co_await call.finish();
  if (!outcome.ok()) throw coracle::status_error(outcome);
}

coracle::task<> first_call(const coracle::generic_stub to, const plan& p) {
  if (p.window > 0) {
    outcome nothing;  // whose end is past: one message on its way at each place of the window, and back
    co_await stream_on(to, p, nothing);
  } else {
    const auto reply = co_await to.unary(p.path.c_str(), p.request);
    expect_same(p, reply.value());
  }
}

void print(const outcome& out, double seconds, double cpu) {
  const auto requests = static_cast<double>(out.requests);
  std::printf("{\"requests\": %lu, \"requests_per_second\": %.1f, \"seconds\": %.4f, \"cpu_seconds\": %.4f, ",
              out.requests, requests / seconds, seconds, cpu);
  const auto at = [&](double q) { return out.latencies.quantile_us(q); };
  std::printf(
      "\"min_us\": %.2f, \"mean_us\": %.2f, \"p50_us\": %.2f, \"p90_us\": %.2f, \"p95_us\": %.2f, "
      "\"p99_us\": %.2f, ",
      at(0), out.sum_us / requests, at(0.5), at(0.9), at(0.95), at(0.99));
  std::printf("\"max_us\": %.2f}\n", at(1));
}

coracle::task<> drive(coracle::runtime& runtime, const plan& p) {
  std::deque<coracle::channel> channels;
  for (unsigned i = 0; i < p.connections; ++i) {
    const coracle::generic_stub to(channels.emplace_back(runtime, p.address, p.credentials));
    co_await first_call(to, p);
  }
  outcome out;
  const double cpu_before = cpu_seconds();
  const auto began = clock_type::now();
  out.end =
      began + std::chrono::duration_cast<clock_type::duration>(std::chrono::duration<double>(p.seconds));
  coracle::scope calls{co_await coracle::coro::this_environment()};
  const auto work = p.window > 0 ? stream_on : call_on;
  for (coracle::channel& one : channels)
    for (unsigned i = 0; i < p.streams; ++i) calls.spawn(work(coracle::generic_stub(one), p, out));
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
    else if (word.starts_with("window=")) p.window = static_cast<unsigned>(std::atoi(word.data() + 7));
    else if (word.starts_with("ca=")) p.credentials = trusting(std::string(word.substr(3)));
    else return false;
  }
  return p.connections > 0 && p.streams > 0;
}

}  // namespace

int main(int argc, char** argv) {
  plan p;
  if (!read_plan(argc, argv, p)) {
    std::fputs(
        "usage: bench_load ADDRESS CxM SECONDS FILE [path=/package.Service/Method] [window=N] [ca=FILE]\n",
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
