#include "sim/day/verdict.hpp"

#include <algorithm>

namespace coracle::day {

namespace {

// Of the window that begins with this second; 1 if nothing is possible.
double share_of_window(const figures& f, std::size_t first) {
  double good = 0;
  double allowed = 0;
  for (std::size_t s = first; s < std::min(first + window_seconds, f.seconds()); ++s) {
    good += f.at(0, s).good;
    allowed += f.allowed(s);
  }
  return allowed > 0 ? good / allowed : 1;
}

// The event whose cause is new in a window, or events_all.
std::size_t new_cause_in(std::size_t first) {
  for (std::size_t e = 0; e < events_all; ++e)
    if (first + window_seconds > events[e].begin && first < events[e].begin + reaction_seconds) return e;
  return events_all;
}

std::size_t recovery_of(const figures& f, std::size_t e) {
  const std::size_t next = e + 1 < events_all ? events[e + 1].begin - window_seconds : f.seconds();
  std::size_t recovered = events[e].end;
  for (std::size_t s = events[e].end; s < next; ++s)
    if (share_of_window(f, s) < goodput_min) recovered = s + 1;
  return recovered - events[e].end;
}

// Whether the window is in the time in which a fleet may recover.
bool recovers_in(std::size_t first) {
  return std::any_of(events.begin(), events.end(), [first](const event& e) {
    return first + window_seconds > e.end && first < e.end + recovery_seconds_max;
  });
}

}  // namespace

verdict judge(const figures& f) {
  verdict v;
  v.lowest_at_first.fill(1);
  double good = 0;
  double allowed = 0;
  for (std::size_t s = 0; s < f.seconds(); ++s) {
    good += f.at(0, s).good;
    allowed += f.allowed(s);
    if (s + window_seconds > f.seconds()) continue;
    const double share = share_of_window(f, s);
    if (const std::size_t e = new_cause_in(s); e < events_all) {
      if (s + window_seconds <= events[e].end) v.lowest_at_first[e] = std::min(v.lowest_at_first[e], share);
    } else if (!recovers_in(s) && share < v.lowest) {
      v.lowest = share;
      v.lowest_at = s;
    }
  }
  for (std::size_t e = 0; e < events_all; ++e) v.recovery[e] = recovery_of(f, e);
  v.whole_day = good / allowed;
  return v;
}

std::vector<std::string> defects_of(const verdict& v) {
  std::vector<std::string> found;
  if (v.lowest < goodput_min)
    found.push_back("from second " + std::to_string(v.lowest_at) + " on, goodput is " +
                    std::to_string(v.lowest) + " of what the capacity allows");
  for (std::size_t e = 0; e < events_all; ++e)
    if (v.lowest_at_first[e] < goodput_min_at_first)
      found.push_back(std::string("when '") + events[e].name + "' is new, goodput is " +
                      std::to_string(v.lowest_at_first[e]) + " of what the capacity allows");
  for (std::size_t e = 0; e < events_all; ++e)
    if (v.recovery[e] > recovery_seconds_max)
      found.push_back(std::string("after '") + events[e].name + "', it takes " +
                      std::to_string(v.recovery[e]) + " s to recover");
  return found;
}

std::vector<std::string> missing_collapse(const figures& f) {
  double good = 0;
  double allowed = 0;
  for (std::size_t s = events[failing_zone].end; s < f.seconds(); ++s) {
    good += f.at(0, s).good;
    allowed += f.allowed(s);
  }
  if (good < collapsed_below * allowed) return {};
  return {"without protections, goodput after the failure of a zone is " + std::to_string(good / allowed)};
}

}  // namespace coracle::day
