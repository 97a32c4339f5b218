#include "net/name_error.hpp"

#include <string>

namespace coracle::net {

namespace {

std::string about(std::string_view host, std::string_view what) {
  std::string text(host);
  return text.append(": ").append(what);
}

}  // namespace

status no_such_name(std::string_view host) {
  return status::not_found(about(host, "the host name does not exist"));
}
status no_address(std::string_view host) {
  return status::not_found(about(host, "the host name exists but has no address"));
}
status no_name_server(std::string_view host) {
  return status::unavailable(about(host, "no name server responded"));
}
status name_stopped(std::string_view host) {
  return status::cancelled(about(host, "the name lookup was cancelled"));
}
status name_late(std::string_view host) {
  return status::deadline_exceeded(about(host, "the deadline passed before the name lookup ended"));
}

}  // namespace coracle::net
