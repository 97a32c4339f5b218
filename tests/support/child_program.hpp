// child_program: a program that a test starts, with descriptors and environment variables of the test's
// choice.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

extern "C" char** environ;

namespace coracle::testing_support {

// A program of the test's own directory, by its name; or any program, by its path.
inline std::string program_path(const std::string& name) {
  if (name.starts_with('/')) return name;
  std::array<char, 4096> own{};
  const ssize_t n = ::readlink("/proc/self/exe", own.data(), own.size());
  const std::string_view path(own.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  return std::string(path.substr(0, path.rfind('/') + 1)) + name;
}

// Its stdin and stdout are connected to the test; stderr is redirected to stdout. Killed when the object is
// destroyed, if it still runs.
class child_program {
 public:
  // command: the program and its arguments. descriptors: passed as 3, 4, ...
  child_program(std::vector<std::string> command, std::vector<std::string> variables,
                const std::vector<int>& descriptors = {}) {
    command.front() = program_path(command.front());
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    if (::pipe2(in.data(), O_CLOEXEC) < 0 || ::pipe2(out.data(), O_CLOEXEC) < 0)
      throw std::runtime_error("no pipes");
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    ::posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    ::posix_spawn_file_actions_adddup2(&actions, out[1], 2);
    // Moved away first: one of them may have the number of another.
    std::vector<int> high;
    for (const int d : descriptors) high.push_back(::fcntl(d, F_DUPFD_CLOEXEC, 100));
    for (std::size_t i = 0; i < high.size(); ++i)
      ::posix_spawn_file_actions_adddup2(&actions, high[i], 3 + static_cast<int>(i));
    for (char** v = environ; *v; ++v) variables.emplace_back(*v);
    std::vector<char*> words = pointers(command);
    std::vector<char*> environment = pointers(variables);
    // A shell makes its background jobs ignore SIGINT, and they would inherit that.
    sigset_t heeded;
    ::sigemptyset(&heeded);
    for (const int s : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) ::sigaddset(&heeded, s);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setsigdefault(&attributes, &heeded);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    const int error = ::posix_spawn(&id_, words[0], &actions, &attributes, words.data(), environment.data());
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
    for (const int d : high) ::close(d);
    ::close(in[0]);
    ::close(out[1]);
    to_ = in[1];
    from_ = out[0];
    if (error != 0) throw std::runtime_error("cannot start " + command.front());
  }
  child_program(const child_program&) = delete;
  child_program& operator=(const child_program&) = delete;
  ~child_program() {
    if (id_ > 0) ::kill(id_, SIGKILL), (void)end();
    ::close(to_);
    ::close(from_);
  }

  // Returns its next line, without the line end, or the partial line at the end of its output.
  std::string line() {
    std::string text;
    for (char c = 0; ::read(from_, &c, 1) == 1 && c != '\n';) text.push_back(c);
    return text;
  }
  void say(std::string_view line) {
    const std::string text = std::string(line) + "\n";
    if (::write(to_, text.data(), text.size()) < 0) throw std::runtime_error("it does not listen any more");
  }
  void signal(int number) { ::kill(id_, number); }
  // Waits for its end; returns the exit code, or minus the signal that ended it.
  int end() {
    int choice = 0;
    ::waitpid(std::exchange(id_, 0), &choice, 0);
    return WIFSIGNALED(choice) ? -WTERMSIG(choice) : WEXITSTATUS(choice);
  }

 private:
  static std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (std::string& t : texts) out.push_back(t.data());
    out.push_back(nullptr);
    return out;
  }

  pid_t id_ = 0;
  int to_ = -1;
  int from_ = -1;
};

}  // namespace coracle::testing_support
