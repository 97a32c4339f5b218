// The kernel, the backend of the runtime, processors, clocks, and what restricts the process.
#include "tools/doctor/machine.hpp"
#include "tools/doctor/system_files.hpp"

#include <coracle/base/log.hpp>
#include <coracle/runtime.hpp>

#include <sched.h>
#include <sys/timex.h>
#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

namespace coracle::tools::doctor {

namespace {

// The line in which a runtime says which backend it uses, and why.
class backend_line final : public record_logger {
 public:
  backend_line() noexcept { set_min_level(log_level::info); }
  [[nodiscard]] std::string text() const {
    const std::lock_guard held(mutex_);
    return text_;
  }

 private:
  void accept(const log_record& line) noexcept override {
    const std::lock_guard held(mutex_);
    if (line.room == log_room::runtime && line.text.find("loop") != line.text.npos) text_ = line.text;
  }
  mutable std::mutex mutex_;
  std::string text_;
};

void check_backend(findings& to) {
  backend_line line;
  std::string backend;
  {
    runtime made({.loops = 1, .log = &line});
    backend = made.at(0).backend_name();
  }
  std::string text = line.text();
  if (const auto colon = text.find(": "); colon != text.npos) text.erase(0, colon + 2);
  if (backend == "io_uring") return to.ok("io_uring", text);
  const auto disabled = number_in("/proc/sys/kernel/io_uring_disabled");
  std::string advice = "the epoll backend does the same with more system calls";
  if (text.find("CORACLE_BACKEND") != text.npos) advice += "; unset CORACLE_BACKEND to use io_uring";
  else if (disabled && *disabled > 0)
    advice += "; sysctl kernel.io_uring_disabled is " + std::to_string(*disabled) + ": 0 permits it";
  else advice += "; containers forbid io_uring by seccomp unless their profile permits it";
  to.note("io_uring", text, advice);
}

void check_processors(findings& to) {
  ::cpu_set_t usable;
  const unsigned online = std::max(1u, std::thread::hardware_concurrency());
  const auto allowed = ::sched_getaffinity(0, sizeof usable, &usable) == 0
                           ? static_cast<unsigned>(CPU_COUNT(&usable))
                           : online;
  to.ok("processors", std::to_string(allowed) + " usable");
}

void check_clocks(findings& to) {
  const std::string name =
      text_of("/sys/devices/system/clocksource/clocksource0/current_clocksource").value_or("unknown");
  const bool slow = name == "hpet" || name == "acpi_pm" || name == "jiffies" || name == "refined-jiffies";
  constexpr int reads = 1000;
  const auto before = std::chrono::steady_clock::now();
  for (int i = 0; i < reads; ++i) static_cast<void>(std::chrono::steady_clock::now());
  const auto each = (std::chrono::steady_clock::now() - before) / reads;
  to.mention(slow, "clock source", name + ", a read takes " + std::to_string(each.count()) + " ns",
             "a loop reads the clock several times in each iteration: boot with clocksource=tsc if the "
             "processor permits");
  ::timex state{};
  const int clock = ::adjtimex(&state);
  if (clock < 0) return to.note("clock synchronization", "unknown: adjtimex() is not permitted here");
  to.mention(clock == TIME_ERROR || (state.status & STA_UNSYNC), "clock synchronization",
             clock == TIME_ERROR || (state.status & STA_UNSYNC)
                 ? "the kernel reports a clock that is not synchronized"
                 : "synchronized",
             "run chrony or another NTP client: the validity of certificates and the order of logs depend on "
             "the time");
}

void check_restrictions(findings& to) {
  const std::string seccomp = field_in("/proc/self/status", "Seccomp").value_or("");
  to.mention(
      seccomp == "2" || seccomp == "1", "seccomp",
      seccomp == "2"   ? "a filter decides about system calls"
      : seccomp == "1" ? "strict mode"
                       : "off",
      "if a call fails with EPERM or ENOSYS for no other reason, look at the container's seccomp profile");
}

}  // namespace

void check_kernel(findings& to) {
  ::utsname name{};
  if (::uname(&name) == 0) {
    int major = 0;
    int minor = 0;
    std::sscanf(name.release, "%d.%d", &major, &minor);
    to.mention(major < 5 || (major == 5 && minor < 19), "kernel",
               std::string(name.sysname) + " " + name.release,
               "io_uring needs Linux 5.19 for all that the runtime uses");
  }
  check_backend(to);
  check_processors(to);
  check_clocks(to);
  check_restrictions(to);
}

}  // namespace coracle::tools::doctor
