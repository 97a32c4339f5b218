#include "server/handover/protocol.hpp"

#include "runtime/kernel/packet_socket.hpp"

#include <array>
#include <charconv>
#include <utility>

namespace coracle::server_internal::handover_protocol {

namespace {

using kind = message::kind;

// In the order of the kinds.
constexpr std::array<std::string_view, 8> words{"take",    "socket", "control", "end",
                                                "refused", "ready",  "go",      "done"};
constexpr std::string_view of_server = "own ";
constexpr std::string_view of_service_manager = "manager ";
constexpr std::size_t text_bytes_max = runtime_internal::kernel::packet_bytes_max - 64;

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool parse_name(std::string_view text, socket_name& into) {
  into.of_manager = text.starts_with(of_service_manager);
  if (!into.of_manager && !text.starts_with(of_server)) return false;
  into.text = text.substr((into.of_manager ? of_service_manager : of_server).size());
  return true;
}

bool parse_indices(std::string_view text, std::vector<std::size_t>& into) {
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::optional<std::uint64_t> index = parse_number(text.substr(0, space));
    if (!index || *index >= sockets_max || (!into.empty() && *index <= into.back())) return false;
    into.push_back(static_cast<std::size_t>(*index));
    if (space + 1 == text.size()) return false;  // ends with a space
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return true;
}

}  // namespace

std::string write(const message& m) {
  std::string text(words.at(static_cast<std::size_t>(m.type)));
  switch (m.type) {
    case kind::take:
    case kind::end: text.append(" ").append(std::to_string(m.number)); break;
    case kind::socket:
      text.append(" ").append(m.name.of_manager ? of_service_manager : of_server);
      text.append(m.name.text, 0, text_bytes_max);
      break;
    case kind::refused: text.append(" ").append(m.reason, 0, text_bytes_max); break;
    case kind::ready:
      for (const std::size_t i : m.indices) text.append(" ").append(std::to_string(i));
      break;
    case kind::control:
    case kind::go:
    case kind::done: break;
  }
  return text;
}

std::optional<message> parse(std::string_view text) {
  const std::size_t space = text.find(' ');
  const std::string_view word = text.substr(0, space);
  const std::string_view rest = space == std::string_view::npos ? "" : text.substr(space + 1);
  message m;
  std::size_t i = 0;
  while (i < words.size() && words[i] != word) ++i;
  if (i == words.size()) return std::nullopt;
  m.type = static_cast<kind>(i);
  switch (m.type) {
    case kind::take:
    case kind::end: {
      const std::optional<std::uint64_t> number = parse_number(rest);
      if (!number) return std::nullopt;
      m.number = *number;
      return m;
    }
    case kind::socket: return parse_name(rest, m.name) ? std::optional(std::move(m)) : std::nullopt;
    case kind::refused: m.reason = rest; return m;
    case kind::ready:
      if (space != std::string_view::npos && rest.empty()) return std::nullopt;
      return parse_indices(rest, m.indices) ? std::optional(std::move(m)) : std::nullopt;
    case kind::control:
    case kind::go:
    case kind::done: break;
  }
  return space == std::string_view::npos ? std::optional(std::move(m)) : std::nullopt;
}

}  // namespace coracle::server_internal::handover_protocol
