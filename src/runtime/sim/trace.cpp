#include "runtime/sim/trace.hpp"

#include <cstdio>

namespace coracle::sim {

namespace {

struct wording {
  const char* event;
  const char* source;
  const char* amount;
};

constexpr wording wordings[] = {
    {"connect", "socket", "to port"},
    {"accept", "socket", "at port"},
    {"refuse", "socket", "errno"},
    {"bytes", "socket", "gets"},
    {"end", "socket", "gets"},
    {"reset", "socket", "gets"},
    {"close", "socket", "with"},
    {"timer", "loop", "of"},
    {"signal", "host", "mask"},
    {"lost", "socket", "packet of"},
    {"given up", "socket", "errno"},
    {"fallen silent", "socket", "after"},
    {"out of resources", "host", "errno"},
    {"partition", "host", "from host"},
    {"heal", "host", "with host"},
    {"crash", "host", "time no."},
    {"start", "host", "time no."},
    {"clock jump", "host", "by ns"},
};

std::string line(double seconds, const wording& w, std::uint64_t source, std::uint64_t amount) {
  char text[160];
  std::snprintf(text, sizeof text, "%15.6f s  %-16s %s %llu, %s %lld", seconds, w.event, w.source,
                static_cast<unsigned long long>(source), w.amount, static_cast<long long>(amount));
  return text;
}

}  // namespace

void trace::keep(const entry& e) {
  if (kept_.size() >= kept_max_) kept_.pop_front();
  kept_.push_back(e);
}

std::vector<std::string> trace::last(time_point start) const {
  std::vector<std::string> lines;
  lines.reserve(kept_.size());
  for (const entry& e : kept_) {
    const double seconds = std::chrono::duration<double>(e.when - start).count();
    lines.push_back(line(seconds, wordings[static_cast<std::size_t>(e.type)], e.source, e.amount));
  }
  return lines;
}

}  // namespace coracle::sim
