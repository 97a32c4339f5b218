// sim_swarm: plays scenarios in simulated worlds, one seed each, every one twice. See usage().
#include "sim/swarm/live_memory.hpp"
#include "sim/swarm/scenario.hpp"

#include "coracle/coro/impl/frame_pool.hpp"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::swarm {

namespace {

// Of a scenario with a seed, in real time; most take milliseconds.
constexpr unsigned seconds_max = 120;
constexpr std::size_t traced_events = 500;

struct command_line {
  std::uint64_t first = 1;
  std::uint64_t seeds = 1;
  std::string scenario;     // empty: all
  bool trace = false;
  bool hashes = false;
};

int usage() {
  std::fputs(
      "sim_swarm [--first SEED] [--seeds N] [--scenario NAME] [--trace] [--hashes]\n"
      "Prints PASS or FAIL for each scenario, and what came about in it: TALLY scenario count what. A count "
      "of 0\n"
      "is of what a long row of seeds must come to; scripts/sim.py adds up those of its processes.\n"
      "--trace shows the last events of a seed that fails, --hashes what sums up the events of each seed: "
      "on\n"
      "every machine the same.\n",
      stderr);
  return 2;
}

bool parse(int count, char** arguments, command_line& out) {
  for (int i = 1; i < count; ++i) {
    const std::string_view name = arguments[i];
    if (name == "--trace") {
      out.trace = true;
      continue;
    }
    if (name == "--hashes") {
      out.hashes = true;
      continue;
    }
    if (i + 1 == count) return false;
    const char* const value = arguments[++i];
    if (name == "--first") out.first = std::strtoull(value, nullptr, 10);
    else if (name == "--seeds") out.seeds = std::strtoull(value, nullptr, 10);
    else if (name == "--scenario") out.scenario = value;
    else return false;
  }
  return true;
}

// For the analysis of a dead process: its current scenario and seed.
char replay_line[160];

void remember(const scenario& s, std::uint64_t seed) {
  std::snprintf(replay_line, sizeof replay_line, "./dev sim --seed %llu --scenario %s --trace",
                static_cast<unsigned long long>(seed), s.name);
}

void last_words(int signal) {
  constexpr char begin[] = "FAIL ";
  constexpr char middle[] = ": the process died, or took too long; replay: ";
  char line[400];
  const int n = std::snprintf(line, sizeof line, "%ssignal %d%s%s\n", begin, signal, middle, replay_line);
  if (n > 0 && ::write(1, line, static_cast<std::size_t>(n)) < 0) ::_exit(3);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

// Null if both runs had the same steps.
const char* difference(const run& first, const run& second) {
  if (first.hash() != second.hash()) return "the second run took other steps than the first";
  if (first.errors() != second.errors()) return "the second run complained of other things than the first";
  if (first.counted() != second.counted()) return "the second run came to other ends than the first";
  return nullptr;
}

void report(const scenario& s, const run& r, const std::vector<std::string>& errors, bool trace) {
  std::printf("FAIL %s: seed %llu: %s%s; replay: %s\n", s.name, static_cast<unsigned long long>(r.seed()),
              errors.front().c_str(),
              errors.size() > 1 ? (" (and " + std::to_string(errors.size() - 1) + " more)").c_str() : "",
              replay_line);
  if (!trace) return;
  for (const std::string& c : errors) std::printf("  %s\n", c.c_str());
  for (const std::string& e : r.last_events()) std::printf("%s\n", e.c_str());
  if (!r.waiting().empty()) std::printf("these tasks wait:\n%s", r.waiting().c_str());
}

// True if all invariants held.
bool play_twice(const scenario& s, std::uint64_t seed, const command_line& arguments, tallies& counted) {
  const bool trace = arguments.trace;
  remember(s, seed);
  ::alarm(seconds_max);
  run first(seed, trace ? traced_events : 0);
  s.play(first);
  if (arguments.hashes)
    std::printf("HASH %s %llu %016llx\n", s.name, static_cast<unsigned long long>(seed),
                static_cast<unsigned long long>(first.hash()));
  counted["seeds"] += 1;
  counted["events"] += first.events();
  for (const auto& [what, n] : first.counted()) counted[what] += n;
  const std::int64_t before = live_blocks();
  const char* other = nullptr;
  {
    run second(seed, 0);
    s.play(second);
    other = difference(first, second);
  }
  const std::int64_t left = live_blocks() - before;
  ::alarm(0);
  std::vector<std::string> errors = first.errors();
  if (other) errors.emplace_back(other);
  if (left != 0 && errors.empty()) errors.push_back(std::to_string(left) + " blocks of memory were left");
  if (!errors.empty()) report(s, first, errors, trace);
  return errors.empty();
}

void print(const scenario& s, const tallies& counted) {
  for (const auto& [what, n] : counted)
    std::printf("TALLY %s %llu %s\n", s.name, static_cast<unsigned long long>(n), what.c_str());
}

int play_all(const command_line& arguments) {
  bool known = false;
  bool good = true;
  for (const scenario& s : scenarios) {
    if (!arguments.scenario.empty() && arguments.scenario != s.name) continue;
    known = true;
    bool held = true;
    tallies counted;
    for (const std::string_view one : s.expected)
      if (!one.empty()) counted.emplace(one, 0);
    for (std::uint64_t i = 0; i < arguments.seeds; ++i)
      held = play_twice(s, arguments.first + i, arguments, counted) && held;
    print(s, counted);
    if (held)
      std::printf("PASS %s from seed %llu, %llu seeds\n", s.name,
                  static_cast<unsigned long long>(arguments.first),
                  static_cast<unsigned long long>(arguments.seeds));
    std::fflush(stdout);
    good = good && held;
  }
  if (!known) return usage();
  return good ? 0 : 1;
}

}  // namespace

}  // namespace coracle::swarm

int main(int count, char** arguments) {
  using namespace coracle::swarm;
  command_line parsed;
  if (!parse(count, arguments, parsed)) return usage();
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // what was said before a crash is not lost
  for (const int s : {SIGABRT, SIGSEGV, SIGBUS, SIGALRM}) ::signal(s, last_words);
  return play_all(parsed);
}
