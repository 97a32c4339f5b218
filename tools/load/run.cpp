#include "tools/load/run.hpp"

#include "tools/failure.hpp"
#include "tools/load/descriptor_limit.hpp"
#include "tools/load/station.hpp"

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

task<> connect_one(loop& where, station& s, call_end& how) { how = co_await on(where, s.connect()); }

// Runs on the station's loop; the caller waits for it.
task<> look(station& at, std::size_t second, second_of_load& into) {
  at.counted().fill_up(at.now());
  into.add_all(at.counted().seconds()[second]);
  co_return;
}

void expect_connected(const call_end& how, const subject& about) {
  if (how.ok()) return;
  throw failure(about.target + " cannot be reached: " + how.status() + ": " + how.message() +
                (about.hint.empty() ? "" : "; " + about.hint));
}

class performance {
 public:
  performance(runtime& on, const scenario& plan, const method_mix& methods, connector& to,
              const std::vector<duration>& bands, progress& tell)
      : runtime_(on), plan_(plan), tell_(tell) {
    for (std::size_t i = 0; i < plan.loops; ++i) stations_.emplace_back(plan, methods, to, bands, on.at(i));
  }

  // Returns the first failure of a connection, or OK.
  task<call_end> connect() {
    std::deque<call_end> ends(stations_.size());
    scope all{co_await coro::this_environment()};
    for (std::size_t i = 0; i < stations_.size(); ++i)
      all.spawn(connect_one(runtime_.at(i), stations_[i], ends[i]));
    co_await all.join();
    for (const call_end& one : ends)
      if (!one.ok()) co_return one;
    co_return call_end();
  }

  task<> perform() {
    const time_point begins = runtime_.now();
    counted_from_ = begins + plan_.warm_up;
    scope aside{co_await coro::this_environment()};
    scope work{co_await coro::this_environment()};
    aside.spawn(heed_signals(work));
    aside.spawn(report());
    for (std::size_t i = 0; i < stations_.size(); ++i)
      work.spawn(on_its_loop(runtime_.at(i), stations_[i].run(begins)));
    std::exception_ptr slip;
    try {
      co_await work.join();
    } catch (...) {
      slip = std::current_exception();
    }
    aside.request_stop();
    co_await aside.join();
    if (slip) std::rethrow_exception(slip);
  }

  void add_to(results& all) const {
    time_point last = counted_from_;
    for (const station& s : stations_) {
      all.add(s.counted());
      last = std::max(last, s.counted().last_end());
    }
    all.took = last - counted_from_;
    all.interrupted = interrupted_;
  }

 private:
  task<> heed_signals(scope& work) {
    result<net::signal_watch> watch = net::signal_watch::open();
    if (!watch.ok()) co_return;  // a signal then has its default effect
    const result<process_signal> came = co_await watch->next();
    if (!came.ok()) co_return;
    interrupted_ = true;
    work.request_stop();
  }

  // Reports the remaining warm-up, then a line for each second that is over.
  task<> report() {
    const time_point begins = counted_from_ - plan_.warm_up;
    for (duration passed{}; passed < plan_.warm_up; passed += std::chrono::seconds(1)) {
      co_await sleep_until(begins + passed);
      tell_.warms_up(plan_.warm_up - passed);
    }
    for (std::size_t second = 0;; ++second) {
      co_await sleep_until(counted_from_ + std::chrono::seconds(second + 1));
      second_of_load all;
      for (std::size_t i = 0; i < stations_.size(); ++i)
        co_await on(runtime_.at(i), look(stations_[i], second, all));
      tell_.second_passed(second, all);
    }
  }

  runtime& runtime_;
  const scenario& plan_;
  progress& tell_;
  std::deque<station> stations_;
  time_point counted_from_{};
  bool interrupted_ = false;
};

}  // namespace

server_identity reach(runtime& on, connector& to, const subject& about, duration at_most) {
  server_identity who;
  expect_connected(sync_wait(on, on.at(0), to.reach(at_most, who)), about);
  return who;
}

results run(runtime& on, const scenario& plan, const method_mix& methods, connector& to, const subject& about,
            const std::vector<duration>& bands, progress& tell) {
  constexpr std::uint64_t spare = 64;  // loops, files, name servers
  allow_descriptors((plan.how == shape::users ? plan.users : plan.connections) + spare);
  results all;
  all.name = about.name;
  all.target = about.target;
  all.scenario = describe(plan);
  all.started = std::chrono::system_clock::now();
  all.planned = planned_calls(plan);
  all.bands = bands;
  for (std::size_t i = 0; i < methods.size(); ++i)
    all.methods.push_back({methods.at(i).path(), methods.weight(i), 0, {}});

  performance p(on, plan, methods, to, bands, tell);
  expect_connected(sync_wait(on, on.at(0), p.connect()), about);
  tell.begins(all.scenario, planned_time(plan), all.planned);
  sync_wait(on, on.at(0), p.perform());
  tell.ends();
  p.add_to(all);
  return all;
}

}  // namespace coracle::tools::load
