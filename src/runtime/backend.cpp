#include "runtime/backend.hpp"

#include "runtime/kernel/file_calls.hpp"
#include "runtime/kernel/inherited_sockets.hpp"
#include "runtime/kernel/process_signals.hpp"
#include "runtime/kernel/stream_calls.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

namespace coracle::runtime_internal {

namespace {

sockaddr_un unwrap_path(const raw_address& at) noexcept {
  sockaddr_un s{};
  std::memcpy(&s, at.bytes, sizeof s);  // at.bytes is larger, and zero after at.size
  return s;
}

// A connect to a UNIX socket never waits: it succeeds, is refused, or finds the queue full, at once.
bool has_listener(const raw_address& at) noexcept {
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (probe < 0) return true;  // unknown: keeps the file
  const sockaddr_un s = unwrap_path(at);
  const int outcome = ::connect(probe, reinterpret_cast<const sockaddr*>(&s), at.size);
  const bool refused = outcome < 0 && errno == ECONNREFUSED;
  ::close(probe);
  return !refused;
}

}  // namespace

std::int64_t backend::accept_now(handle) noexcept { return -EAGAIN; }

std::int64_t backend::adopt_listener(int descriptor) noexcept { return kernel::adopt_listener(descriptor); }
std::int64_t backend::adopt_stream(int descriptor) noexcept { return kernel::adopt_stream(descriptor); }

std::int64_t backend::remove_stale_path(const raw_address& at) noexcept {
  const sockaddr_un s = unwrap_path(at);
  struct stat found{};
  if (::lstat(s.sun_path, &found) < 0) return errno == ENOENT ? 0 : -errno;
  if (!S_ISSOCK(found.st_mode)) return -EEXIST;
  if (has_listener(at)) return -EADDRINUSE;
  if (::unlink(s.sun_path) < 0 && errno != ENOENT) return -errno;
  return 0;
}

void backend::remove_path(const raw_address& at) noexcept { ::unlink(unwrap_path(at).sun_path); }

bool backend::is_disk_file(handle h) noexcept { return kernel::is_disk_file(h); }
std::int64_t backend::open_pipe(handle (&ends)[2]) noexcept { return kernel::open_pipe(ends); }

std::int64_t backend::perform_file(operation& op) noexcept { return kernel::perform_file(op); }
bool backend::has_positions(handle h) noexcept { return kernel::has_positions(h); }
void backend::close_file(handle h) noexcept { kernel::close_file(h); }

std::int64_t backend::open_signals(std::uint32_t set) noexcept { return kernel::open_signals(set); }
std::uint32_t backend::take_signals(handle h) noexcept { return kernel::take_signals(h); }
void backend::close_signals(handle h) noexcept {
  static_cast<void>(kernel::forget_signals(h));
  close(h);  // the backend's own close(), which also discards its state of the descriptor
}

bool backend::resolve_name(std::string_view, name_answer&) { return false; }

}  // namespace coracle::runtime_internal
