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

std::string too_many_files() { return "too many open files: raise the limit (ulimit -n) or close files"; }

std::string choose_another_path(const address& at) {
  return at.is_ip() ? "choose another port" : "choose another path";
}

std::string no_permission(const address& at) {
  std::string text = "no permission to listen on " + at.to_string();
  if (at.is_ip() && at.port() != 0 && at.port() < 1024)
    return text +
           ": ports below 1024 require CAP_NET_BIND_SERVICE; grant it or choose a port of 1024 or more";
  if (at.is_unix())
    return text +
           ": the directory must be writable for this user; fix its permissions or choose another path";
  return text + ": " + choose_another_path(at);
}

}  // namespace

status stream_error(std::int64_t error, std::string_view doing) {
  std::string text(doing);
  switch (-error) {
    case ECANCELED: return status::cancelled(text + " was cancelled");
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
      return status::invalid_argument(text +
                                      ": it exceeds the maximum size of a datagram; send less at a time");
    case ECONNREFUSED:
      return status::unavailable(text + ": connection refused: no socket receives at the destination");
    case EDESTADDRREQ:
      return status::invalid_argument(text +
                                      ": the socket has no peer; call connect() first or use send_to()");
    case EAFNOSUPPORT:
      return status::invalid_argument(text + ": the socket cannot send to an address of another family");
    default: return stream_error(error, about);
  }
}

status file_error(std::int64_t error, std::string_view doing, std::string_view path) {
  const std::string text = std::string(doing) + " " + std::string(path) + ": ";
  switch (-error) {
    case ENOENT:
    case ENOTDIR: return status::not_found(text + "no such file or directory");
    case EEXIST: return {status_code::already_exists, text + "it already exists"};
    case EACCES:
    case EPERM:
    case EROFS: return status::permission_denied(text + system_text(error));
    case EISDIR: return status::invalid_argument(text + "it is a directory");
    case ENXIO:
    case ESPIPE:
      return status::invalid_argument(text +
                                      "it is not seekable (a pipe or terminal); use net::input for it");
    case EBADF:
      return status::failed_precondition(text +
                                         "it was not opened for this operation; set it in the file_options");
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
    case ECONNREFUSED: return status::unavailable("connection refused: no process listens on " + where);
    case ENOENT: return status::unavailable("no process listens on " + where + ": the socket does not exist");
    case EAGAIN:
      return status::unavailable("cannot connect to " + where + ": the accept queue of the listener is full");
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case ENETUNREACH: return status::unavailable("cannot connect to " + where + ": " + system_text(error));
    case EADDRNOTAVAIL:
      return status::unavailable("cannot connect to " + where + ": no local address or port is available");
    case EAFNOSUPPORT:
      return status::unavailable("cannot connect to " + where +
                                 ": this machine does not support its address family");
    case ECANCELED: return status::cancelled("connecting to " + where + " was cancelled");
    case EMFILE:
    case ENFILE: return status::resource_exhausted("connecting to " + where + ": " + too_many_files());
    default: return {code_of(error), "connecting to " + where + ": " + system_text(error)};
  }
}

status bind_error(std::int64_t error, const address& local) {
  const std::string text = "cannot bind a connection to the local address " + local.to_string() + ": ";
  switch (-error) {
    case EADDRNOTAVAIL:
      return status::unavailable(text + "this machine has no such address; use one of its own");
    case EADDRINUSE: return status::unavailable(text + "the port is in use; use port 0 for any free one");
    default: return {code_of(error), text + system_text(error)};
  }
}

status listen_error(std::int64_t error, const address& at) {
  const std::string where = at.to_string();
  switch (-error) {
    case EADDRINUSE:
      return {status_code::already_exists,
              where + " is already in use: stop the other process or " + choose_another_path(at)};
    case EACCES:
    case EPERM: return status::permission_denied(no_permission(at));
    case EADDRNOTAVAIL:
      return status::invalid_argument(
          "cannot listen on " + where +
          ": this machine has no such address; use one of its addresses, or 0.0.0.0 or [::] for all");
    case EAFNOSUPPORT:
      return status::invalid_argument(
          "cannot listen on " + where +
          ": this machine does not support its address family; use IPv4 (0.0.0.0 for all addresses)");
    case ENOENT:
    case ENOTDIR:
      return status::invalid_argument("the directory of " + where +
                                      " does not exist: create it or choose another path");
    case EEXIST:
      return {status_code::already_exists,
              where + " exists and is not a socket: remove it or choose another path"};
    case EMFILE:
    case ENFILE: return status::resource_exhausted("listening on " + where + ": " + too_many_files());
    default: return {code_of(error), "listening on " + where + ": " + system_text(error)};
  }
}

}  // namespace coracle::net
