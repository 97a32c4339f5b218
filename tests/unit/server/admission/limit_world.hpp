// limit_world: a server with one dependency, in simulated time, for limits of concurrency of any kind.
#pragma once

#include "server/admission/concurrency_limit.hpp"
#include "server/admission/waiting_line.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <random>
#include <utility>
#include <vector>

namespace coracle::server_internal {

using seconds_as_double = std::chrono::duration<double>;
inline duration in_seconds(double s) { return std::chrono::duration_cast<duration>(seconds_as_double(s)); }

// What is compared.
class compared_limit {
 public:
  virtual ~compared_limit() = default;
  [[nodiscard]] virtual double limit() const = 0;
  virtual void call_ended(time_point began, time_point now, bool ok, std::size_t running) = 0;
};

// Calls come at random, wait in a waiting_line while the limit is reached, take `fixed`, and then one of the
// workers of the dependency, for which they queue without bound. Clients give up at their deadline; the work
// is done all the same.
struct limit_scenario {
  int workers = 16;
  // Seconds that a worker takes for a call that begins at this second.
  std::function<double(std::mt19937_64&, double)> work = {};
  double fixed = 0;
  double capacity = 0;  // calls a second
  double deadline = 0.1;
  std::function<double(double)> load = {};  // by the second, in capacities
  double measured_from = 10;
  double until = 30;
  unsigned seed = 7;
};

struct limit_result {
  double goodput = 0;  // calls in time, in capacities
  double rejected = 0;  // of all calls
  double limit = 0;  // mean
};

class limit_world {
 public:
  limit_world(const limit_scenario& s, compared_limit* limit) : scenario_(s), limit_(limit) {}

  limit_result run() {
    std::uint64_t offered = 0;
    double sum_of_limits = 0;
    push(0, event::arrival, nullptr);
    while (events_.top().at < scenario_.until) {
      const event e = events_.top();
      events_.pop();
      now_ = e.at;
      if (e.what == event::arrival) {
        offered += is_measured();
        sum_of_limits += is_measured() ? limit() : 0;
        arrive();
      } else if (e.what == event::at_dependency) {
        queue_.push_back(e.call);
        begin_work();
      } else if (e.what == event::done) {
        --busy_;
        end(*e.call);
        begin_work();
      }
      admit();
    }
    const double time = (scenario_.until - scenario_.measured_from) * scenario_.capacity;
    return {static_cast<double>(good_) / time,
            static_cast<double>(rejected_) / static_cast<double>(std::max<std::uint64_t>(offered, 1)),
            sum_of_limits / static_cast<double>(std::max<std::uint64_t>(offered, 1))};
  }

 private:
  struct simulated_call final : limited_call {
    double arrived = 0;
    void admitted() noexcept override {}
    void rejected(bool) noexcept override {}
  };
  struct event {
    enum kind { arrival, at_dependency, done } what;
    double at;
    simulated_call* call;
    bool operator<(const event& other) const { return at > other.at; }
  };
  [[nodiscard]] bool is_measured() const { return now_ >= scenario_.measured_from; }
  [[nodiscard]] time_point time() const { return time_point(std::chrono::hours(1) + in_seconds(now_)); }
  [[nodiscard]] double limit() const { return limit_ ? limit_->limit() : 1e9; }
  void push(double after, event::kind what, simulated_call* c) { events_.push({what, now_ + after, c}); }
  void arrive() {
    push(std::exponential_distribution<>(scenario_.load(now_) * scenario_.capacity)(random_), event::arrival,
         nullptr);
    simulated_call& c = take();
    c.arrived = now_;
    c.since = time();
    if (line_.empty() && static_cast<double>(running_) < limit()) return begin(c);
    if (!line_.has_room(c.level, c.client, time())) return reject(c);
    if (limited_call* const other = line_.push(c, time())) reject(static_cast<simulated_call&>(*other));
  }
  void admit() {
    while (limited_call* const c = line_.take_expired(time())) reject(static_cast<simulated_call&>(*c));
    while (static_cast<double>(running_) < limit()) {
      limited_call* const next = line_.take(time());
      if (!next) return;
      begin(static_cast<simulated_call&>(*next));
    }
  }
  void begin(simulated_call& c) {
    ++running_;
    c.since = time();
    push(scenario_.fixed, event::at_dependency, &c);
  }
  void begin_work() {
    if (queue_.empty() || busy_ == scenario_.workers) return;
    ++busy_;
    push(scenario_.work(random_, now_), event::done, queue_.front());
    queue_.pop_front();
  }
  void end(simulated_call& c) {
    const bool ok = now_ - c.arrived <= scenario_.deadline;
    good_ += ok && is_measured();
    if (limit_) limit_->call_ended(c.since, time(), ok, running_);
    --running_;
    free_.push_back(&c);
  }
  void reject(simulated_call& c) {
    rejected_ += is_measured();
    free_.push_back(&c);
  }
  simulated_call& take() {
    if (free_.empty()) return calls_.emplace_back();
    simulated_call* const c = free_.back();
    free_.pop_back();
    return *c;
  }

  const limit_scenario& scenario_;
  compared_limit* const limit_;  // null: none
  std::mt19937_64 random_{scenario_.seed};
  std::priority_queue<event> events_;
  std::deque<simulated_call> calls_;
  std::vector<simulated_call*> free_;
  std::deque<simulated_call*> queue_;
  waiting_line line_;
  double now_ = 0;
  int busy_ = 0;
  std::size_t running_ = 0;
  std::uint64_t good_ = 0;
  std::uint64_t rejected_ = 0;
};

// Ours.
class measured_limit final : public compared_limit {
 public:
  [[nodiscard]] double limit() const override { return static_cast<double>(of_.limit()); }
  void call_ended(time_point began, time_point now, bool ok, std::size_t running) override {
    of_.call_ended(0, began, now, ok, running);
  }

 private:
  concurrency_limit of_{20, 10'000, 1, 1};
};

// Netflix's Gradient2: the short average of latencies is compared with a long one.
class gradient_limit final : public compared_limit {
 public:
  [[nodiscard]] double limit() const override { return limit_; }
  void call_ended(time_point began, time_point now, bool ok, std::size_t running) override {
    const double latency = seconds_as_double(now - began).count();
    if (!ok && latency < long_) return;
    sum_ += latency;
    used_ = std::max(used_, running);
    if (++calls_ < 10 || now - window_ < std::chrono::milliseconds(100)) return;
    const double average = sum_ / calls_;
    const auto used = static_cast<double>(used_);
    ++windows_;
    long_ += (average - long_) / (windows_ <= 10 ? windows_ : 600);
    if (long_ / average > 2) long_ *= 0.95;
    sum_ = 0;
    calls_ = 0;
    used_ = 0;
    window_ = now;
    if (used < limit_ / 2) return;
    const double gradient = std::clamp(1.5 * long_ / average, 0.5, 1.0);
    limit_ = std::clamp(0.8 * limit_ + 0.2 * (limit_ * gradient + 4), 20.0, 10'000.0);
  }

 private:
  double limit_ = 20;
  double long_ = 0;
  double sum_ = 0;
  int calls_ = 0;
  int windows_ = 0;
  std::size_t used_ = 0;
  time_point window_{};
};

// brpc's "auto": the product of the lowest latency and the highest rate, and something more to explore.
class little_limit final : public compared_limit {
 public:
  [[nodiscard]] double limit() const override { return limit_; }
  void call_ended(time_point began, time_point now, bool ok, std::size_t) override {
    if (began < ignored_until_) return;
    if (calls_ + failed_ == 0) window_ = now;
    sum_ += seconds_as_double(now - began).count();
    ++(ok ? calls_ : failed_);
    const double passed = seconds_as_double(now - window_).count();
    if (passed < 1) return;
    const int calls = std::exchange(calls_, 0);
    const int failed = std::exchange(failed_, 0);
    const double sum = std::exchange(sum_, 0);
    if (calls + failed < 100) return;
    if (calls == 0) {
      limit_ = std::max(4.0, limit_ / 2);
      return;
    }
    const double average = sum / calls;
    const double rate = calls / passed;
    lowest_ = lowest_ == 0 ? average : std::min(lowest_, 0.9 * lowest_ + 0.1 * average);
    highest_ = rate >= highest_ ? rate : 0.99 * highest_ + 0.01 * rate;
    if (now >= measure_at_) {
      if (measure_at_ != time_point()) {
        limit_ = std::max(4.0, 0.9 * lowest_ * highest_);
        ignored_until_ = now + in_seconds(2 * average);
        lowest_ = 0;
      }
      measure_at_ = now + std::chrono::seconds(30);
      if (lowest_ == 0) return;
    }
    const bool explores = average <= 1.06 * lowest_ || rate <= highest_ / 1.06;
    explored_ = std::clamp(explored_ + (explores ? 0.02 : -0.02), 0.06, 0.3);
    limit_ = std::max(4.0, lowest_ * highest_ * (1 + explored_));
  }

 private:
  double limit_ = 40;
  double lowest_ = 0;
  double highest_ = 0;
  double explored_ = 0.3;
  double sum_ = 0;
  int calls_ = 0;
  int failed_ = 0;
  time_point window_{};
  time_point measure_at_{};
  time_point ignored_until_{};
};

}  // namespace coracle::server_internal
