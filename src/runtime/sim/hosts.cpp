#include "runtime/sim/hosts.hpp"

#include "coracle/base/impl/assert.hpp"
#include "coracle/coro/executor.hpp"

#include <algorithm>
#include <utility>

namespace coracle::sim {

namespace {

// The limit for ending a crashed host: far more turns than destructors and catch blocks need, yet over in
// seconds.
constexpr std::uint64_t last_turns_max = 1'000'000;
// For runnables that the last roots post while they end. Bounded, since runnables that repost themselves
// indefinitely have no owner any more.
constexpr int last_rounds = 1000;

bool has_no_roots(const void* core) noexcept {
  return static_cast<const runtime_internal::runtime_core*>(core)->finished();
}
bool is_empty(const void* core) noexcept {
  return static_cast<const runtime_internal::runtime_core*>(core)->empty();
}

}  // namespace

void hosts::end_all() {
  catch_up();
  // Stops all hosts first: a server's drain and a client's calls depend on each other.
  for (const auto& h : all_)
    if (h->life) h->life->rt->stop();
  for (const auto& h : all_)
    if (h->life) driver_.drive(has_no_roots, &h->life->rt->core());
  for (const auto& h : all_)
    if (h->life) h->life->owned.reset();
  for (const auto& h : all_)
    if (h->life) driver_.drive(is_empty, &h->life->rt->core());
  for (const auto& h : all_) {
    for (const auto& life : h->past) {
      retired_ = life.get();  // tasks may have been spawned there since
      life->rt.reset();
    }
    if (!h->life) continue;
    retired_ = h->life.get();
    for (int rounds = 0; rounds < last_rounds && run_retired_once(); ++rounds) {
    }
    h->life->rt.reset();
  }
}

simulated_host* hosts::find(std::string_view name) noexcept {
  for (const auto& h : all_)
    if (h->net->name == name) return h.get();
  return nullptr;
}

simulated_host& hosts::add(std::string_view name, std::size_t loops, world::program starts) {
  CORACLE_ASSERT(loops > 0, "a host has at least one loop");
  all_.push_back(std::make_unique<simulated_host>());
  simulated_host& h = *all_.back();
  h.net = &net_.add_host(std::string(name));
  h.loops = loops;
  h.starts = std::move(starts);
  start_life(h);
  return h;
}

void hosts::start_life(simulated_host& h) {
  h.life = std::make_unique<host_life>(log_);
  host_life& life = *h.life;
  std::vector<std::unique_ptr<runtime_internal::backend>> backends;
  for (std::size_t i = 0; i < h.loops; ++i) {
    auto made = std::make_unique<sim_backend>(net_, *h.net);
    life.backends.push_back(made.get());
    backends.push_back(std::move(made));
  }
  life.log.set_clock(net_, *h.net);
  life.rt = runtime_internal::make_driven_runtime(std::move(backends), life.log, driver_);
  if (memory_) life.rt->core().use_memory_resource(*memory_);
  for (std::size_t i = 0; i < h.loops; ++i)
    loops_.push_back({&life.rt->core().loop_at(i), life.backends[i], &life, next_loop_++});
  if (h.starts) life.owned = h.starts(*life.rt);
}

void hosts::crash(simulated_host& h) {
  if (!h.life || std::exchange(h.crashed, true)) return;
  h.life->log.cut_off();
  h.life->own_time = net_.now();
  for (sim_backend* b : h.life->backends) b->cut_off(h.life->own_time);
  net_.go_down(*h.net);
  if (!coro::executor::current()) retire(h);
}

void hosts::restart(simulated_host& h) {
  if (h.life && !h.crashed) return;
  h.start_requested = true;
  if (!coro::executor::current()) catch_up();
}

void hosts::catch_up() {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    simulated_host& h = *all_[i];
    if (h.crashed) retire(h);
    if (!std::exchange(h.start_requested, false) || h.life) continue;
    net_.come_up(*h.net);
    start_life(h);
  }
}

void hosts::retire(simulated_host& h) {
  h.crashed = false;
  host_life& life = *h.life;
  retired_ = &life;
  life.rt->stop();
  drive_retired(has_no_roots, &life.rt->core());
  life.owned.reset();
  drive_retired(is_empty, &life.rt->core());
  for (int rounds = 0; rounds < last_rounds && run_retired_once(); ++rounds) {
  }
  retired_ = nullptr;
  std::erase_if(loops_, [&](const host_loop& l) { return l.life == &life; });
  h.past.push_back(std::move(h.life));
}

bool hosts::run_retired_once() noexcept {
  bool turned = false;
  for (std::size_t i = 0; i < retired_->backends.size(); ++i) {
    runtime_internal::driven_loop& l = retired_->rt->core().loop_at(i);
    if (!l.has_ready() && !retired_->backends[i]->has_ready() && l.next_deadline() > retired_->own_time)
      continue;
    l.run_once(time_point::min());
    turned = true;
  }
  return turned;
}

std::string hosts::tasks() const {
  std::string all;
  for (const auto& h : all_) {
    for (std::size_t i = 0; h->life && i < h->loops; ++i) {
      const std::string tree = h->life->rt->at(i).tasks().describe();
      if (tree.empty()) continue;
      all.append(h->net->name).append(", loop ").append(std::to_string(i)).append(":\n");
      for (std::size_t at = 0; at < tree.size(); at = tree.find('\n', at) + 1)
        all.append("  ").append(tree, at, tree.find('\n', at) + 1 - at);
    }
  }
  return all;
}

void hosts::drive_retired(bool (*done)(const void*) noexcept, const void* context) noexcept {
  for (std::uint64_t turns = 0; !done(context); ++turns) {
    CORACLE_ASSERT(
        turns < last_turns_max,
        "a task of a crashed host does not end, although it was asked to stop and its I/O fails: end it "
        "when a stop is requested");
    if (run_retired_once()) continue;
    time_point next = never;
    for (std::size_t i = 0; i < retired_->backends.size(); ++i)
      next = std::min(next, retired_->rt->core().loop_at(i).next_deadline());
    CORACLE_ASSERT(
        next != never,
        "a task of a crashed host waits for an event that neither a stop nor failing I/O triggers: "
        "use a wait that a stop token ends");
    retired_->own_time = std::max(retired_->own_time, next);
  }
}

}  // namespace coracle::sim
