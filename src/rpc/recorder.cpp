#include "coracle/rpc/recorder.hpp"

#include "base/if_memory_allows.hpp"
#include "base/recording_file.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/coro/block_on.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/runtime/offload.hpp"
#include "coro/post_function.hpp"
#include "runtime/backend.hpp"
#include "runtime/kernel/recording_output.hpp"
#include "runtime/runtime_core.hpp"

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

namespace coracle {

namespace {

// A loop that runs its turns answers within one of them.
constexpr duration answer_time_max = std::chrono::milliseconds(100);

// The copies of the rings of a runtime. Shared with the functions that were posted to its loops, which may
// run after the wait for them has ended.
struct copies {
  struct of_loop {
    std::vector<base::event_record> events;
    std::int64_t wall_offset_ns = 0;
    bool taken = false;
  };
  explicit copies(std::size_t loops) : of(loops) {}

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<of_loop> of;
  std::size_t missing = of.size();
  bool closed = false;
};

// Not by memcpy(), which ThreadSanitizer checks: see read_from_outside().
__attribute__((no_sanitize("thread"))) void copy(const base::event_ring& ring,
                                                 std::vector<base::event_record>& to) {
  const base::event_ring::contents from = ring.read();
  to.resize(from.older.size() + from.newer.size());
  std::size_t n = 0;
  for (const auto& part : {from.older, from.newer})
    for (const base::event_record& e : part) to[n++] = e;
}

std::int64_t wall_offset_ns(loop& of) noexcept {
  return of.io().wall_ns() - of.io().now().time_since_epoch().count();
}

void request_copies(runtime& of, const std::shared_ptr<copies>& to) {
  for (std::size_t i = 0; i < of.size(); ++i) {
    coro::post_function(of.at(i), [to, i, &from = of.at(i)] {
      {
        const std::lock_guard lock(to->mutex);
        if (to->closed) return;
      }
      copies::of_loop made;
      made.taken = base::if_memory_allows([&] { copy(from.events(), made.events); });
      made.wall_offset_ns = wall_offset_ns(from);
      const std::lock_guard lock(to->mutex);
      if (to->closed) return;
      to->of[i] = std::move(made);
      --to->missing;
      to->changed.notify_all();
    });
  }
}

// The loop goes on meanwhile: what it overwrites is incomplete, and is dropped where that can be seen.
void read_from_outside(loop& of, copies::of_loop& to) {
  copy(of.events(), to.events);
  to.wall_offset_ns = wall_offset_ns(of);
}

std::string assemble(runtime& of, copies& from) {
  {
    const std::lock_guard lock(from.mutex);
    from.closed = true;
  }
  std::vector<base::recorded_ring> rings;
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (!from.of[i].taken) read_from_outside(of.at(i), from.of[i]);
    rings.push_back({&of, i, from.of[i].wall_offset_ns, {{}, from.of[i].events}});
  }
  std::string bytes;
  const auto append = [](void* to, const void* data, std::size_t n) noexcept {
    return base::if_memory_allows(
        [&] { static_cast<std::string*>(to)->append(static_cast<const char*>(data), n); });
  };
  if (!base::write_recording({append, &bytes}, rings,
                             {runtime_internal::process_number(), 0, of.at(0).io().wall_ns()}))
    throw std::bad_alloc();
  return bytes;
}

bool is_complete(copies& c) {
  const std::lock_guard lock(c.mutex);
  return c.missing == 0;
}

}  // namespace

task<recording> take_recording(runtime& of) {
  const auto taken = std::make_shared<copies>(of.size());
  request_copies(of, taken);
  constexpr duration pause = std::chrono::milliseconds(1);
  const time_point until = deadline_after(coro::this_executor().now(), answer_time_max);
  while (!is_complete(*taken) && coro::this_executor().now() < until) {
    sleep_for pausing(pause);
    co_await pausing;
  }
  // Not on the loop: what many loops have recorded takes milliseconds to read.
  offload reading([](runtime* from, copies* c) { return recording::parse(assemble(*from, *c)); }, &of,
                  taken.get());
  result<recording> parsed = co_await reading;
  co_return std::move(*parsed);
}

status write_recording(runtime& of, const std::string& file) {
  coro::require_no_executor();
  const auto taken = std::make_shared<copies>(of.size());
  if (!of.core().driven_by()) {  // a simulation stands still meanwhile
    request_copies(of, taken);
    std::unique_lock lock(taken->mutex);
    taken->changed.wait_for(lock, answer_time_max, [&] { return taken->missing == 0; });
  }
  const int error = runtime_internal::write_private_file(file, assemble(of, *taken));
  if (error == 0) return {};
  return status::unavailable("cannot write the recording " + file + ": " + std::strerror(error));
}

status record_crashes(const std::string& file, std::optional<process_signal> also_on) {
  const int error = runtime_internal::record_on_signals(file, also_on);
  if (error == EINVAL && file.empty()) return status::invalid_argument("the name of the file is empty");
  if (error == ENAMETOOLONG)
    return status::invalid_argument("the name of the file is longer than " +
                                    std::to_string(runtime_internal::recording_path_bytes_max) + " bytes");
  if (error != 0)
    return status::unavailable(std::string("cannot install a signal handler: ") + std::strerror(error));
  return {};
}

}  // namespace coracle
