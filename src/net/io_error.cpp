#include "net/io_error.hpp"

#include <cerrno>
#include <string>
#include <system_error>

namespace coracle::net {

namespace {

std::string system_text(std::int64_t error) {
  return std::generic_category().message(static_cast<int>(-error));
}

status_code code_of(std::int64_t error) {
  switch (-error) {
    case ECANCELED: return status_code::cancelled;
    case EACCES:
    case EPERM: return status_code::permission_denied;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOBUFS: return status_code::resource_exhausted;
    case EBADF:
    case ENOTSOCK:
    case EINVAL:
    case EFAULT: return status_code::internal;  // a bug of this library
    default: return status_code::unavailable;
  }
}

std::string too_many_files() { return "too many open files: raise the limit (ulimit -n) or close some"; }

std::string choose_another(const address& at) {
  return at.is_ip() ? "choose another port" : "choose another path";
}

std::string no_permission(const address& at) {
  std::string text = "no permission to listen on " + at.to_string();
  if (at.is_ip() && at.port() != 0 && at.port() < 1024)
    return text + ": ports below 1024 need CAP_NET_BIND_SERVICE; grant it or choose a port above";
  if (at.is_unix())
    return text + ": the folder must be writable for this user; mend that or choose another path";
  return text + ": " + choose_another(at);
}

}  // namespace

status stream_error(std::int64_t error, std::string_view doing) {
  std::string text(doing);
  switch (-error) {
    case ECANCELED: return status::cancelled(text + " was stopped");
    case EPIPE: return status::unavailable(text + ": the connection was closed");
    case ECONNRESET: return status::unavailable(text + ": the peer reset the connection");
    case ETIMEDOUT: return status::unavailable(text + ": the peer stopped answering");
    default: return {code_of(error), text + ": " + system_text(error)};
  }
}

status datagram_error(std::int64_t error, std::string_view about) {
  const std::string text(about);
  switch (-error) {
    case EMSGSIZE:
      return status::invalid_argument(text + ": it is too large for one datagram: send less at a time");
    case ECONNREFUSED: return status::unavailable(text + ": nobody receives there");
    case EDESTADDRREQ:
    case EAFNOSUPPORT: return status::invalid_argument(text + ": this socket cannot send to such an address");
    default: return stream_error(error, about);
  }
}

status file_error(std::int64_t error, std::string_view doing, std::string_view path) {
  const std::string text = std::string(doing) + " " + std::string(path) + ": ";
  switch (-error) {
    case ENOENT:
    case ENOTDIR: return status::not_found(text + "there is no such file or folder");
    case EEXIST: return {status_code::already_exists, text + "it exists already"};
    case EACCES:
    case EPERM:
    case EROFS: return status::permission_denied(text + system_text(error));
    case EISDIR: return status::invalid_argument(text + "it is a folder");
    case ENXIO:
    case ESPIPE:
      return status::invalid_argument(text +
                                      "it has no positions, as pipes and terminals: use net::input for it");
    case EBADF:
      return status::failed_precondition(text + "it was not opened for that: say so in its file_options");
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return status::resource_exhausted(text + system_text(error));
    case EIO: return status::data_loss(text + system_text(error));
    case EMFILE:
    case ENFILE: return status::resource_exhausted(text + too_many_files());
    default: return {code_of(error), text + system_text(error)};
  }
}

status connect_error(std::int64_t error, const address& to) {
  const std::string where = to.to_string();
  switch (-error) {
    case ECONNREFUSED: return status::unavailable("nobody listens on " + where);
    case ENOENT: return status::unavailable("nobody listens on " + where + ": there is no such socket");
    case EAGAIN: return status::unavailable("the listener on " + where + " has too many connections waiting");
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case ENETUNREACH: return status::unavailable("cannot reach " + where + ": " + system_text(error));
    case EADDRNOTAVAIL:
      return status::unavailable("no free local port or address to reach " + where + " from");
    case EAFNOSUPPORT:
      return status::unavailable("this machine cannot reach " + where + ": it has no such network");
    case ECANCELED: return status::cancelled("connecting to " + where + " was stopped");
    case EMFILE:
    case ENFILE: return status::resource_exhausted("connecting to " + where + ": " + too_many_files());
    default: return {code_of(error), "connecting to " + where + ": " + system_text(error)};
  }
}

status bind_error(std::int64_t error, const address& local) {
  const std::string what = "cannot bind a connection to the local address " + local.to_string() + ": ";
  switch (-error) {
    case EADDRNOTAVAIL:
      return status::unavailable(what + "this machine has no such address; use one of its own");
    case EADDRINUSE: return status::unavailable(what + "the port is in use; use port 0 for any free one");
    default: return {code_of(error), what + system_text(error)};
  }
}

status listen_error(std::int64_t error, const address& at) {
  const std::string where = at.to_string();
  switch (-error) {
    case EADDRINUSE:
      return {status_code::already_exists,
              where + " is in use: stop the other program or " + choose_another(at)};
    case EACCES:
    case EPERM: return status::permission_denied(no_permission(at));
    case EADDRNOTAVAIL:
      return status::invalid_argument("this machine has no address for " + where +
                                      ": use one of its own, or 0.0.0.0 or [::] for all");
    case EAFNOSUPPORT:
      return status::invalid_argument(
          where + " is of a kind that this machine does not have: use IPv4 (0.0.0.0 for all)");
    case ENOENT:
    case ENOTDIR:
      return status::invalid_argument("the folder of " + where +
                                      " does not exist: make it or choose another path");
    case EEXIST:
      return {status_code::already_exists,
              where + " exists and is no socket: remove it or choose another path"};
    case EMFILE:
    case ENFILE: return status::resource_exhausted("listening on " + where + ": " + too_many_files());
    default: return {code_of(error), "listening on " + where + ": " + system_text(error)};
  }
}

}  // namespace coracle::net
