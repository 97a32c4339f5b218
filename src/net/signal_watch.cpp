#include "coracle/net/signal_watch.hpp"

#include "coracle/base/usage_error.hpp"
#include "net/connect.hpp"
#include "net/io_error.hpp"
#include "net/io_wait.hpp"

#include <bit>
#include <cerrno>

namespace coracle::net {

struct signal_watch::state {
  state(loop& owner_loop, runtime_internal::handle handle) noexcept : on(owner_loop), events(handle) {}
  state(const state&) = delete;
  state& operator=(const state&) = delete;
  ~state() {
    CORACLE_ASSERT(!waiting, "a signal_watch was destroyed while a task waits for it");
    on.io().close_signals(events);
  }
  loop& on;
  const runtime_internal::handle events;
  std::uint32_t pending = 0;
  bool waiting = false;
};

signal_watch::signal_watch(std::unique_ptr<state> s) noexcept : state_(std::move(s)) {}
signal_watch::signal_watch(signal_watch&&) noexcept = default;
signal_watch& signal_watch::operator=(signal_watch&&) noexcept = default;
signal_watch::~signal_watch() = default;

result<signal_watch> signal_watch::open(std::initializer_list<process_signal> watched) {
  std::uint32_t set = 0;
  for (const process_signal s : watched) set |= 1u << static_cast<unsigned>(s);
  loop& on = current_loop();
  const std::int64_t opened = on.io().open_signals(set);
  if (opened == -EMFILE)
    return status::resource_exhausted("too many signal watches in this process: share one, or close some");
  if (opened < 0) return stream_error(opened, "watching for signals");
  return adopt(opened);
}

signal_watch signal_watch::adopt(std::int64_t events) {
  return signal_watch(std::make_unique<state>(current_loop(), static_cast<runtime_internal::handle>(events)));
}

task<result<process_signal>> signal_watch::next() {
  state& s = *state_;
  CORACLE_REQUIRE(!s.waiting, "concurrent next() calls on one signal_watch: await one before the next");
  while (s.pending == 0) {
    io_wait readable(s.on, runtime_internal::operation::kind::poll_in, s.events);
    s.waiting = true;
    const std::int64_t outcome = co_await readable;
    s.waiting = false;
    if (outcome < 0) {
      if (!readable.ended_early().ok()) co_return readable.ended_early();
      co_return stream_error(outcome, "waiting for signals");
    }
    s.pending = s.on.io().take_signals(s.events);
  }
  const int first = std::countr_zero(s.pending);
  s.pending &= s.pending - 1;
  co_return static_cast<process_signal>(first);
}

}  // namespace coracle::net
