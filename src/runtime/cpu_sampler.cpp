#include "runtime/cpu_sampler.hpp"

#include <unwind.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>
#include <unordered_set>
#include <utility>

namespace coracle::runtime_internal {

// The samples that handlers have recorded and nothing has collected. A slot belongs to the handler that has
// made it `writing`, then to the collector. Their order does not matter.
class sample_ring {
 public:
  enum slot_state : std::uint32_t { empty, writing, full };
  struct slot {
    std::atomic<std::uint32_t> state{empty};
    std::uint32_t name = 0;
    std::uint32_t weight = 0;
    std::uint32_t depth = 0;
    std::array<std::uintptr_t, cpu_sampler::frames_max> frames;
  };

  sample_ring() : slots_(new slot[cpu_sampler::pending_max]) {}

  // In a signal handler: null if the ring is full.
  [[nodiscard]] slot* begin() noexcept {
    slot& next = slots_[next_.fetch_add(1, std::memory_order_relaxed) % cpu_sampler::pending_max];
    std::uint32_t expected = empty;
    if (next.state.compare_exchange_strong(expected, writing, std::memory_order_acquire)) return &next;
    return nullptr;
  }
  static void commit(slot& s) noexcept { s.state.store(full, std::memory_order_release); }
  static void discard(slot& s) noexcept { s.state.store(empty, std::memory_order_release); }
  void drop(std::uint32_t weight) noexcept { dropped_.fetch_add(weight, std::memory_order_relaxed); }

  // In the collector: f(slot) for each sample.
  template <class F>
  void take(F f) {
    for (std::size_t i = 0; i < cpu_sampler::pending_max; ++i) {
      slot& s = slots_[i];
      if (s.state.load(std::memory_order_acquire) != full) continue;
      f(std::as_const(s));
      discard(s);
    }
  }
  std::uint64_t take_dropped() noexcept { return dropped_.exchange(0, std::memory_order_relaxed); }

 private:
  const std::unique_ptr<slot[]> slots_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::uint64_t> dropped_{0};
};

namespace {

static_assert(std::atomic<sample_ring*>::is_always_lock_free &&
                  std::atomic<std::uint64_t>::is_always_lock_free,
              "the handler of a signal may use no lock");

std::atomic<bool> profile_runs{false};
std::atomic<sample_ring*> sampled_into{nullptr};
std::atomic<unsigned> handlers_inside{0};

struct stack_walk {
  sample_ring::slot& to;
  bool interrupted = false;  // whether the walk has passed the handler and the frame of the kernel
};

// The address of a caller is that of the next instruction, which may belong to another line or function.
_Unwind_Reason_Code record_frame(_Unwind_Context* context, void* argument) {
  stack_walk& walk = *static_cast<stack_walk*>(argument);
  int exact = 0;
  const std::uintptr_t address = _Unwind_GetIPInfo(context, &exact);
  walk.interrupted = walk.interrupted || exact != 0;
  if (!walk.interrupted) return _URC_NO_REASON;
  if (address == 0 || walk.to.depth == walk.to.frames.size()) return _URC_END_OF_STACK;
  walk.to.frames[walk.to.depth++] = exact != 0 ? address : address - 1;
  return _URC_NO_REASON;
}

// Async-signal-safe: the unwinder finds its tables without a lock (_dl_find_object() of glibc 2.35), and
// start() has made it ready. Not so in a process that registers frames of generated code
// (__register_frame(), as just-in-time compilers do): libgcc 12 then takes a lock, which the interrupted
// thread may hold.
void record_sample(sample_ring& to, const siginfo_t& signal) noexcept {
  // Timers that expired while the thread could not be interrupted have no signal of their own.
  const auto weight = 1 + static_cast<std::uint32_t>(std::max(signal.si_overrun, 0));
  sample_ring::slot* const s = to.begin();
  if (!s) return to.drop(weight);
  s->name = static_cast<std::uint32_t>(signal.si_value.sival_int);
  s->weight = weight;
  s->depth = 0;
  stack_walk walk{*s};
  _Unwind_Backtrace(&record_frame, &walk);
  // ThreadSanitizer calls handlers by itself, later: there is no frame of the kernel.
  if (!walk.interrupted) {
    walk.interrupted = true;
    _Unwind_Backtrace(&record_frame, &walk);
  }
  if (s->depth != 0) return sample_ring::commit(*s);
  sample_ring::discard(*s);
  to.drop(weight);
}

// A signal that arrives after the end of a profile finds no ring.
void on_sigprof(int, siginfo_t* signal, void*) noexcept {
  const int error = errno;
  handlers_inside.fetch_add(1);
  if (sample_ring* const to = sampled_into.load(); to && signal->si_code == SI_TIMER)
    record_sample(*to, *signal);
  handlers_inside.fetch_sub(1);
  errno = error;
}

// Makes the unwinder load what it needs, which a handler must not do.
_Unwind_Reason_Code pass_frame(_Unwind_Context* context, void*) {
  int exact = 0;
  static_cast<void>(_Unwind_GetIPInfo(context, &exact));
  return _URC_NO_REASON;
}

// The clock of the CPU time of a thread of this process, as pthread_getcpuclockid(3) makes it.
clockid_t cpu_clock_of(pid_t thread) noexcept {
  constexpr unsigned of_a_thread = 4;
  constexpr unsigned time_scheduled = 2;
  return static_cast<clockid_t>((~static_cast<unsigned>(thread)) << 3 | of_a_thread | time_scheduled);
}

// Throws nothing: a thread may end while the kernel lists it.
std::vector<pid_t> threads_of_process() {
  std::vector<pid_t> all;
  std::error_code ended;
  for (std::filesystem::directory_iterator at("/proc/self/task", ended), end; !ended && at != end;
       at.increment(ended)) {
    const std::string name = at->path().filename();
    pid_t id = 0;
    std::from_chars(name.data(), name.data() + name.size(), id);
    if (id > 0) all.push_back(id);
  }
  return all;
}

std::string name_of_thread(pid_t id) {
  std::ifstream file("/proc/self/task/" + std::to_string(id) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

bool is_ours(const struct sigaction& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == &on_sigprof;
}
bool is_of_program(const struct sigaction& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) != 0 ||
         (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

}  // namespace

cpu_sampler::cpu_sampler() : ring_(std::make_unique<sample_ring>()) {}

result<std::unique_ptr<cpu_sampler>> cpu_sampler::start() {
  if (profile_runs.exchange(true))
    return status::aborted(
        "a CPU profile of this process is in progress, and there is one at a time: try "
        "again when it has ended");
  struct release {
    bool failed = true;
    ~release() {
      if (failed) profile_runs.store(false);
    }
  } on_failure;
  struct sigaction before{};
  ::sigaction(SIGPROF, nullptr, &before);
  if (is_of_program(before))
    return status::failed_precondition(
        "the process has a handler of SIGPROF of its own, such as that of another profiler: end that one to "
        "get CPU profiles here");
  std::unique_ptr<cpu_sampler> made(new cpu_sampler());
  made->before_ = before;
  _Unwind_Backtrace(&pass_frame, nullptr);
  struct sigaction ours{};
  ours.sa_sigaction = &on_sigprof;
  ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  sampled_into.store(made->ring_.get());
  ::sigaction(SIGPROF, &ours, nullptr);
  made->runs_ = true;
  on_failure.failed = false;  // the destructor of `made` ends the profile
  made->adopt_threads();
  if (made->timers_.empty())
    return status::resource_exhausted(std::string("timer_create: ") + std::strerror(made->timer_error_) +
                                      ": raise the limit on pending signals (ulimit -i)");
  return made;
}

cpu_sampler::~cpu_sampler() { end(); }

void cpu_sampler::collect() {
  take_samples();
  adopt_threads();
}

cpu_samples cpu_sampler::finish() {
  end();
  take_samples();
  return std::move(taken_);
}

void cpu_sampler::adopt_threads() {
  const std::vector<pid_t> all = threads_of_process();
  const std::unordered_set<pid_t> alive(all.begin(), all.end());
  std::erase_if(timers_, [&](const auto& entry) {
    if (alive.contains(entry.first)) return false;
    ::timer_delete(entry.second);
    return true;
  });
  for (const pid_t thread : all) {
    if (timers_.contains(thread)) continue;
    if (timers_.size() == threads_max) break;
    std::string name = name_of_thread(thread);
    std::size_t index = static_cast<std::size_t>(std::ranges::find(names_, name) - names_.begin());
    if (index == names_.size()) {
      if (names_.size() < threads_max) names_.push_back(std::move(name));  // else: no name
    }
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGPROF;
    event.sigev_value.sival_int = static_cast<int>(index);
    event._sigev_un._tid = thread;
    timer_t timer{};
    const auto place = timers_.try_emplace(thread).first;
    if (::timer_create(cpu_clock_of(thread), &event, &timer) != 0) {
      timer_error_ = errno;
      timers_.erase(place);
      continue;
    }
    place->second = timer;
    itimerspec every{};
    every.it_interval.tv_nsec = period.count();
    every.it_value = every.it_interval;
    ::timer_settime(timer, 0, &every, nullptr);
  }
}

void cpu_sampler::take_samples() {
  ring_->take([this](const sample_ring::slot& s) {
    sampled_stack stack{s.name < names_.size() ? names_[s.name] : std::string(),
                        {s.frames.begin(), s.frames.begin() + s.depth}};
    if (const auto known = taken_.counts.find(stack); known != taken_.counts.end()) known->second += s.weight;
    else if (taken_.counts.size() < stacks_max) taken_.counts.emplace(std::move(stack), s.weight);
    else taken_.dropped += s.weight;
  });
  taken_.dropped += ring_->take_dropped();
}

// The default action of SIGPROF ends the process, so no signal may be left when it is restored: SIG_IGN
// discards those that are pending (sigaction(2)), and without timers there are no others.
void cpu_sampler::end() noexcept {
  if (!runs_) return;
  runs_ = false;
  for (const auto& [thread, timer] : timers_) ::timer_delete(timer);
  timers_.clear();
  struct sigaction now{};
  ::sigaction(SIGPROF, nullptr, &now);
  if (is_ours(now)) {  // else the program has set one of its own meanwhile
    struct sigaction ignore{};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGPROF, &ignore, nullptr);
    ::sigaction(SIGPROF, &before_, nullptr);
  }
  sampled_into.store(nullptr);
  while (handlers_inside.load() != 0) std::this_thread::yield();
  profile_runs.store(false);
}

}  // namespace coracle::runtime_internal
