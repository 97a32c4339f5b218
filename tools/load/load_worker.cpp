#include "tools/load/load_worker.hpp"

#include <coracle/coro/sleep.hpp>
#include <coracle/coro/yield.hpp>
#include <coracle/runtime/runtime.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace coracle::tools::load {

namespace {

// Counts a worker, user or call as active during its lifetime, on every path.
class active_guard {
 public:
  active_guard(load_stats& in, const runtime& clock) : in_(in), clock_(clock) { in_.enter(clock_.now()); }
  active_guard(const active_guard&) = delete;
  active_guard& operator=(const active_guard&) = delete;
  ~active_guard() { in_.leave(clock_.now()); }

 private:
  load_stats& in_;
  const runtime& clock_;
};

// The first rate of the plan above 0: a ramp from 0 warms up at the rate that it leads to.
arrivals warm_up_of(const scenario& plan) {
  if (plan.kind != shape::open) return {};
  for (const stage& s : plan.stages)
    for (const double rate : {s.from_per_s, s.to_per_s})
      if (rate > 0) return arrivals({{rate, rate, plan.warm_up}});
  return {};
}

}  // namespace

load_worker::load_worker(const scenario& plan, const method_mix& methods, connector& to,
                         std::vector<duration> bands, loop& on)
    : plan_(plan),
      methods_(methods),
      to_(to),
      on_(on),
      index_(on.index()),
      workers_(plan.loops),
      warm_up_(warm_up_of(plan)),
      arrivals_(plan.stages),
      stats_(methods.size(), std::move(bands)) {}

// Of `whole` numbered items, the number that belongs to this station.
std::uint64_t load_worker::share_of(std::uint64_t whole) const noexcept {
  return whole > index_ ? (whole - index_ - 1) / workers_ + 1 : 0;
}

time_point load_worker::now() const noexcept { return on_.owner().now(); }

task<call_end> load_worker::connect() {
  if (plan_.kind == shape::users) co_return call_end();
  for (std::uint64_t left = share_of(plan_.connections); left > 0; --left) {
    connections_.push_back(to_.make());
    const time_point before = now();
    const call_end outcome = co_await connections_.back()->open(plan_.connect_timeout);
    if (!outcome.ok()) co_return outcome;
    stats_.connected(now() - before);
    in_use_.insert(connections_.back().get());
  }
  co_return call_end();
}

task<> load_worker::run(time_point begins) {
  begins_ = begins;
  measured_from_ = begins + plan_.warm_up;
  if (plan_.length) ends_ = deadline_after(measured_from_, *plan_.length);
  stats_.begins(measured_from_);
  counted_ = wire();
  scope before{co_await coro::this_environment()};
  if (plan_.warm_up > duration()) before.spawn(skip_warm_up());
  task<> calls = make_calls();
  std::exception_ptr slip;
  try {
    co_await counted(connections_, std::move(calls));
  } catch (...) {
    slip = std::current_exception();
  }
  before.request_stop();  // if the run has ended within the warm-up
  co_await before.join();
  stats_.fill_up(now());
  count_wire(stats_.seconds().size() - 1);
  if (slip) std::rethrow_exception(slip);
}

task<> load_worker::skip_warm_up() {
  co_await sleep_until(measured_from_);
  counted_ = wire();
}

wire_bytes load_worker::wire() const noexcept {
  wire_bytes all = of_closed_;
  for (const connection* const one : in_use_) all += one->wire();
  return all;
}

void load_worker::count_wire(std::size_t second) noexcept {
  const wire_bytes all = wire();
  wire_bytes more = all;
  more -= counted_;
  counted_ = all;
  stats_.on_wire(second, more);
}

void load_worker::second_passed(std::size_t second) {
  stats_.fill_up(now());
  count_wire(second);
}

task<> load_worker::counted(std::span<const std::unique_ptr<connection>> over, task<> calls) {
  for (const auto& one : over) in_use_.insert(one.get());
  std::exception_ptr slip;
  try {
    co_await std::move(calls);
  } catch (...) {
    slip = std::current_exception();
  }
  for (const auto& one : over) {
    stats_.reconnected(one->reconnects());
    of_closed_ += one->wire();
    in_use_.erase(one.get());
  }
  if (slip) std::rethrow_exception(slip);
}

task<> load_worker::make_calls() {
  std::exception_ptr slip;
  scope calls{co_await coro::this_environment()};
  try {
    if (plan_.kind == shape::closed) start_workers(calls);
    else if (plan_.kind == shape::open) co_await start_calls(calls);
    else co_await start_users(calls);
  } catch (...) {
    slip = std::current_exception();
    calls.request_stop();
  }
  co_await calls.join();
  if (slip) std::rethrow_exception(slip);
}

void load_worker::start_workers(scope& in) {
  const std::uint64_t workers = share_of(plan_.concurrency);
  for (std::uint64_t i = 0; i < workers; ++i)
    in.spawn(work(index_ + i * workers_, *connections_[i % connections_.size()]));
}

// If the plan is late, `burst_max` arrivals begin at once, before replies are processed.
task<> load_worker::wait_until(time_point planned, unsigned burst_max) {
  if (planned > now()) {
    co_await sleep_until(planned);
    burst_ = 0;
  } else if (++burst_ >= burst_max) {
    co_await yield();
    burst_ = 0;
  }
}

// Arrivals that are late when the counting begins are no use for the warm-up, and are skipped.
task<> load_worker::start_calls(scope& in) {
  const std::uint64_t warm_ups = share_of(warm_up_.planned());
  for (std::uint64_t n = 0; n < warm_ups && now() < measured_from_; ++n) {
    const time_point planned = begins_ + warm_up_.at(index_ + n * workers_);
    co_await wait_until(planned, 64);
    start_call(in, planned, false);
  }
  const time_point until = measured_from_ + arrivals_.length() + plan_.patience;
  const std::uint64_t calls = share_of(arrivals_.planned());
  for (std::uint64_t n = 0; n < calls; ++n) {
    if (now() >= until) co_return record_not_begun(calls - n);
    const time_point planned = measured_from_ + arrivals_.at(index_ + n * workers_);
    co_await wait_until(planned, 64);
    start_call(in, planned, true);
  }
}

void load_worker::start_call(scope& in, time_point planned, bool counts) {
  const std::uint64_t number = numbered_++;
  in.spawn(
      one_call(index_ + number * workers_, planned, counts, *connections_[number % connections_.size()]));
}

// The plan requires more calls than can be begun: counts its last calls as failed, all at once, since there
// may be many.
void load_worker::record_not_begun(std::uint64_t calls) {
  const call_end reason =
      call_end::failed("NOT_STARTED", "the plan and the time limit of a call ended before the call began");
  const std::uint64_t cycle = methods_.cycle();
  for (std::uint64_t i = 0; i < std::min(cycle, calls); ++i)
    stats_.not_begun(methods_.pick(numbered_ + i), (calls - i - 1) / cycle + 1, now(), reason);
}

task<> load_worker::start_users(scope& in) {
  for (std::uint64_t n = index_; n < plan_.users; n += workers_) {
    const double part = static_cast<double>(n) / static_cast<double>(plan_.users);
    const auto after = static_cast<double>(plan_.ramp_up.count()) * part;
    const time_point planned = begins_ + duration(static_cast<duration::rep>(after));
    if (planned >= ends_) break;
    co_await wait_until(planned, 1);  // connecting takes about one loop iteration
    in.spawn(user(n, planned));
  }
}

task<> load_worker::work(std::uint64_t worker, connection& over) {
  const active_guard here(stats_, on_.owner());
  const std::uint64_t quota = plan_.count ? share_of(*plan_.count) : ~std::uint64_t{0};
  for (;;) {
    const time_point began = now();
    const bool counts = began >= measured_from_;
    if (began >= ends_ || (counts && begun_ == quota)) co_return;
    if (counts) ++begun_;
    request_place which;
    which.user = worker;
    which.call = index_ + numbered_++ * workers_;
    const bool keep_going = co_await call(over, which, began, counts);
    if (!keep_going) co_return;
  }
}

task<> load_worker::one_call(std::uint64_t number, time_point planned, bool counts, connection& over) {
  const active_guard here(stats_, on_.owner());
  request_place which;
  which.call = number;
  const bool keep_going = co_await call(over, which, planned, counts);
  static_cast<void>(keep_going);
}

task<> load_worker::user(std::uint64_t number, time_point planned) {
  const active_guard here(stats_, on_.owner());
  const std::unique_ptr<connection> own = to_.make();
  const coro::stop_token stop = (co_await coro::this_environment()).stop;
  const call_end opened = co_await own->open(plan_.connect_timeout);
  if (stop.stop_requested()) co_return;
  if (!opened.ok()) {
    // The first call counts as failed; the user leaves, and its other calls are never made.
    request_place which;
    which.user = number;
    which.call = index_ + numbered_++ * workers_;
    ++begun_;
    stats_.not_connected();
    stats_.ended(methods_.pick(which.call / workers_), planned, now(), opened);
    co_return;
  }
  stats_.connected(now() - planned);
  task<> calls = calls_of_user(number, *own);
  const std::span<const std::unique_ptr<connection>> over(&own, 1);
  co_await counted(over, std::move(calls));
}

task<> load_worker::calls_of_user(std::uint64_t number, connection& over) {
  request_place which;
  which.user = number;
  for (std::uint64_t made = 0; !plan_.calls_per_user || made < *plan_.calls_per_user; ++made) {
    const time_point began = now();
    if (began >= ends_) co_return;
    which.call = index_ + numbered_++ * workers_;
    ++begun_;
    const bool keep_going = co_await call(over, which, began, true);
    if (!keep_going) co_return;
  }
}

task<bool> load_worker::call(connection& over, request_place which, time_point planned, bool counts) {
  const coro::stop_token stop = (co_await coro::this_environment()).stop;
  const std::size_t method = methods_.pick(which.call / workers_);
  const call_end outcome = co_await over.call(methods_.at(method), which);
  if (stop.stop_requested()) co_return false;
  if (counts) stats_.ended(method, planned, now(), outcome);
  // A call may fail without waiting: without this yield the other tasks of the loop would not run.
  if (!outcome.ok()) co_await yield();
  co_return true;
}

}  // namespace coracle::tools::load
