#include "server/handover/path.hpp"

#include "runtime/kernel/packet_socket.hpp"

#include <cerrno>
#include <system_error>

namespace coracle::server_internal {

namespace {

// sockaddr_un has 108 bytes, with a zero at the end; the same must hold for the path with ".lock".
constexpr std::size_t path_bytes_max = 102;

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

status check_path(const std::string& path) {
  if (!path.starts_with('/') || path.ends_with('/'))
    return status::invalid_argument("handover_options::path must be the absolute path of a socket, such as " +
                                    std::string("/run/movies/handover, and is '") + path + "'");
  if (path.find('\0') != std::string::npos)
    return status::invalid_argument("handover_options::path must not contain a zero byte");
  if (path.size() > path_bytes_max)
    return status::invalid_argument("handover_options::path has " + std::to_string(path.size()) +
                                    " bytes, limit " + std::to_string(path_bytes_max) + ": " + path);
  return {};
}

status remove_stale_socket(const std::string& path) {
  const std::int64_t removed = runtime_internal::kernel::remove_socket_file(path);
  if (removed == -ENOTSOCK)
    return status::failed_precondition("handover_options::path names a file that is not a socket: " + path +
                                       ": remove it, or choose another path");
  return removed < 0 ? path_failure(removed, path, "removing the old socket") : status();
}

status path_failure(std::int64_t error, const std::string& path, std::string_view action) {
  const int number = static_cast<int>(-error);
  const std::string text = "handover at " + path + ": " + std::string(action) +
                           " failed: " + std::generic_category().message(number);
  switch (number) {
    case ENOENT:
    case ENOTDIR:
      return status::failed_precondition(text + ": create the folder " + folder_of(path) +
                                         ", as RuntimeDirectory= of a systemd unit does");
    case EACCES:
    case EPERM:
    case EROFS:
      return status::permission_denied(text + ": the user of the service must be able to write to " +
                                       folder_of(path));
    case EAGAIN: return status::unavailable(text + ": too many processes connect at the same time");
    case EPROTOTYPE:
      return status::failed_precondition(text + ": a socket of another kind has this path: choose another");
    case ENOSPC:
    case EMFILE:
    case ENFILE:
    case ENOMEM: return status::resource_exhausted(text);
    default: return status::unavailable(text);
  }
}

}  // namespace coracle::server_internal
