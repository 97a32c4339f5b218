#include "runtimes.hpp"

#include "options.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <vector>

namespace coracle::c_abi {
namespace {

// All runtimes that have not ended. Never destroyed, as handles are not.
struct registry {
  std::mutex changing;
  std::vector<std::shared_ptr<shared_runtime>> all;
  std::shared_ptr<shared_runtime> of_process;
};
registry& known() noexcept {
  static registry& only = *new registry;
  return only;
}

std::shared_ptr<shared_runtime> make_runtime(const runtime_options& options) {
  mark_used();
  end_at_exit();
  registry& r = known();
  auto made = std::make_shared<shared_runtime>(options);
  r.all.push_back(made);
  return made;
}

void end_all() noexcept {
  registry& r = known();
  for (;;) {
    std::shared_ptr<shared_runtime> next;
    {
      const std::lock_guard lock(r.changing);
      r.of_process.reset();
      if (r.all.empty()) return;
      next = std::move(r.all.back());
      r.all.pop_back();
    }
    next->end();
  }
}

void at_exit() noexcept {
  if (!forked() && !loop::current()) end_all();
}

}  // namespace

shared_runtime::shared_runtime(const runtime_options& options) : runtime_(std::in_place, options) {
  size_ = runtime_->size();
  runtime_->start();
}

shared_runtime::use::use(shared_runtime& of) : of_(of) {
  of_.users_.fetch_add(1, std::memory_order_acq_rel);
  if (!of_.ending_.load(std::memory_order_seq_cst)) return;
  of_.leave();
  throw failure(CORACLE_SHUT_DOWN, "the runtime has ended: coracle_runtime_destroy() or coracle_shutdown()");
}

void shared_runtime::leave() noexcept {
  if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) users_.notify_all();
}

void shared_runtime::end() noexcept {
  if (!ending_.exchange(true)) {
    leave();
    for (std::uint32_t left = users_.load(); left != 0; left = users_.load()) users_.wait(left);
    runtime_.reset();
  }
}

std::shared_ptr<shared_runtime> runtime_of(coracle_runtime handle) {
  if (handle != 0) return object_of<shared_runtime>(handle);
  registry& r = known();
  const std::lock_guard lock(r.changing);
  if (!r.of_process) r.of_process = make_runtime({});
  return r.of_process;
}

void end_at_exit() {
  if (std::atexit(&at_exit) != 0) throw std::bad_alloc();
}

}  // namespace coracle::c_abi

using namespace coracle::c_abi;

extern "C" {

int coracle_runtime_create(const coracle_option* options, size_t count, coracle_runtime* out) {
  return guarded([&] {
    require_out(out, "out");
    const coracle::runtime_options parsed = parse_runtime_options(options, count);
    registry& r = known();
    const std::lock_guard lock(r.changing);
    *out = open_handle(handle_kind::runtime, make_runtime(parsed));
  });
}

int coracle_runtime_destroy(coracle_runtime runtime) {
  return guarded([&] {
    require_plain_thread();
    registry& r = known();
    std::shared_ptr<shared_runtime> ended;
    if (runtime != 0) ended = closed_object_of<shared_runtime>(runtime);
    {
      const std::lock_guard lock(r.changing);
      if (runtime == 0) ended = std::move(r.of_process);
      std::erase(r.all, ended);
    }
    if (ended) ended->end();
  });
}

int coracle_shutdown(void) {
  return guarded([] {
    require_plain_thread();
    end_all();
  });
}

}  // extern "C"
