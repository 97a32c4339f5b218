// sim_swarm: plays scenarios in simulated worlds, a seed each, every one twice. See usage().
#include "sim/swarm/live_memory.hpp"
#include "sim/swarm/scenario.hpp"

#include "coracle/coro/frame_pool.hpp"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace coracle::swarm {

namespace {

// Of a scenario with a seed, in real time; most take milliseconds.
constexpr unsigned seconds_max = 120;
// A row of so many sees every kind of end.
constexpr std::uint64_t seeds_that_show_all = 500;
constexpr std::size_t traced_events = 500;

struct command_line {
  std::uint64_t first = 1;
  std::uint64_t seeds = 1;
  std::string scenario;     // empty: all
  bool trace = false;
};

int usage() {
  std::fputs(
      "sim_swarm [--first SEED] [--seeds N] [--scenario NAME] [--trace]\n"
      "Prints PASS or FAIL for each scenario. --trace shows the last events of a seed that fails.\n",
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
    if (i + 1 == count) return false;
    const char* const value = arguments[++i];
    if (name == "--first") out.first = std::strtoull(value, nullptr, 10);
    else if (name == "--seeds") out.seeds = std::strtoull(value, nullptr, 10);
    else if (name == "--scenario") out.scenario = value;
    else return false;
  }
  return true;
}

// For those who find this process dead: what it was at.
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

// True when everything held.
bool play_twice(const scenario& s, std::uint64_t seed, bool trace, std::uint64_t& events, tallies& counted) {
  remember(s, seed);
  ::alarm(seconds_max);
  const std::size_t kept = trace ? traced_events : 0;
  std::vector<std::string> complaints;
  std::uint64_t hash = 0;
  std::vector<std::string> last_events;
  std::string waiting;
  {
    run first(seed, kept);
    s.play(first);
    hash = first.hash();
    events += first.events();
    for (const auto& [what, n] : first.counted()) counted[what] += n;
    complaints = first.complaints();
    last_events = first.last_events();
    waiting = first.waiting();
  }
  const std::int64_t before = live_blocks();
  std::int64_t left = 0;
  {
    std::uint64_t again = 0;
    {
      run second(seed, 0);
      s.play(second);
      again = second.hash();
    }
    left = live_blocks() - before;
    if (again != hash) complaints.push_back("the second run took other steps than the first");
  }
  if (left != 0 && complaints.empty())
    complaints.push_back(std::to_string(left) + " blocks of memory were left");
  ::alarm(0);
  if (complaints.empty()) return true;
  std::printf(
      "FAIL %s: seed %llu: %s%s; replay: %s\n", s.name, static_cast<unsigned long long>(seed),
      complaints.front().c_str(),
      complaints.size() > 1 ? (" (and " + std::to_string(complaints.size() - 1) + " more)").c_str() : "",
      replay_line);
  if (trace) {
    for (const std::string& c : complaints) std::printf("  %s\n", c.c_str());
    for (const std::string& e : last_events) std::printf("%s\n", e.c_str());
    if (!waiting.empty()) std::printf("these tasks wait:\n%s", waiting.c_str());
  }
  return false;
}

// What came about, for people; and what never did, though it should have.
std::string told(const tallies& counted) {
  std::string text;
  for (const auto& [what, n] : counted)
    text.append(text.empty() ? "" : ", ").append(what).append(" ").append(std::to_string(n));
  return text;
}
bool has_seen_all(const scenario& s, const tallies& counted, std::uint64_t seeds) {
  bool all = true;
  for (const std::string_view one : s.expected) {
    if (seeds < seeds_that_show_all || one.empty() || counted.contains(one)) continue;
    std::printf("FAIL %s: not one of %llu seeds came to: %s\n", s.name,
                static_cast<unsigned long long>(seeds), std::string(one).c_str());
    all = false;
  }
  return all;
}

int play_all(const command_line& what) {
  bool known = false;
  bool good = true;
  for (const scenario& s : scenarios) {
    if (!what.scenario.empty() && what.scenario != s.name) continue;
    known = true;
    std::uint64_t events = 0;
    bool held = true;
    tallies counted;
    for (std::uint64_t i = 0; i < what.seeds; ++i)
      held = play_twice(s, what.first + i, what.trace, events, counted) && held;
    held = has_seen_all(s, counted, what.seeds) && held;
    if (held)
      std::printf("PASS %s from seed %llu, %llu seeds, %llu events: %s\n", s.name,
                  static_cast<unsigned long long>(what.first), static_cast<unsigned long long>(what.seeds),
                  static_cast<unsigned long long>(events), told(counted).c_str());
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
  command_line what;
  if (!parse(count, arguments, what)) return usage();
  for (const int s : {SIGABRT, SIGSEGV, SIGBUS, SIGALRM}) ::signal(s, last_words);
  return play_all(what);
}
