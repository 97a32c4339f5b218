#include "coracle/runtime/loop.hpp"

#include "runtime/backend.hpp"
#include "runtime/driven_loop.hpp"

#include <utility>

namespace coracle {

const char loop::kind_ = 0;

loop::loop(runtime& owner, std::size_t index, logger& log,
           coracle::runtime_internal::backend& backend) noexcept
    : executor(&kind_),
      owner_(owner),
      index_(index),
      log_(log),
      backend_(backend),
      stop_(std::in_place),
      environment_{stop_->token()} {}

loop* loop::current() noexcept {
  executor* e = executor::current();
  return e && e->kind() == &kind_ ? static_cast<loop*>(e) : nullptr;
}

loop_counters loop::counted() const noexcept {
  return static_cast<const coracle::runtime_internal::driven_loop&>(*this).counters();
}

std::chrono::system_clock::time_point loop::wall_now() const noexcept {
  using std::chrono::system_clock;
  return system_clock::time_point(
      std::chrono::duration_cast<system_clock::duration>(std::chrono::nanoseconds(backend_.wall_ns())));
}

std::string_view loop::backend_name() const noexcept { return backend_.name(); }

loop_counters loop_counters::operator-(const loop_counters& before) const noexcept {
  loop_counters d;
  d.turns = turns - before.turns;
  d.resumes = resumes - before.resumes;
  d.letters = letters - before.letters;
  d.timers = timers - before.timers;
  d.submissions = submissions - before.submissions;
  d.completions = completions - before.completions;
  d.system_calls = system_calls - before.system_calls;
  d.frames = frames - before.frames;
  d.heap_blocks = heap_blocks - before.heap_blocks;
  return d;
}

}  // namespace coracle
