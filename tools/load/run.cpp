#include "tools/load/run.hpp"

#include "tools/failure.hpp"
#include "tools/load/descriptor_limit.hpp"
#include "tools/load/load_worker.hpp"

#include <coracle/coro/scope.hpp>
#include <coracle/coro/sleep.hpp>
#include <coracle/net/signal_watch.hpp>
#include <coracle/runtime/on.hpp>
#include <coracle/runtime/sync_wait.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

namespace coracle::tools::load {

namespace {

task<> on_its_loop(loop& where, task<> t) { co_await on(where, std::move(t)); }

task<> connect_one(loop& where, load_worker& s, call_end& outcome) {
  outcome = co_await on(where, s.connect());
}

// Runs on the station's loop; the caller waits for it.
task<> read_second(load_worker& at, std::size_t second, second_of_load& into) {
  at.second_passed(second);
  into.add_all(at.stats().seconds()[second]);
  co_return;
}

void expect_connected(const call_end& outcome, const subject& about) {
  if (outcome.ok()) return;
  throw failure(about.target + " cannot be reached: " + outcome.status() + ": " + outcome.message(),
                about.hint);
}

class performance {
 public:
  performance(runtime& on, const scenario& plan, const method_mix& methods, connector& to,
              const std::vector<duration>& bands, progress& progress_printer)
      : runtime_(on), plan_(plan), progress_(progress_printer) {
    for (std::size_t i = 0; i < plan.loops; ++i) workers_.emplace_back(plan, methods, to, bands, on.at(i));
  }

  // Returns the first failure of a connection, or OK.
  task<call_end> connect() {
    std::deque<call_end> ends(workers_.size());
    scope all{co_await coro::this_environment()};
    for (std::size_t i = 0; i < workers_.size(); ++i)
      all.spawn(connect_one(runtime_.at(i), workers_[i], ends[i]));
    co_await all.join();
    for (const call_end& one : ends)
      if (!one.ok()) co_return one;
    co_return call_end();
  }

  task<> perform() {
    const time_point begins = runtime_.now();
    measured_from_ = begins + plan_.warm_up;
    scope background{co_await coro::this_environment()};
    scope work{co_await coro::this_environment()};
    background.spawn(stop_on_signals(work));
    background.spawn(report());
    for (std::size_t i = 0; i < workers_.size(); ++i)
      work.spawn(on_its_loop(runtime_.at(i), workers_[i].run(begins)));
    std::exception_ptr slip;
    try {
      co_await work.join();
    } catch (...) {
      slip = std::current_exception();
    }
    background.request_stop();
    co_await background.join();
    if (slip) std::rethrow_exception(slip);
  }

  void add_to(results& all) const {
    time_point last = measured_from_;
    for (const load_worker& s : workers_) {
      all.add(s.stats());
      last = std::max(last, s.stats().last_end());
    }
    all.took = last - measured_from_;
    all.interrupted = interrupted_;
  }

 private:
  task<> stop_on_signals(scope& work) {
    result<net::signal_watch> watch = net::signal_watch::open();
    if (!watch.ok()) co_return;  // a signal then has its default effect
    const result<process_signal> signal = co_await watch->next();
    if (!signal.ok()) co_return;
    interrupted_ = true;
    work.request_stop();
  }

  // Reports the remaining warm-up, then a line for each second that is over.
  task<> report() {
    const time_point begins = measured_from_ - plan_.warm_up;
    for (duration passed{}; passed < plan_.warm_up; passed += std::chrono::seconds(1)) {
      co_await sleep_until(begins + passed);
      progress_.warms_up(plan_.warm_up - passed);
    }
    for (std::size_t second = 0;; ++second) {
      co_await sleep_until(measured_from_ + std::chrono::seconds(second + 1));
      second_of_load all;
      for (std::size_t i = 0; i < workers_.size(); ++i)
        co_await on(runtime_.at(i), read_second(workers_[i], second, all));
      progress_.second_passed(second, all);
    }
  }

  runtime& runtime_;
  const scenario& plan_;
  progress& progress_;
  std::deque<load_worker> workers_;
  time_point measured_from_{};
  bool interrupted_ = false;
};

}  // namespace

server_identity reach(runtime& on, connector& to, const subject& about, duration at_most) {
  server_identity identity;
  expect_connected(sync_wait(on, on.at(0), to.reach(at_most, identity)), about);
  return identity;
}

results run(runtime& on, const scenario& plan, const method_mix& methods, connector& to, const subject& about,
            const std::vector<duration>& bands, progress& progress_printer) {
  constexpr std::uint64_t spare = 64;  // loops, files, name servers
  allow_descriptors((plan.kind == shape::users ? plan.users : plan.connections) + spare);
  results all;
  all.name = about.name;
  all.target = about.target;
  all.scenario = describe(plan);
  all.started = std::chrono::system_clock::now();
  all.planned = planned_calls(plan);
  if (plan.kind == shape::open) {
    const arrivals planned(plan.stages);
    for (duration until{}; until < planned.length();) {
      const std::uint64_t before = planned.before(until);
      until += std::chrono::seconds(1);
      all.planned_by_second.push_back(planned.before(until) - before);
    }
  }
  all.bands = bands;
  for (std::size_t i = 0; i < methods.size(); ++i)
    all.methods.push_back({methods.at(i).path(), methods.weight(i), 0, {}});

  performance p(on, plan, methods, to, bands, progress_printer);
  expect_connected(sync_wait(on, on.at(0), p.connect()), about);
  progress_printer.begins(all.name, all.scenario, planned_time(plan), all.planned);
  sync_wait(on, on.at(0), p.perform());
  progress_printer.ends();
  p.add_to(all);
  return all;
}

}  // namespace coracle::tools::load
