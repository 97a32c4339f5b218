#include "telemetry/core.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/client/observe_channels.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/runtime/offload.hpp"
#include "coracle/server/server.hpp"
#include "coro/post_function.hpp"
#include "net/tcp_meter.hpp"
#include "telemetry/call_observers.hpp"
#include "telemetry/metrics/certificate_instruments.hpp"
#include "telemetry/metrics/merge.hpp"

#include <algorithm>
#include <atomic>
#include <string>

namespace coracle::telemetry_internal {

namespace {

// Finds the telemetry of a runtime.
class core_of_runtime final : public runtime_internal::companion {
 public:
  // Returns the telemetry, and whether it was made.
  std::pair<std::shared_ptr<core>, bool> get(runtime& on, const telemetry_options& o) {
    const std::lock_guard lock(mutex_);
    CORACLE_REQUIRE(!ended_, "telemetry of a runtime that has ended");
    const bool made = !core_;
    if (made) core_ = std::make_shared<core>(on, o);
    return {core_, made};
  }
  void runtime_ended() noexcept override {
    std::shared_ptr<core> last;
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
      last = std::move(core_);
    }
    if (last) last->runtime_ended();
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<core> core_;
  bool ended_ = false;
};

// Shared with the loops; the last one resumes the loop that waits.
struct gathering {
  std::atomic<std::size_t> left;
  coro::executor& owner_loop;
  event<> done{};
};

}  // namespace

core::core(runtime& on, const telemetry_options& o)
    : owner_(on),
      options_(o),
      selected_(options_),
      custom_label_(selected_.reports_label(custom_label_key)),
      locality_label_(selected_.reports_label(locality_label_key)),
      service_label_(selected_.reports_label(service_label_key)),
      certificates_(on),
      tracers_(on.size(), nullptr),
      parts_(on.size(), nullptr),
      start_(on.at(0).wall_now()),
      last_(on.size()) {
  for (std::size_t i = 0; i < on.size(); ++i)
    calls_.push_back(std::make_unique<call_series>(options_.series_max, options_.exponential_histograms,
                                                   options_.admits_method));
}

std::shared_ptr<core> core::of(runtime& on, const telemetry_options& o) {
  const auto [found, made] = on.core().companion_of<core_of_runtime>()->get(on, o);
  if (made) found->start();
  return found;
}

void core::start() {
  for (std::size_t i = 0; i < owner_.size(); ++i)
    handles_.push_back(runtime_internal::loop_service::start(
        owner_.at(i), std::make_unique<loop_part>(shared_from_this(), owner_.at(i))));
  const auto reported = [&](const instrument* i) { return selected_.reports(*i); };
  const auto reported_label = [&](std::string_view key) { return selected_.reports_label(key); };
  if (std::ranges::any_of(net::tcp_instruments(), reported)) {
    const bool addresses = std::ranges::any_of(net::tcp_instruments()[0]->optional_labels, reported_label);
    for (std::size_t i = 0; i < handles_.size(); ++i)
      handles_[i]->run_on_loop([self = shared_from_this(), i, addresses] {
        loop_part* const part = self->parts_[i];
        if (part) base::if_memory_allows([&] { part->measure_tcp(addresses); });
      });
  }
  observe_channels(owner_,
                   [weak = weak_from_this()](std::string_view target) -> std::shared_ptr<client_observer> {
                     const auto self = weak.lock();
                     return self ? self->observer_of(target) : nullptr;
                   });
}

void core::observe(server& which) {
  CORACLE_REQUIRE(&which.owner() == &owner_, "the server runs on another runtime than the telemetry");
  {
    const std::lock_guard lock(mutex_);
    if (!observed_.insert(&which).second) return;
  }
  which.add_observer(std::make_shared<server_calls>(shared_from_this(), &which));
}

void core::forget(const server* which) noexcept {
  const std::lock_guard lock(mutex_);
  observed_.erase(which);
}

// Channels with one target share an observer. A program that makes targets from what its clients send gets no
// series for each of them.
std::shared_ptr<client_observer> core::observer_of(std::string_view target) {
  const std::lock_guard lock(mutex_);
  std::string key(target);
  if (!by_target_.contains(key) && by_target_.size() >= options_.series_max) key = "other";
  std::weak_ptr<client_observer>& kept = by_target_[key];
  std::shared_ptr<client_observer> observer = kept.lock();
  if (!observer) kept = observer = std::make_shared<channel_calls>(shared_from_this(), key);
  return observer;
}

void core::add_gauge(const instrument& what, std::function<double()> read) {
  CORACLE_REQUIRE(read, "add_gauge() was given an empty function");
  CORACLE_REQUIRE(what.labels.size() == 0, "add_gauge() is for instruments without labels");
  const std::lock_guard lock(mutex_);
  gauges_.emplace_back(&what, std::move(read));
}

void core::attach(std::shared_ptr<attachment> a) {
  const std::lock_guard lock(mutex_);
  attachments_.push_back(std::move(a));
}

void core::runtime_ended() noexcept {
  // Calls also ended while the loops shut down.
  for (std::size_t i = 0; i < calls_.size(); ++i)
    base::if_memory_allows([&] {
      std::vector<method_calls> calls = calls_[i]->copies();
      const std::lock_guard lock(mutex_);
      last_[i].calls = std::move(calls);
    });
  std::vector<std::shared_ptr<attachment>> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(attachments_);
  }
  for (const auto& a : all) a->runtime_ended();
}

loop_copy core::last_of(std::size_t loop) const {
  const std::lock_guard lock(mutex_);
  return last_[loop];
}

void core::keep_last(std::size_t loop, loop_copy c) noexcept {
  const std::lock_guard lock(mutex_);
  last_[loop] = std::move(c);
}

void core::trace(const trace_options& o) {
  const auto rules = std::make_shared<const trace_rules>(o, owner_.at(0).log());
  for (std::size_t i = 0; i < handles_.size(); ++i)
    handles_[i]->run_on_loop([self = shared_from_this(), i, rules] {
      loop_part* const part = self->parts_[i];
      if (part) base::if_memory_allows([&] { part->use_rules(rules); });
    });
}

// Runs f(i, part) on each loop, with null if the loop has no part any more. Returns when all have done it.
template <class F>
task<> core::on_each_loop(F f) {
  const std::shared_ptr<core> alive = shared_from_this();
  auto all = std::make_shared<gathering>(handles_.size(), coro::this_executor());
  for (std::size_t i = 0; i < handles_.size(); ++i) {
    const bool there = handles_[i]->run_on_loop([this, alive, i, all, f] {
      f(i, parts_[i]);
      if (all->left.fetch_sub(1) == 1) coro::post_function(all->owner_loop, [all] { all->done.set(); });
    });
    if (there) continue;
    f(i, nullptr);
    if (all->left.fetch_sub(1) == 1) all->done.set();
  }
  co_await all->done;
}

task<> core::flush_spans() {
  const auto flush = [](std::size_t, loop_part* part) {
    if (part) part->flush_spans();
  };
  co_await on_each_loop(flush);
}

task<metrics_snapshot> core::metrics() {
  const auto parts = std::make_shared<std::vector<loop_copy>>(handles_.size());
  // Named: GCC 12 destroys a temporary that captures in a co_await expression twice.
  const auto copy = [this, parts](std::size_t i, loop_part* part) {
    (*parts)[i] = part ? part->copy() : last_of(i);
  };
  co_await on_each_loop(copy);
  std::vector<std::pair<const instrument*, std::function<double()>>> gauges;
  std::vector<std::shared_ptr<attachment>> attachments;
  {
    const std::lock_guard lock(mutex_);
    gauges = gauges_;
    attachments = attachments_;
  }
  reported_values reported(selected_, options_, start_);
  for (const auto& a : attachments) a->report(reported);
  loop& here = *loop::current();
  if (std::ranges::any_of(certificate_instruments(),
                          [&](const instrument* i) { return selected_.reports(*i); }))
    report_certificates(certificates_.list(here), here.wall_now(), reported);
  parts->emplace_back().reported = reported.copies();
  std::vector<read_gauge> read;
  for (const auto& [by, f] : gauges) read.push_back({by, f()});
  const auto now = here.wall_now();
  co_return co_await offload([&] { return merge(std::move(*parts), read, selected_, now); });
}

}  // namespace coracle::telemetry_internal
