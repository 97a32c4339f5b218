#include "runtime/kernel/recording_output.hpp"

#include "base/recording_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <mutex>

namespace coracle::runtime_internal {

namespace {

static_assert(process_signals == 5);
constexpr std::array numbers_of_signals{SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
constexpr std::array crash_signals{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS};

// What the handlers need, prepared in advance: they allocate nothing and take no lock.
struct prepared_crash_files {
  char path[recording_path_bytes_max + 16];
  int requested = 0;  // the signal after which the process continues
  std::array<struct sigaction, crash_signals.size()> before;
};
constinit prepared_crash_files crash_files{};
constinit std::mutex crash_files_mutex;
constinit bool crash_handlers_installed = false;
constinit std::atomic<bool> crash_file_in_progress{false};

// A sink of base::write_recording().
bool write_to_file(void* to, const void* data, std::size_t n) noexcept {
  const int file = *static_cast<const int*>(to);
  const auto* at = static_cast<const char*>(data);
  while (n > 0) {
    const ssize_t done = write(file, at, n);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    at += done;
    n -= static_cast<std::size_t>(done);
  }
  return true;
}

void write_to_stderr(const char* text) noexcept {
  std::size_t n = 0;
  while (text[n] != '\0') ++n;
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, text, n);
}

// A crash inside another one, or in another thread meanwhile, writes nothing.
void write_file(int signal) noexcept {
  if (crash_file_in_progress.exchange(true, std::memory_order_acq_rel)) return;
  const int errno_before = errno;
  int file = open(crash_files.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  constexpr std::int64_t ns_per_s = 1'000'000'000;
  const base::recording_origin origin{process_number(), signal, now.tv_sec * ns_per_s + now.tv_nsec};
  const bool done = file >= 0 && base::write_all_rings({write_to_file, &file}, origin);
  if (file >= 0) close(file);
  write_to_stderr(done ? "coracle: wrote a recording: " : "coracle: a recording could not be written: ");
  write_to_stderr(crash_files.path);
  write_to_stderr("\n");
  errno = errno_before;
  crash_file_in_progress.store(false, std::memory_order_release);
}

void on_signal(int signal) {
  write_file(signal);
  if (signal == crash_files.requested) return;
  for (std::size_t i = 0; i < crash_signals.size(); ++i)
    if (crash_signals[i] == signal) sigaction(signal, &crash_files.before[i], nullptr);
  // A fault comes again when the handler returns; what was raised must be raised again.
  raise(signal);
}

}  // namespace

std::uint32_t process_number() noexcept { return static_cast<std::uint32_t>(getpid()); }

int write_private_file(const std::string& path, std::string_view bytes) noexcept {
  int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0) return errno;
  const int error = write_to_file(&file, bytes.data(), bytes.size()) ? 0 : errno;
  return close(file) == 0 || error != 0 ? error : errno;
}

int record_on_signals(std::string_view path, std::optional<process_signal> also_on) noexcept {
  if (path.empty() || path.size() > recording_path_bytes_max) return path.empty() ? EINVAL : ENAMETOOLONG;
  const std::lock_guard lock(crash_files_mutex);
  std::size_t n = 0;
  bool numbered = false;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const bool number = !numbered && path.substr(i).starts_with("%p");
    if (number) {
      n += static_cast<std::size_t>(
          std::snprintf(crash_files.path + n, sizeof crash_files.path - n, "%d", static_cast<int>(getpid())));
      numbered = true;
      ++i;
    } else {
      crash_files.path[n++] = path[i];
    }
  }
  crash_files.path[n] = '\0';
  struct sigaction action{};
  action.sa_handler = on_signal;
  sigfillset(&action.sa_mask);
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  const int signal = also_on ? numbers_of_signals[static_cast<std::size_t>(*also_on)] : 0;
  crash_files.requested = signal;
  if (signal != 0 && sigaction(signal, &action, nullptr) != 0) return errno;
  if (crash_handlers_installed) return 0;
  for (std::size_t i = 0; i < crash_signals.size(); ++i)
    if (sigaction(crash_signals[i], &action, &crash_files.before[i]) != 0) return errno;
  crash_handlers_installed = true;
  return 0;
}

}  // namespace coracle::runtime_internal
