#include "telemetry/pages/call_timelines.hpp"

#include "coracle/rpc/recorder.hpp"
#include "coracle/runtime/offload.hpp"
#include "coracle/runtime/runtime.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

namespace coracle::telemetry_internal {

namespace {

using services::ordered_json;

double ms_between(wall_time from, wall_time to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}
double ms_of_time(duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

// Only these have the flag: of a SETTINGS or PING frame, the same bit is an acknowledgement.
bool ends_stream(const recorded_event& e) {
  constexpr std::uint8_t data = 0, headers = 1, end_stream = 1;
  return (e.frame_type == data || e.frame_type == headers) && (e.frame_flags & end_stream) != 0;
}

std::string_view kind_name(recorded_kind of) {
  switch (of) {
    case recorded_kind::frame: return "frame";
    case recorded_kind::connection_opened: return "opened";
    case recorded_kind::connection_closed: return "closed";
    case recorded_kind::call_began: return "began";
    case recorded_kind::call_queued: return "queued";
    case recorded_kind::message: return "message";
    case recorded_kind::call_ended: return "ended";
    case recorded_kind::long_iteration: return "long_iteration";
    case recorded_kind::loop_stalled: return "stalled";
  }
  return "";
}

bool is_stall(const recorded_event& e) {
  return e.kind == recorded_kind::long_iteration || e.kind == recorded_kind::loop_stalled;
}

bool begins(const recorded_event& e) {
  return e.kind == recorded_kind::call_began || e.kind == recorded_kind::call_queued;
}

ordered_json event_json(const recorded_event& e, wall_time began) {
  ordered_json to{{"at_ms", ms_between(began, e.when)}, {"event", kind_name(e.kind)}};
  if (e.kind == recorded_kind::frame) {
    to["frame"] = name_of_frame(e.frame_type);
    to["end_stream"] = ends_stream(e);
    if (e.value) to["value"] = *e.value;
  }
  if (e.kind == recorded_kind::message) to["compressed"] = e.compressed;
  if (e.kind == recorded_kind::frame || e.kind == recorded_kind::message) {
    to["sent"] = e.sent;
    to["bytes"] = e.length;
  }
  if (e.kind == recorded_kind::call_began) {
    if (e.time > duration::zero()) to["deadline_ms"] = ms_of_time(e.time);
    if (e.attempts != 0) to["attempts"] = e.attempts;
  }
  if (e.kind == recorded_kind::call_ended) to["status"] = name_of(e.status);
  if (is_stall(e)) to["took_ms"] = ms_of_time(e.time);
  return to;
}

// A method, and the calls of one side of it.
struct calls_of_method {
  std::vector<const recorded_call*> all;  // in the order of their beginnings
  std::size_t ended = 0;
  std::size_t failed = 0;
};

// Makes the JSON of one recording.
class chosen_calls {
 public:
  explicit chosen_calls(const recording& from) : from_(from), calls_(from.calls()) {
    for (std::size_t i = 0; i < from_.events().size(); ++i)
      if (is_stall(from_.events()[i])) stalls_.push_back(i);
    for (const recorded_call& c : calls_) add(c);
  }

  [[nodiscard]] ordered_json page(std::string_view only) const {
    ordered_json rows = ordered_json::array();
    std::size_t count = 0;
    for (const auto& [key, calls] : methods_) {
      if (!only.empty() && key.first != only) continue;
      if (++count <= call_timelines::methods_max) rows.push_back(method_json(key.first, key.second, calls));
    }
    const auto& events = from_.events();
    const double written_s = std::chrono::duration<double>(from_.written().time_since_epoch()).count();
    const double covered_s = events.empty() ? 0 : ms_between(events.front().when, from_.written()) / 1000;
    return {{"time", written_s},
            {"covered_s", covered_s},
            {"event_count", events.size()},
            {"method_count", count},
            {"methods", std::move(rows)}};
  }

 private:
  // Calls whose beginnings have been overwritten are left out: their durations are not known.
  void add(const recorded_call& c) {
    bool has_began = false;
    bool is_registered = c.client;
    for (const std::size_t i : c.events) {
      const recorded_event& e = from_.events()[i];
      has_began = has_began || begins(e);
      is_registered = is_registered || (e.kind == recorded_kind::call_began && !e.method.empty());
    }
    if (!has_began) return;
    std::string_view name = is_registered ? c.method : "other";
    if (name.starts_with('/')) name.remove_prefix(1);
    calls_of_method& to = methods_[{std::string(name), c.client}];
    to.all.push_back(&c);
    to.ended += c.ended ? 1 : 0;
    to.failed += c.ended && c.status != status_code::ok ? 1 : 0;
  }

  [[nodiscard]] ordered_json method_json(const std::string& name, bool client,
                                         const calls_of_method& of) const {
    std::map<const recorded_call*, std::vector<std::string_view>> lists;
    const auto list = [&](std::string_view name_of_list, auto&& belongs, auto&& before) {
      std::vector<const recorded_call*> some;
      std::ranges::copy_if(of.all, std::back_inserter(some), belongs);
      // Equal ones keep their order; clang warns of what std::ranges::stable_sort() uses.
      std::ranges::sort(some, [&](const recorded_call* a, const recorded_call* b) {
        return before(a, b) || (!before(b, a) && a < b);
      });
      some.resize(std::min(some.size(), call_timelines::calls_max));
      for (const recorded_call* const c : some) lists[c].push_back(name_of_list);
    };
    const auto slower = [](const recorded_call* a, const recorded_call* b) { return a->took > b->took; };
    const auto later = [](const recorded_call* a, const recorded_call* b) { return a->began > b->began; };
    list("slowest", [](const recorded_call* c) { return c->ended; }, slower);
    list("failed", [](const recorded_call* c) { return c->ended && c->status != status_code::ok; }, later);
    list("latest", [](const recorded_call*) { return true; }, later);
    std::vector<const recorded_call*> chosen;
    for (const auto& [c, names] : lists) chosen.push_back(c);
    std::ranges::sort(chosen, [](const recorded_call* a, const recorded_call* b) {
      return a->began != b->began ? a->began > b->began : a < b;
    });
    ordered_json calls = ordered_json::array();
    for (const recorded_call* const c : chosen) calls.push_back(call_json(*c, lists.at(c)));
    return {{"method", name},
            {"side", client ? "client" : "server"},
            {"call_count", of.all.size()},
            {"ended", of.ended},
            {"failed", of.failed},
            {"calls", std::move(calls)}};
  }

  [[nodiscard]] ordered_json call_json(const recorded_call& c,
                                       const std::vector<std::string_view>& lists) const {
    const std::vector<std::size_t> shown = timeline_of(c);
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::optional<duration> deadline;
    for (const std::size_t i : c.events) {
      const recorded_event& e = from_.events()[i];
      if (e.kind == recorded_kind::frame) (e.sent ? sent : received) += e.length;
      if (e.kind == recorded_kind::call_began && e.time > duration::zero()) deadline = e.time;
    }
    ordered_json events = ordered_json::array();
    constexpr std::size_t half = call_timelines::events_max / 2;
    for (std::size_t i = 0; i < shown.size(); ++i)
      if (shown.size() <= call_timelines::events_max || i < half || i + half >= shown.size())
        events.push_back(event_json(from_.events()[shown[i]], c.began));
    return {{"path", c.method},
            {"lists", lists},
            {"began", std::chrono::duration<double>(c.began.time_since_epoch()).count()},
            {"took_ms", c.ended ? ordered_json(ms_of_time(c.took)) : ordered_json()},
            {"status", c.ended ? ordered_json(name_of(c.status)) : ordered_json()},
            {"deadline_ms", deadline ? ordered_json(ms_of_time(*deadline)) : ordered_json()},
            {"loop", c.loop},
            {"connection", c.connection},
            {"stream", c.stream},
            {"sent_bytes", sent},
            {"received_bytes", received},
            {"event_count", shown.size()},
            {"events", std::move(events)}};
  }

  // The events of the call, and the stalls of its loop while it lasted. A long iteration is recorded at its
  // end, a stall with the time at which the loop had last read its clock, before it.
  [[nodiscard]] std::vector<std::size_t> timeline_of(const recorded_call& c) const {
    std::vector<std::size_t> all = c.events;
    const wall_time ended =
        c.ended ? c.began + std::chrono::duration_cast<wall_time::duration>(c.took) : from_.written();
    for (const std::size_t i : stalls_) {
      const recorded_event& e = from_.events()[i];
      if (e.loop != c.loop || e.runtime != c.runtime) continue;
      const auto took = std::chrono::duration_cast<wall_time::duration>(e.time);
      const bool is_at_end = e.kind == recorded_kind::long_iteration;
      const wall_time from = is_at_end ? e.when - took : e.when;
      const wall_time to = is_at_end ? e.when : e.when + took;
      if (from <= ended && to >= c.began) all.push_back(i);
    }
    std::ranges::sort(all);  // the order of indexes is that of the times
    return all;
  }

  const recording& from_;
  const std::vector<recorded_call> calls_;
  std::vector<std::size_t> stalls_;
  std::map<std::pair<std::string, bool>, calls_of_method> methods_;  // by name, and whether a client's
};

}  // namespace

services::ordered_json timelines_of_calls(const recording& from, std::string_view only) {
  return chosen_calls(from).page(only);
}

task<std::optional<std::string>> call_timelines::take(runtime& of, std::string only) {
  {
    const std::lock_guard lock(mutex_);
    if (readings_ == readings_max) co_return std::nullopt;
    ++readings_;
  }
  struct reading_place {
    call_timelines& of;
    ~reading_place() {
      const std::lock_guard lock(of.mutex_);
      --of.readings_;
    }
  } const place{*this};
  const recording taken = co_await take_recording(of);
  offload choosing(
      [](const recording* from, std::string_view method) {
        return services::text_of(timelines_of_calls(*from, method));
      },
      &taken, std::string_view(only));
  std::optional<std::string> made = co_await choosing;
  co_return made;
}

}  // namespace coracle::telemetry_internal
