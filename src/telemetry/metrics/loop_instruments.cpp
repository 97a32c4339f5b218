#include "telemetry/metrics/loop_instruments.hpp"

#include "coracle/runtime/loop.hpp"
#include "runtime/driven_loop.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::telemetry_internal {

namespace {

using runtime_internal::iteration_times;

constexpr instrument loop_counter(std::string_view name, std::string_view unit,
                                  std::string_view description) {
  return {.name = name,
          .description = description,
          .unit = unit,
          .kind = instrument_kind::counter,
          .labels = {},
          .optional_labels = {"coracle.loop"},
          .bounds = {}};
}

struct of_counter {
  instrument by;
  std::uint64_t loop_counters::* value;
};

constexpr std::array counters{
    of_counter{loop_counter("coracle.loop.iterations", "{iteration}", "Iterations of the loops."),
               &loop_counters::turns},
    of_counter{loop_counter("coracle.loop.runnables", "{runnable}",
                            "Runnables that the loops ran: resumed coroutines, posted functions, hooks."),
               &loop_counters::resumes},
    of_counter{loop_counter("coracle.loop.remote_posts", "{runnable}",
                            "Runnables that other threads or loops posted to the loops."),
               &loop_counters::remote_posts},
    of_counter{loop_counter("coracle.loop.timers", "{timer}", "Timers of the loops that fired."),
               &loop_counters::timers},
    of_counter{loop_counter("coracle.loop.submissions", "{operation}",
                            "Operations that the loops handed to the kernel."),
               &loop_counters::submissions},
    of_counter{loop_counter("coracle.loop.completions", "{result}",
                            "Results of operations that came back from the kernel."),
               &loop_counters::completions},
    of_counter{
        loop_counter("coracle.loop.system_calls", "{call}", "System calls of the loops for waiting and I/O."),
        &loop_counters::system_calls},
    of_counter{loop_counter("coracle.loop.frames", "{frame}", "Coroutine frames that were made."),
               &loop_counters::frames},
    of_counter{loop_counter("coracle.loop.heap_blocks", "{block}",
                            "Frames, calls and operations that found no recycled block of memory."),
               &loop_counters::heap_blocks},
};

constexpr instrument stalls =
    loop_counter("coracle.loop.stalls", "{iteration}",
                 "Iterations of the loops that took 10 ms or more, without their waits.");

constexpr instrument pool_memory{
    .name = "coracle.loop.pool.memory",
    .description = "Memory that the loops keep to reuse it for coroutine frames, calls and operations.",
    .unit = "By",
    .kind = instrument_kind::up_down_counter,
    .labels = {},
    .optional_labels = {"coracle.loop"},
    .bounds = {}};

constexpr auto iteration_bounds_s = [] {
  std::array<double, iteration_times::bounds> all{};
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = std::chrono::duration<double>(iteration_times::bound(i)).count();
  return all;
}();
constexpr instrument iteration_duration{
    .name = "coracle.loop.iteration.duration",
    .description = "How long the iterations of the loops took, without their waits.",
    .unit = "s",
    .kind = instrument_kind::histogram,
    .labels = {},
    .optional_labels = {"coracle.loop"},
    .bounds = iteration_bounds_s};

// Their addresses.
constexpr auto all_of_loops = []<std::size_t... I>(std::index_sequence<I...>) {
  return std::array<const instrument*, sizeof...(I) + 3>{&counters[I].by..., &stalls, &pool_memory,
                                                         &iteration_duration};
}(std::make_index_sequence<counters.size()>());

const runtime_internal::driven_loop& implementation_of(const loop& l) noexcept {
  return static_cast<const runtime_internal::driven_loop&>(l);
}

}  // namespace

std::span<const instrument* const> loop_instruments() noexcept { return all_of_loops; }

void report_loop(const loop& l, metrics_sink& to) noexcept {
  const loop_counters now = l.stats();
  std::array<char, 20> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), l.index()).ptr;
  const std::array<std::string_view, 1> values{std::string_view(text.data(), end)};
  for (const of_counter& c : counters) to.measure(c.by, static_cast<double>(now.*c.value), values);
  to.measure(pool_memory, static_cast<double>(implementation_of(l).pool_bytes()), values);
  to.measure(stalls, static_cast<double>(implementation_of(l).iterations().stalls()), values);
}

series_table::copy iterations_of(const loop& l, const selection& what,
                                 std::chrono::system_clock::time_point start) {
  series_table::copy made{&iteration_duration, {}};
  if (!what.reports(iteration_duration)) return made;
  series& s = made.all.emplace_back();
  if (what.reports_label(iteration_duration.optional_labels[0]))
    s.labels.emplace_back(iteration_duration.optional_labels[0], std::to_string(l.index()));
  s.start = start;
  const iteration_times& times = implementation_of(l).iterations();
  s.buckets.assign(times.counts().begin(), times.counts().end());
  s.value = static_cast<double>(times.sum_ns()) * 1e-9;
  return made;
}

}  // namespace coracle::telemetry_internal
