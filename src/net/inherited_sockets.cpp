#include "net/inherited_sockets.hpp"

#include "net/io_error.hpp"

#include <cerrno>
#include <charconv>
#include <optional>
#include <utility>

namespace coracle::net {

namespace {

template <class Number>
std::optional<Number> number(const std::string& text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Not named quoted(): argument-dependent lookup prefers std::quoted from g++ 14 on.
std::string in_quotes(std::string_view text) { return std::string("'").append(text).append("'"); }

status no_sockets_passed() {
  return status::failed_precondition(
      "the service manager passed no sockets (LISTEN_FDS is not set): start the program through its socket "
      "unit, or "
      "try it with systemd-socket-activate --listen=PORT PROGRAM");
}

status only_stored_ones() {
  return status::failed_precondition(
      "the service manager passed only sockets that an earlier process of the service has stored "
      "(FDSTORE=1), "
      "and "
      "none of a socket unit: start the program through its socket unit");
}

status for_another_process(const runtime_internal::kernel::inheritance& sockets) {
  return status::failed_precondition("the sockets of LISTEN_FDS belong to process " +
                                     sockets.for_process.value_or("(LISTEN_PID is not set)") +
                                     ", and this is process " + std::to_string(sockets.process_id) +
                                     ": a script that the service manager starts must exec the program");
}

result<std::vector<std::string>> names_of(const runtime_internal::kernel::inheritance& sockets,
                                          std::size_t count) {
  if (!sockets.names) return std::vector<std::string>(count, "unknown");
  std::vector<std::string> names;
  std::string_view rest = *sockets.names;
  while (true) {
    const std::size_t colon = rest.find(':');
    names.emplace_back(rest.substr(0, colon));
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  if (names.size() != count)
    return status::invalid_argument("LISTEN_FDNAMES has " + std::to_string(names.size()) + " names for " +
                                    std::to_string(count) + " sockets of LISTEN_FDS");
  return names;
}

status no_such_name(std::string_view name, const std::vector<inherited_socket>& all) {
  std::string there;
  for (const inherited_socket& s : all) there.append(there.empty() ? "" : ", ").append(in_quotes(s.name));
  return status::not_found("the service manager passed no socket named " + in_quotes(name) + ", only " +
                           there + ": set FileDescriptorName= in the socket unit");
}

// In the order of their descriptors.
result<std::vector<std::string>> all_names(const runtime_internal::kernel::inheritance& sockets) {
  if (!sockets.count || sockets.count->empty()) return no_sockets_passed();
  if (!sockets.for_process || number<std::int64_t>(*sockets.for_process) != sockets.process_id)
    return for_another_process(sockets);
  const std::optional<std::uint16_t> count = number<std::uint16_t>(*sockets.count);
  if (!count || *count == 0)
    return status::invalid_argument("LISTEN_FDS is " + in_quotes(*sockets.count) +
                                    ", which is not a valid number of sockets");
  return names_of(sockets, *count);
}

std::vector<inherited_socket> numbered(const std::vector<std::string>& names, bool stored) {
  std::vector<inherited_socket> chosen;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i].starts_with(stored_prefix) == stored)
      chosen.push_back({runtime_internal::kernel::first_inherited + static_cast<int>(i), names[i]});
  return chosen;
}

}  // namespace

result<std::vector<inherited_socket>> inherited_sockets(const runtime_internal::kernel::inheritance& sockets,
                                                        std::string_view name) {
  const result<std::vector<std::string>> names = all_names(sockets);
  if (!names) return names.status();
  const std::vector<inherited_socket> all = numbered(*names, false);
  if (all.empty()) return only_stored_ones();
  std::vector<inherited_socket> chosen;
  for (const inherited_socket& s : all)
    if (name.empty() || s.name == name) chosen.push_back(s);
  if (chosen.empty()) return no_such_name(name, all);
  return chosen;
}

std::vector<inherited_socket> stored_inheritance(const runtime_internal::kernel::inheritance& sockets) {
  const result<std::vector<std::string>> names = all_names(sockets);
  return names ? numbered(*names, true) : std::vector<inherited_socket>();
}

std::vector<inherited_socket> stored_inheritance() {
  const runtime_internal::kernel::inheritance sockets = runtime_internal::kernel::read_inheritance();
  std::vector<inherited_socket> stored = stored_inheritance(sockets);
  if (!stored.empty())
    runtime_internal::kernel::keep_from_children(number<std::uint16_t>(*sockets.count).value_or(0));
  return stored;
}

result<std::vector<inherited_socket>> inherited_sockets(std::string_view name) {
  const runtime_internal::kernel::inheritance sockets = runtime_internal::kernel::read_inheritance();
  result<std::vector<inherited_socket>> chosen = inherited_sockets(sockets, name);
  if (chosen) runtime_internal::kernel::keep_from_children(number<std::uint16_t>(*sockets.count).value_or(0));
  return chosen;
}

status inherited_error(std::int64_t error, const inherited_socket& s) {
  const std::string which =
      "descriptor " + std::to_string(s.descriptor) + " (" + in_quotes(s.name) + ") of the service manager ";
  switch (-error) {
    case EBADF: return status::failed_precondition(which + "is not open: it was closed after the start");
    case ENOTSOCK:
    case EPROTOTYPE:
    case EAFNOSUPPORT:
      return status::invalid_argument(
          which + "is not a TCP or UNIX stream socket: set ListenStream= in the socket unit");
    case EINVAL:
      return status::invalid_argument(which + "is not a listening socket: set Accept=no in the socket unit");
    default: return stream_error(error, which + "cannot be used as a listener");
  }
}

}  // namespace coracle::net
