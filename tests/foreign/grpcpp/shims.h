// What the tests of grpc++ take from inside of grpc, in our own words: ports, deadlines, environment, locks, files. `./dev foreign`
// makes each internal header that they include one line that includes this one. It is compiled against both libraries, so it
// uses their public headers alone.
#pragma once

#include <absl/memory/memory.h>
#include <absl/status/status.h>
#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_join.h>
#include <absl/synchronization/mutex.h>
#include <absl/synchronization/notification.h>
#include <absl/types/optional.h>
#include <grpc/grpc.h>
#include <grpc/slice.h>
#include <grpc/support/alloc.h>
#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <grpcpp/channel.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/test/channel_test_peer.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

// --- ports

namespace foreign {

/// A port below those that the kernel gives to clients, so that no connection takes it before the server does.
inline int unused_port() {
  static std::mt19937 draw{std::random_device{}()};
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const int port = std::uniform_int_distribution<int>(12000, 32000)(draw);
    const int socket = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(static_cast<std::uint16_t>(port));
    const bool free = ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    ::close(socket);
    if (free) {
      return port;
    }
  }
  std::fputs("no port is free\n", stderr);
  std::abort();
}

inline gpr_timespec in_milliseconds(std::int64_t milliseconds) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(milliseconds, GPR_TIMESPAN));
}

inline std::string contents_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace foreign

inline int grpc_pick_unused_port_or_die() { return foreign::unused_port(); }
inline void grpc_recycle_unused_port(int) {}

// --- the test environment

inline std::int64_t grpc_test_slowdown_factor() { return 1; }
inline gpr_timespec grpc_timeout_milliseconds_to_deadline(std::int64_t n) {
  return foreign::in_milliseconds(n);
}
inline gpr_timespec grpc_timeout_seconds_to_deadline(std::int64_t n) {
  return foreign::in_milliseconds(n * 1000);
}
inline bool grpc_wait_until_shutdown(std::int64_t) { return true; }

inline bool BuiltUnderValgrind() { return false; }
inline bool BuiltUnderTsan() { return false; }
inline bool BuiltUnderAsan() { return false; }
inline bool BuiltUnderMsan() { return false; }
inline bool BuiltUnderUbsan() { return false; }

namespace grpc::testing {

class TestEnvironment {
 public:
  TestEnvironment(int*, char**) {}
};

class TestGrpcScope {
 public:
  TestGrpcScope() { grpc_init(); }
  ~TestGrpcScope() { grpc_shutdown(); }
};

}  // namespace grpc::testing

// It counts what is registered with a channel of grpc's core. A case that needs that fails with both libraries.
namespace grpc::testing {

#ifdef CORACLE_GRPCPP
class ChannelTestPeer {
 public:
  explicit ChannelTestPeer(Channel*) {}
  int registered_calls() const;
  int registration_attempts() const;
};
#endif
inline int ChannelTestPeer::registered_calls() const { return 0; }
inline int ChannelTestPeer::registration_attempts() const { return 0; }

}  // namespace grpc::testing

#ifdef CORACLE_GRPCPP
// A fixture whose cases are nearly all about something else needs it to return; the service does not answer.
inline grpc::ServerBuilder& grpc::ServerBuilder::RegisterService(const std::string&, Service*) {
  return *this;
}
// The same; the allocator is never asked.
inline grpc::ServerBuilder& grpc::ServerBuilder::SetContextAllocator(std::unique_ptr<ContextAllocator>) {
  return *this;
}
#endif

// --- the runtime of grpc, which exists behind neither public API

#define GRPC_POSIX_SOCKET 1
#define GPR_GLOBAL_CONFIG_SET(name, value) static_cast<void>(value)

inline bool grpc_iomgr_run_in_background() { return false; }
inline absl::Status grpc_set_socket_no_sigpipe_if_possible(int) { return absl::OkStatus(); }

using grpc_poll_function_type = int (*)(pollfd*, nfds_t, int);
namespace foreign {
inline grpc_poll_function_type poll_function = nullptr;
}  // namespace foreign
#define grpc_poll_function foreign::poll_function

// What credentials write into metadata.
#define GRPC_AUTHORIZATION_METADATA_KEY "authorization"
#define GRPC_IAM_AUTHORIZATION_TOKEN_METADATA_KEY "x-goog-iam-authorization-token"
#define GRPC_IAM_AUTHORITY_SELECTOR_METADATA_KEY "x-goog-iam-authority-selector"

// --- the C++ of grpc's core

namespace foreign {

class source_location {
 public:
  source_location(const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : file_(file), line_(line) {}  // NOLINT
  const char* file() const { return file_; }
  int line() const { return line_; }

 private:
  const char* file_;
  int line_;
};

class running_thread {
 public:
  running_thread() = default;
  running_thread(const char*, void (*body)(void*), void* argument) : body_([=] { body(argument); }) {}
  void Start() { thread_ = std::thread(body_); }
  void Join() {
    if (thread_.joinable()) {
      thread_.join();
    }
  }

 private:
  std::function<void()> body_;
  std::thread thread_;
};

inline void set_env(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }
inline void set_env(const std::string& name, const std::string& value) { set_env(name.c_str(), value); }
inline void unset_env(const char* name) { ::unsetenv(name); }
inline void unset_env(const std::string& name) { ::unsetenv(name.c_str()); }
inline absl::optional<std::string> get_env(const char* name) {
  const char* value = std::getenv(name);
  return value ? absl::optional<std::string>(value) : absl::nullopt;
}

class written_file {
 public:
  explicit written_file(const std::string& text) {
    const int file = ::mkstemp(name_);
    if (file < 0 || ::write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
      std::abort();
    }
    ::close(file);
  }
  written_file(const written_file&) = delete;
  written_file& operator=(const written_file&) = delete;
  ~written_file() { ::unlink(name_); }
  std::string name() const { return name_; }

 private:
  char name_[32] = "/tmp/foreign_XXXXXX";
};

}  // namespace foreign

namespace grpc_core {

using CondVar = absl::CondVar;
using Mutex = absl::Mutex;
using MutexLock = absl::MutexLock;
using Notification = absl::Notification;
using SourceLocation = foreign::source_location;
using Thread = foreign::running_thread;

template <class Name, class Value>
void SetEnv(const Name& name, const Value& value) {
  foreign::set_env(name, value);
}
template <class Name>
void UnsetEnv(const Name& name) {
  foreign::unset_env(name);
}
template <class Name>
absl::optional<std::string> GetEnv(const Name& name) {
  return foreign::get_env(name);
}
template <class T>
int QsortCompare(const T& left, const T& right) {
  return left < right ? -1 : right < left ? 1 : 0;
}

namespace testing {
using TmpFile = foreign::written_file;
template <class Path>
std::string GetFileContents(const Path& path) {
  return foreign::contents_of(std::string(path).c_str());
}
}  // namespace testing
}  // namespace grpc_core

// --- files

inline std::FILE* foreign_tmpfile(const char* prefix, char** name) {
  const std::string pattern = "/tmp/" + std::string(prefix) + "_XXXXXX";
  *name = static_cast<char*>(gpr_malloc(pattern.size() + 1));
  pattern.copy(*name, pattern.size());
  (*name)[pattern.size()] = '\0';
  return ::fdopen(::mkstemp(*name), "w+");
}
#define gpr_tmpfile foreign_tmpfile

inline bool foreign_load_file(const char* path, int add_null, grpc_slice* out) {
  const std::string text = foreign::contents_of(path);
  *out = grpc_slice_from_copied_buffer(text.c_str(), text.size() + (add_null ? 1 : 0));
  return !text.empty();
}
#define grpc_load_file foreign_load_file
#define GRPC_LOG_IF_ERROR(what, ok) (ok)

// --- other programs

struct gpr_subprocess {
  pid_t id;
};
inline gpr_subprocess* gpr_subprocess_create(int count, const char** words) {
  std::vector<char*> arguments;
  for (int n = 0; n < count; ++n) {
    arguments.push_back(const_cast<char*>(words[n]));
  }
  arguments.push_back(nullptr);
  auto* process = new gpr_subprocess;
  if (::posix_spawn(&process->id, words[0], nullptr, nullptr, arguments.data(), environ) != 0) {
    std::abort();
  }
  return process;
}
inline int gpr_subprocess_join(gpr_subprocess* process) {
  int status = 0;
  ::waitpid(process->id, &status, 0);
  process->id = 0;
  return status;
}
inline void gpr_subprocess_interrupt(gpr_subprocess* process) { ::kill(process->id, SIGINT); }
inline void gpr_subprocess_destroy(gpr_subprocess* process) {
  if (process->id != 0) {
    ::kill(process->id, SIGKILL);
    gpr_subprocess_join(process);
  }
  delete process;
}

// --- keys and certificates, in files of the tests' own

extern const char test_root_cert[];
extern const char test_server1_cert[];
extern const char test_server1_key[];
extern const char test_self_signed_client_cert[];
extern const char test_self_signed_client_key[];
extern const char test_signed_client_cert[];
extern const char test_signed_client_key[];
