#include "runtime/kernel/process_signals.hpp"

#include "coracle/base/impl/assert.hpp"
#include "coracle/runtime/process_signal.hpp"

#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <utility>

namespace coracle::runtime_internal::kernel {

namespace {

// In the order of process_signal.
constexpr std::array<int, process_signals> numbers{SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

struct watcher {
  std::atomic<int> event{-1};
  std::atomic<std::uint32_t> set{0};
  std::atomic<std::uint32_t> pending{0};
};

// Static storage, because dispositions belong to the process and a handler can reach nothing else; no other
// part of the library needs it. Eight watchers: one per server, and a few for the program around it.
constinit std::array<watcher, 8> watchers;
constinit std::atomic<int> handlers_running{0};
constinit std::mutex changing;
struct saved {
  std::atomic<int> users{0};
  struct sigaction before{};  // what install() replaced; the handler reads it while there are no users
};
constinit std::array<saved, process_signals> dispositions{};

std::size_t index_of(int number) noexcept {
  return static_cast<std::size_t>(std::find(numbers.begin(), numbers.end(), number) - numbers.begin());
}

void call(const struct sigaction& handler, int number, siginfo_t* info, void* context) {
  if (handler.sa_flags & SA_SIGINFO) handler.sa_sigaction(number, info, context);
  else handler.sa_handler(number);
}

// Called when no watcher is registered, but our handler is installed: the program saved the disposition
// during a watch, and has restored it since. Forwards the signal to the disposition that install() had
// replaced, as the kernel would: with the signals of sa_mask blocked, SA_NODEFER and SA_RESETHAND. SA_ONSTACK
// and the lack of SA_RESTART have no effect, because the flags of our handler decide on the stack and on
// restarting interrupted calls.
void pass_on(const struct sigaction& before, int number, siginfo_t* info, void* context) {
  const bool plain = !(before.sa_flags & SA_SIGINFO);
  if (plain && before.sa_handler == SIG_IGN) return;
  if (plain && before.sa_handler == SIG_DFL) {
    ::sigaction(number, &before, nullptr);
    ::raise(number);  // blocked until the handler returns
    return;
  }
  const struct sigaction handler = before;
  if (handler.sa_flags & static_cast<int>(SA_RESETHAND)) {
    struct sigaction none{};
    none.sa_handler = SIG_DFL;
    ::sigaction(number, &none, nullptr);
  }
  sigset_t interrupted;  // the mask that the kernel set, which blocks this signal
  ::pthread_sigmask(SIG_BLOCK, &handler.sa_mask, &interrupted);
  if ((handler.sa_flags & SA_NODEFER) && !::sigismember(&handler.sa_mask, number)) {
    sigset_t own;
    ::sigemptyset(&own);
    ::sigaddset(&own, number);
    ::pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
  }
  call(handler, number, info, context);
  ::pthread_sigmask(SIG_SETMASK, &interrupted, nullptr);
}

// Uses only lock-free atomics, write(), sigaction(), raise() and functions for signal sets and masks, all of
// which are async-signal-safe.
void handle_signal(int number, siginfo_t* info, void* context) {
  const int error = errno;
  const saved& disposition = dispositions[index_of(number)];
  handlers_running.fetch_add(1);  // before it looks for watchers, which wait for it at their end
  if (disposition.users.load() == 0) {
    handlers_running.fetch_sub(1);
    pass_on(disposition.before, number, info, context);
    errno = error;
    return;
  }
  const std::uint32_t bit = 1u << index_of(number);
  for (watcher& w : watchers) {
    const int event = w.event.load();
    if (event < 0 || !(w.set.load() & bit)) continue;
    w.pending.fetch_or(bit);
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(event, &one, sizeof one);
  }
  handlers_running.fetch_sub(1);
  errno = error;
}

bool is_ours(int number) noexcept {
  struct sigaction now{};
  ::sigaction(number, nullptr, &now);
  return (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == handle_signal;
}

// Keeps a handler that the program sets during a watch: it is newer.
void install(std::uint32_t set) noexcept {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!(set & (1u << i)) || dispositions[i].users.fetch_add(1) > 0 || is_ours(numbers[i])) continue;
    struct sigaction ours{};
    ours.sa_sigaction = handle_signal;
    ours.sa_flags = SA_RESTART | SA_SIGINFO;
    ::sigemptyset(&ours.sa_mask);
    ::sigaction(numbers[i], &ours, &dispositions[i].before);
  }
}

void restore(std::uint32_t set) noexcept {
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if ((set & (1u << i)) && dispositions[i].users.fetch_sub(1) == 1 && is_ours(numbers[i]))
      ::sigaction(numbers[i], &dispositions[i].before, nullptr);
}

watcher& watcher_of(handle h) noexcept {
  for (watcher& w : watchers)
    if (w.event.load() == h) return w;
  CORACLE_ASSERT(false, "the handle is not a signal watch");
}

constexpr std::uint32_t termination = 1u << static_cast<unsigned>(process_signal::terminate);

}  // namespace

std::int64_t open_signals(std::uint32_t set) noexcept {
  const std::lock_guard held(changing);
  for (watcher& w : watchers) {
    if (w.event.load() >= 0) continue;
    const int event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event < 0) return -errno;
    w.pending.store(0);
    w.set.store(set);
    w.event.store(event);
    install(set);
    return event;
  }
  return -EMFILE;
}

std::uint32_t take_signals(handle h) noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(h, &count, sizeof count);
  return watcher_of(h).pending.exchange(0);
}

std::uint32_t forget_signals(handle h) noexcept {
  const std::lock_guard held(changing);
  watcher& w = watcher_of(h);
  restore(w.set.load());
  w.event.store(-1);
  // A handler on another thread may have read the descriptor before: it must not write to a new descriptor
  // with the same number.
  while (handlers_running.load() != 0) ::sched_yield();
  return w.pending.exchange(0);
}

bool watches_signals(std::uint32_t set) noexcept {
  const std::lock_guard held(changing);
  return std::any_of(watchers.begin(), watchers.end(),
                     [set](const watcher& w) { return w.event.load() >= 0 && (w.set.load() & set); });
}

deferred_signals::deferred_signals(std::uint32_t more) noexcept : events_(open_signals(termination | more)) {}

deferred_signals::~deferred_signals() {
  if (events_ < 0) return;
  const auto h = static_cast<handle>(events_);
  // A handler on another thread may not have come to it yet.
  const std::uint32_t arrived = forget_signals(h);
  ::close(h);
  if ((arrived & termination) && !watches_signals(termination)) ::kill(::getpid(), SIGTERM);
}

std::int64_t deferred_signals::become_watch(std::uint32_t set) noexcept {
  if (events_ < 0) return open_signals(set);
  const std::int64_t passed = std::exchange(events_, -1);
  const std::lock_guard held(changing);
  const std::uint32_t before = watcher_of(static_cast<handle>(passed)).set.fetch_or(set);
  install(set & ~before);
  return passed;
}

}  // namespace coracle::runtime_internal::kernel
