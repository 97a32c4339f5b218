#include "telemetry/pages/page_history.hpp"

#include "coracle/runtime/on.hpp"

#include <utility>

namespace coracle::telemetry_internal {

namespace {

task<> read_counters(loop& of, loop_counters& to) {
  to = of.stats();
  co_return;
}

}  // namespace

// The first sample is the beginning, when nothing was measured.
page_history::page_history(std::shared_ptr<core> of) : of_(std::move(of)) {
  auto first = std::make_shared<page_sample>();
  first->metrics.time = of_->started();
  first->loops.resize(of_->owner().size());
  samples_.push_back(std::move(first));
}

task<sample_pair> page_history::take() {
  auto made = std::make_shared<page_sample>();
  made->metrics = co_await of_->metrics();
  runtime& rt = of_->owner();
  made->loops.resize(rt.size());
  for (std::size_t i = 0; i < rt.size(); ++i) co_await on(rt.at(i), read_counters(rt.at(i), made->loops[i]));
  sample_pair pair;
  pair.before = keep(made);
  pair.now = std::move(made);
  co_return pair;
}

// Of the samples that are older than the window, the latest one is kept: it is the one before.
std::shared_ptr<const page_sample> page_history::keep(std::shared_ptr<const page_sample> now) {
  const std::lock_guard lock(mutex_);
  const auto at = now->metrics.time;
  while (samples_.size() > 1 && samples_[1]->metrics.time <= at - window) samples_.pop_front();
  auto before = samples_.front();
  if (at - samples_.back()->metrics.time >= interval_min) samples_.push_back(std::move(now));
  return before;
}

}  // namespace coracle::telemetry_internal
