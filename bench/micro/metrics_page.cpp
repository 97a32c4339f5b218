// bench_metrics_page: what a scrape of a server with 100 methods and 10 channels costs: copying the
// measurements on the loops, summing them up, writing the text, compressing it; and for how long a loop does
// nothing else meanwhile.
#include "base/output_buffer.hpp"
#include "compress/coder.hpp"
#include "telemetry/prometheus/exposition.hpp"

#include "coracle/client.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/rpc/bytes_message.hpp"
#include "coracle/server.hpp"
#include "coracle/telemetry/telemetry.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace coracle;
namespace prometheus = telemetry_internal::prometheus;

constexpr int methods = 100;
constexpr int channels = 10;

class any_method final : public generic_service {
  replies<bytes_message> call(server_context&, reader<bytes_message> requests) override {
    while (const auto request = co_await requests.next()) co_yield *request;
    co_return ok;
  }
};

telemetry_options all_methods() {
  telemetry_options o;
  o.admits_method = [](std::string_view) { return true; };
  return o;
}

// A server of which each channel has called a tenth of the methods.
struct scene {
  scene() : measured(rt, all_methods()), served(rt) {
    served.set_fallback(service);
    measured.observe(served);
    served.listen("0.0.0.0:0", insecure()).throw_if_error();
    rt.start();
    for (int i = 0; i < methods; ++i) {
      // Each has a target of its own: the addresses 127.0.0.1 to 127.0.0.10.
      if (i < channels)
        opened.emplace_back(rt, "127.0.0." + std::to_string(i + 1) + ":" + std::to_string(served.port()),
                            insecure());
      const bytes_message request(std::string("hello"));
      const std::string path =
          "/some.package.Service" + std::to_string(i / 10) + "/Method" + std::to_string(i);
      const generic_stub stub(opened[static_cast<std::size_t>(i % channels)]);
      (void)sync_wait(stub.unary<bytes_message>(path.c_str(), request)).value();
    }
  }
  runtime rt{1};
  any_method service;
  telemetry measured;
  server served;
  std::vector<channel> opened;
};
scene& everything() {
  static scene one;
  return one;
}

metrics_snapshot snapshot() {
  scene& s = everything();
  return sync_wait(s.rt, s.rt.at(0), s.measured.metrics());
}

void snapshots(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(snapshot());
}
BENCHMARK(snapshots)->Unit(benchmark::kMillisecond)->UseRealTime();

prometheus::exposition_options options_for(bool openmetrics) {
  prometheus::exposition_options o;
  o.series_max = 1'000'000;
  if (openmetrics) o.format = prometheus::format_for("application/openmetrics-text");
  return o;
}

void expositions(benchmark::State& state) {
  const metrics_snapshot all = snapshot();
  const auto options = options_for(state.range(0) != 0);
  std::size_t series = 0;
  std::size_t bytes = 0;
  for (auto _ : state) {
    const prometheus::exposition made = prometheus::expose(all, options);
    series = made.series;
    bytes = made.text.size();
  }
  state.counters["series"] = static_cast<double>(series);
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(expositions)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

void compressions(benchmark::State& state) {
  const std::string text = prometheus::expose(snapshot(), options_for(true)).text;
  const auto coder = compress::make_coder(static_cast<encoding>(state.range(0)));
  base::output_buffer out;
  for (auto _ : state) {
    out.clear();
    coder->compress(as_bytes(text), 1, out);
  }
  state.counters["bytes"] = static_cast<double>(out.size());
}
BENCHMARK(compressions)
    ->Arg(static_cast<int>(encoding::gzip))
    ->Arg(static_cast<int>(encoding::zstd))
    ->Unit(benchmark::kMillisecond);

// Passes through the loop's queue as often as it can, and returns the longest time between two passes.
task<duration> longest_gap(bool& ended) {
  duration longest{};
  auto last = std::chrono::steady_clock::now();
  while (!ended) {
    co_await sleep_for(duration{});
    const auto now = std::chrono::steady_clock::now();
    longest = std::max<duration>(longest, now - last);
    last = now;
  }
  co_return longest;
}

task<> snapshot_then_end(const telemetry of, bool& ended) {
  (void)co_await of.metrics();
  ended = true;
}

// The longest gap on the loop while a snapshot is taken. Of several runs the shortest: other programs make
// gaps, too.
void gaps_of_a_loop(benchmark::State& state) {
  scene& s = everything();
  duration shortest = duration::max();
  for (auto _ : state) {
    bool ended = false;
    s.rt.spawn_on(s.rt.at(0), snapshot_then_end(s.measured, ended));
    shortest = std::min(shortest, sync_wait(s.rt, s.rt.at(0), longest_gap(ended)));
  }
  state.counters["gap_us"] = std::chrono::duration<double, std::micro>(shortest).count();
}
BENCHMARK(gaps_of_a_loop)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
