#include "telemetry/profiles/cpu_profile.hpp"

#include "coracle/coro/sleep.hpp"
#include "coracle/coro/stop_on.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/runtime/offload.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace coracle::telemetry_internal {

namespace {

using runtime_internal::cpu_sampler;

// How often samples are collected and new threads are found.
constexpr duration collect_interval = std::chrono::milliseconds(500);

task<> wait_until(time_point t) { co_await sleep_until(t); }

std::string finish_profile(cpu_sampler* sampler, const profile_times& times) {
  const runtime_internal::cpu_samples samples = sampler->finish();
  return compressed_profile(content_of(samples, times));
}

}  // namespace

profile_content content_of(const runtime_internal::cpu_samples& samples, const profile_times& times) {
  constexpr auto period = static_cast<std::uint64_t>(cpu_sampler::period.count());
  profile_content made;
  made.types = {{"samples", "count"}, {"cpu", "nanoseconds"}};
  made.default_type = "cpu";
  made.period_type = {"cpu", "nanoseconds"};
  made.period = period;
  made.times = times;
  made.samples.reserve(samples.counts.size());
  for (const auto& [stack, count] : samples.counts)
    made.samples.push_back({stack.addresses, {count, count * period}, stack.thread});
  if (samples.dropped != 0)
    made.comment = std::to_string(samples.dropped) + " samples exceeded the limits and are left out";
  return made;
}

task<result<std::string>> take_cpu_profile(duration wanted, coro::stop_token drains) {
  offload starting(&cpu_sampler::start);
  result<std::unique_ptr<cpu_sampler>> started = co_await starting;
  if (!started.ok()) co_return started.status();
  const std::unique_ptr<cpu_sampler> sampler = std::move(*started);
  const loop& here = *loop::current();
  const wall_time begun = here.wall_now();
  const time_point begin = here.now();
  const time_point end = deadline_after(begin, wanted);
  while (here.now() < end) {
    stop_on waiting(drains, wait_until(std::min(end, deadline_after(here.now(), collect_interval))));
    const status waited = co_await waiting;
    if (!waited.ok()) break;
    offload collecting([](cpu_sampler* from) { from->collect(); }, sampler.get());
    co_await collecting;
  }
  const profile_times times{begun, here.now() - begin};
  offload finishing(&finish_profile, sampler.get(), times);
  std::string profile = co_await finishing;
  co_return profile;
}

}  // namespace coracle::telemetry_internal
