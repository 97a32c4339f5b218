// bench_observed_greeter PORT plain|metrics|unsampled|sampled: the Greeter of bench_greeter, alone, with
// metrics, or with these and traces, none or 1 % of which are recorded.

#include <coracle/server.hpp>
#include <coracle/telemetry/finished_span.hpp>
#include <coracle/telemetry/sampler.hpp>
#include <coracle/telemetry/telemetry.hpp>
#include <coracle/telemetry/traces.hpp>
#include "e2e/copying_greeter.hpp"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

// Takes the spans in batches, as an exporter does that sends them, and forgets them.
class discarding_sink final : public coracle::span_sink {
 public:
  void take(std::vector<coracle::finished_span>&& batch) noexcept override { batch.clear(); }
  [[nodiscard]] std::uint64_t dropped() const noexcept override { return 0; }
};

void observe(coracle::server& server, std::string_view what) {
  if (what == "plain") return;
  coracle::telemetry all(server.owner());
  all.observe(server);
  if (what == "metrics") return;
  coracle::trace_options traces;
  traces.sample = coracle::sampler::parent_based(coracle::sampler::ratio(what == "sampled" ? 0.01 : 0));
  all.add_span_sink(std::make_shared<discarding_sink>());
  all.trace(traces);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc == 3 ? argv[2] : "";
  if (what != "plain" && what != "metrics" && what != "unsampled" && what != "sampled") {
    std::fputs("usage: bench_observed_greeter PORT plain|metrics|unsampled|sampled\n", stderr);
    return 2;
  }
  bench::copying_greeter greets;
  coracle::runtime runtime(1);
  coracle::server server(runtime);
  server.add(greets);
  observe(server, what);
  // run() logs its errors.
  if (server.listen(std::string("127.0.0.1:") + argv[1], coracle::insecure()).ok()) {
    std::printf("listening on 127.0.0.1:%u\n", unsigned{server.port()});
    std::fflush(stdout);
  }
  return server.run();
}
