#include "runtime/kernel/own_program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

extern "C" char** environ;

namespace coracle::runtime_internal::kernel {

namespace {

std::vector<std::string> split_at_zeros(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& t : texts) all.push_back(const_cast<char*>(t.c_str()));
  all.push_back(nullptr);
  return all;
}

// glibc 2.34 has the function, others have not.
template <class Actions>
int close_others(Actions& actions) {
  if constexpr (requires { posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1); })
    return posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  else return 0;
}

// Like waitpid() that does not wait.
pid_t wait_now(const child_process& child, int& code) noexcept {
  pid_t found = 0;
  do found = ::waitpid(static_cast<pid_t>(child.process_id), &code, WNOHANG);
  while (found < 0 && errno == EINTR);
  return found;
}

// 0: the system does not tell.
std::int64_t parent_of(std::int64_t process_id) noexcept {
  char text[256];
  std::snprintf(text, sizeof text, "/proc/%lld/stat", static_cast<long long>(process_id));
  const owned_descriptor file(::open(text, O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return 0;
  const ssize_t n = ::read(file.get(), text, sizeof text - 1);
  if (n <= 0) return 0;
  text[n] = '\0';
  // "7 (name) S 1 ...": the name may have any character.
  const char* const name_end = std::strrchr(text, ')');
  return name_end && std::strlen(name_end) > 4 ? std::strtoll(name_end + 4, nullptr, 10) : 0;
}

std::string describe_end(int code) {
  if (WIFSIGNALED(code)) return "was ended by signal " + std::to_string(WTERMSIG(code));
  return "ended with exit code " + std::to_string(WEXITSTATUS(code));
}

}  // namespace

own_program read_own_program() {
  own_program own;
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  own.arguments = split_at_zeros({std::istreambuf_iterator<char>(file), {}});
  for (char** v = environ; v && *v; ++v) own.environment.emplace_back(*v);
  return own;
}

// posix_spawn() shares the memory until the exec, and copies no locks of other threads.
std::int64_t start(const own_program& program, child_process& child) {
  if (program.arguments.empty()) return -ENOENT;
  std::vector<char*> words = pointers(program.arguments);
  std::vector<char*> environment = pointers(program.environment);
  sigset_t none;
  ::sigemptyset(&none);
  posix_spawnattr_t attributes;
  if (const int error = ::posix_spawnattr_init(&attributes)) return -error;
  posix_spawn_file_actions_t actions;
  if (const int error = ::posix_spawn_file_actions_init(&actions)) {
    ::posix_spawnattr_destroy(&attributes);
    return -error;
  }
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t id = 0;
  // A name without a slash is looked up in PATH, as the shell did.
  int error = close_others(actions);
  if (!error)
    error = ::posix_spawnp(&id, words.front(), &actions, &attributes, words.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error) return -error;
  child.process_id = id;
  child.end = end_of_process(id);
  return 0;
}

void kill_at_once(const child_process& child) noexcept {
  if (child.process_id <= 0) return;
  int code = 0;
  if (child.end.is_open()) ::syscall(SYS_pidfd_send_signal, child.end.get(), SIGKILL, nullptr, 0);
  else if (wait_now(child, code) == 0) ::kill(static_cast<pid_t>(child.process_id), SIGKILL);
}

bool kill_and_wait(const child_process& child) noexcept {
  kill_at_once(child);
  constexpr int tries = 200;
  for (int i = 0; i < tries; ++i) {
    int code = 0;
    if (wait_now(child, code) != 0) return true;
    pollfd ended{child.end.is_open() ? child.end.get() : -1, POLLIN, 0};
    ::poll(&ended, 1, 5);
  }
  return false;
}

std::string take_end(const child_process& child) {
  int code = 0;
  return wait_now(child, code) > 0 ? describe_end(code) : std::string();
}

owned_descriptor end_of_process(std::int64_t process_id) noexcept {
  if (process_id <= 0) return {};
  return owned_descriptor(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(process_id), 0)));
}

bool descends_from(std::int64_t process_id, const child_process& child) noexcept {
  constexpr int generations_max = 16;  // of scripts and launchers; ids that are reused could make a ring
  for (int i = 0; i < generations_max && process_id > 1; ++i) {
    if (process_id == child.process_id) return true;
    process_id = parent_of(process_id);
  }
  return false;
}

bool is_first_process() noexcept { return ::getpid() == 1; }

}  // namespace coracle::runtime_internal::kernel
