// sim_day: plays a day of a fleet, with protections and without. See usage().
#include "sim/day/fleet.hpp"
#include "sim/day/verdict.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>

namespace coracle::day {

namespace {

int usage() {
  std::fputs(
      "sim_day [--seed N] [--services N] [--figures FILE] [--only protected|unprotected]\n"
      "Plays a day of a simulated fleet with N services in each of its five layers, twice: with the "
      "protections\n"
      "against overload, and without. Prints what it has found, and PASS or FAIL. --figures writes what was\n"
      "measured, by second and layer, as JSON.\n",
      stderr);
  return 2;
}

struct command_line {
  fleet_options fleet;
  std::string file;
  std::string only;
};

bool parse(int count, char** arguments, command_line& out) {
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string_view name = arguments[i];
    const char* const value = arguments[i + 1];
    if (name == "--seed") out.fleet.seed = std::strtoull(value, nullptr, 10);
    else if (name == "--services") out.fleet.services = std::strtoul(value, nullptr, 10);
    else if (name == "--figures") out.file = value;
    else if (name == "--only") out.only = value;
    else return false;
  }
  return count % 2 == 1 && out.fleet.services > 0;
}

template <class Value>
void write_row(std::FILE* to, const char* name, const figures& f, Value&& value, const char* after = ",\n") {
  std::fprintf(to, "\"%s\":[", name);
  for (std::size_t s = 0; s < f.seconds(); ++s) std::fprintf(to, s == 0 ? "%g" : ",%g", value(s));
  std::fprintf(to, "]%s", after);
}

void write(std::FILE* to, const figures& f, const verdict& v) {
  std::fprintf(to, "{\"lowest\":%.4f,\"whole_day\":%.4f,\n", v.lowest, v.whole_day);
  write_row(to, "allowed", f, [&](std::size_t s) { return f.allowed(s); });
  write_row(to, "capacity", f, [&](std::size_t s) { return f.capacity(s); });
  std::fputs("\"layers\":[\n", to);
  for (std::size_t layer = 0; layer < layers; ++layer) {
    std::fputs("{", to);
    const auto row = [&](const char* name, auto value, const char* after = ",\n") {
      write_row(
          to, name, f, [&](std::size_t s) { return static_cast<double>(value(f.at(layer, s))); }, after);
    };
    row("offered", [](const cell& c) { return c.offered; });
    row("good", [](const cell& c) { return c.good; });
    row("refused", [](const cell& c) { return c.refused; });
    row("late", [](const cell& c) { return c.late; });
    row("other", [](const cell& c) { return c.other; });
    row("p50_ms", [](const cell& c) { return c.latency.percentile(0.5); });
    row("p99_ms", [](const cell& c) { return c.latency.percentile(0.99); }, "}");
    std::fputs(layer + 1 < layers ? ",\n" : "]}", to);
  }
}

void print(const char* how, const verdict& v) {
  std::printf("%s: goodput of the day %.3f of what the capacity allows, lowest window %.3f at %zu s\n", how,
              v.whole_day, v.lowest, v.lowest_at);
  for (std::size_t e = 0; e < events_all; ++e)
    std::printf("  %-13s while new %.3f, recovery %zu s\n", events[e].name, v.lowest_at_first[e],
                v.recovery[e]);
}

int play(const command_line& arguments) {
  std::FILE* const to = arguments.file.empty() ? nullptr : std::fopen(arguments.file.c_str(), "w");
  if (!arguments.file.empty() && !to) return std::perror(arguments.file.c_str()), 2;
  if (to)
    std::fprintf(to, "{\"seed\":%llu,\"servers\":%zu,\n\"events\":[",
                 static_cast<unsigned long long>(arguments.fleet.seed),
                 layers * zones * arguments.fleet.services);
  for (std::size_t e = 0; to && e < events_all; ++e)
    std::fprintf(to, "%s{\"name\":\"%s\",\"begin\":%zu,\"end\":%zu}", e == 0 ? "" : ",", events[e].name,
                 events[e].begin, events[e].end);
  if (to) std::fputs("]", to);
  bool passed = true;
  for (const bool protects : {true, false}) {
    const char* const how = protects ? "protected" : "unprotected";
    if (!arguments.only.empty() && arguments.only != how) continue;
    const std::clock_t began = std::clock();
    fleet_options o = arguments.fleet;
    o.protects = protects;
    fleet f(o);
    f.run();
    const verdict v = judge(f.numbers());
    print(how, v);
    std::printf("  %.1f s of CPU, events %016llx\n",
                static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC,
                static_cast<unsigned long long>(f.trace_hash()));
    if (to) {
      std::fprintf(to, ",\n\"%s\":", how);
      write(to, f.numbers(), v);
    }
    const std::vector<std::string> defects = protects ? defects_of(v) : missing_collapse(f.numbers());
    for (const std::string& d : defects)
      std::printf("FAIL seed %llu: %s\n", static_cast<unsigned long long>(arguments.fleet.seed), d.c_str());
    passed = passed && defects.empty();
  }
  if (to) {
    std::fputs("}\n", to);
    std::fclose(to);
  }
  if (passed) std::printf("PASS seed %llu\n", static_cast<unsigned long long>(arguments.fleet.seed));
  return passed ? 0 : 1;
}

}  // namespace

}  // namespace coracle::day

int main(int count, char** arguments) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  coracle::day::command_line parsed;
  if (!coracle::day::parse(count, arguments, parsed)) return coracle::day::usage();
  return coracle::day::play(parsed);
}
