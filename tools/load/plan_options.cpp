#include "tools/load/plan_options.hpp"

#include "tools/failure.hpp"
#include "tools/load/quantities.hpp"
#include "tools/units.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <system_error>

namespace coracle::tools::load {

namespace {

// CLI11's own check prints its bounds as fractions.
CLI::Validator whole_number_to(std::uint64_t most) {
  const auto refusal = [most](const std::string& text) -> std::string {
    std::uint64_t n = 0;
    const char* const end = text.data() + text.size();
    const auto [read, error] = std::from_chars(text.data(), end, n);
    if (error == std::errc() && read == end && n >= 1 && n <= most) return {};
    return "a whole number from 1 to " + format_count(most) + ", not '" + text + "'";
  };
  return {refusal, "POSITIVE"};
}

double read_rate(const std::string& text) {
  const auto rate = read_number(text);
  if (!rate || *rate <= 0)
    throw usage_failure("--rate is a number above 0, such as 500 or 0.5, not '" + text + "'");
  return *rate;
}

}  // namespace

void plan_options::add_to(CLI::App& command) {
  add_closed(command);
  add_open(command);
  add_users(command);
  add_run(command);
  const auto named = [&](const char* name) { return command.get_option(name); };
  named("--rate")->excludes(named("--stage"));
  for (const char* other : {"--rate", "--stage"}) {
    named(other)->excludes(named("--users"));
    named("--concurrency")->excludes(named(other));
  }
  for (const char* other : {"--concurrency", "--connections", "--count"})
    named(other)->excludes(named("--users"));
  named("--count")->excludes(named("--stage"));
}

void plan_options::add_closed(CLI::App& command) {
  constexpr const char* group = "Closed loop: each worker makes a call when its last one has ended";
  command
      .add_option("-c,--concurrency", concurrency_,
                  "The number of workers, on all connections together; default: 50")
      ->type_name("N")
      ->group(group)
      ->check(whole_number_to(workers_max));
  command.add_option("-n,--count", count_, "The total number of calls")
      ->type_name("N")
      ->group(group)
      ->check(whole_number_to(calls_max));
  command
      .add_option("--duration", duration_,
                  "Start no call after this time; default: 10s if there is no --count")
      ->type_name("TIME")
      ->group(group);
}

void plan_options::add_open(CLI::App& command) {
  constexpr const char* group =
      "Open loop: calls start on schedule, and latencies count from the scheduled time";
  command.add_option("--rate", rate_, "Calls per second, for --duration or until --count")
      ->group(group)
      ->type_name("N");
  command
      .add_option(
          "--stage,--ramp", stages_,
          "A stage with a constant rate, RATE:TIME, or an evenly changing one, FROM:TO:TIME; may be repeated")
      ->type_name("STAGE")
      ->group(group)
      ->take_all()
      ->allow_extra_args(false);
}

void plan_options::add_users(CLI::App& command) {
  constexpr const char* group = "Users: each opens its own connection, makes its calls, and leaves";
  auto* const users = command.add_option("--users", users_, "The number of users")
                          ->type_name("N")
                          ->group(group)
                          ->check(whole_number_to(calls_max));
  command.add_option("--ramp-up", ramp_up_, "The time over which the users arrive; default: all at once")
      ->type_name("TIME")
      ->group(group)
      ->needs(users);
  command
      .add_option("--calls-per-user", calls_per_user_,
                  "The calls of each user; default: 1, or as many as fit into --duration")
      ->type_name("N")
      ->group(group)
      ->check(whole_number_to(calls_max))
      ->needs(users);
}

void plan_options::add_run(CLI::App& command) {
  constexpr const char* group = "Run";
  command
      .add_option("--connections", connections_,
                  "The number of connections, which are kept for the whole run; default: one for each loop")
      ->type_name("N")
      ->group(group)
      ->check(whole_number_to(workers_max));
  command.add_option("--loops", loops_, "The number of threads that make calls; default: 1")
      ->type_name("N")
      ->group(group)
      ->check(CLI::Range(1, 256));
  command.add_option("--warm-up", warm_up_, "Make calls for this long before any is counted")
      ->type_name("TIME")
      ->group(group);
  command.add_option("--connect-timeout", connect_timeout_, "How long connecting may take; default: 10s")
      ->type_name("TIME")
      ->group(group);
}

scenario plan_options::plan() const {
  constexpr std::size_t usual_concurrency = 50;
  constexpr duration usual_length = std::chrono::seconds(10);
  const auto time = [](const std::string& text, const char* option, duration without) {
    return text.empty() ? without : parse_duration(text, option);
  };
  scenario s;
  s.loops = loops_;
  s.connections = connections_.value_or(loops_);
  s.warm_up = time(warm_up_, "--warm-up", duration());
  s.connect_timeout = time(connect_timeout_, "--connect-timeout", s.connect_timeout);
  const duration length = time(duration_, "--duration", usual_length);
  if (users_) {
    s.kind = shape::users;
    s.users = *users_;
    s.ramp_up = time(ramp_up_, "--ramp-up", duration());
    s.calls_per_user = calls_per_user_;
    if (!duration_.empty()) s.length = length;
    else if (!calls_per_user_) s.calls_per_user = 1;
  } else if (!rate_.empty() || !stages_.empty()) {
    s.kind = shape::open;
    for (const std::string& one : stages_) s.stages.push_back(parse_stage(one));
    if (!rate_.empty()) {
      const double rate = read_rate(rate_);
      if (count_ && !duration_.empty()) throw usage_failure("--rate requires --duration or --count");
      s.stages.push_back(count_ ? stage_until(*count_, rate) : stage{rate, rate, length});
    } else if (!duration_.empty()) {
      throw usage_failure("stages have their own durations: remove --duration");
    }
  } else {
    s.concurrency = concurrency_.value_or(std::max(usual_concurrency, s.connections));
    s.count = count_;
    if (!count_ || !duration_.empty()) s.length = length;
  }
  check(s);
  return s;
}

}  // namespace coracle::tools::load
