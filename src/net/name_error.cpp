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
  return status::not_found(about(host, "there is no host of that name"));
}
status no_address(std::string_view host) {
  return status::not_found(about(host, "there is such a name, and it has no address"));
}
status no_name_server(std::string_view host) {
  return status::unavailable(about(host, "no name server could be asked or gave an answer"));
}
status name_stopped(std::string_view host) {
  return status::cancelled(about(host, "looking up the name was stopped"));
}
status name_late(std::string_view host) {
  return status::deadline_exceeded(about(host, "the deadline has passed before its addresses were known"));
}

}  // namespace coracle::net
