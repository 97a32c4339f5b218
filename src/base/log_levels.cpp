// The names of levels and rooms, and minimum levels as text.
#include "base/printable.hpp"
#include "coracle/base/log.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

namespace coracle {

namespace {

constexpr std::string_view level_names[] = {"debug", "info", "warning", "error", "none"};
constexpr std::string_view room_names[] = {"application", "access",    "runtime",   "net",
                                           "tls",         "transport", "client",    "server",
                                           "services",    "console",   "telemetry", "adapters"};
static_assert(std::size(room_names) == log_rooms.size());

template <class Enumeration>
std::optional<Enumeration> found_in(std::span<const std::string_view> names, std::string_view name) noexcept {
  const auto at = std::ranges::find(names, name);
  if (at == names.end()) return std::nullopt;
  return static_cast<Enumeration>(at - names.begin());
}

std::string all_of(std::span<const std::string_view> names) {
  std::string text(names.front());
  for (const std::string_view name : names.subspan(1, names.size() - 2)) text.append(", ").append(name);
  return text.append(" or ").append(names.back());
}

std::string_view without_blanks(std::string_view text) noexcept {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// The minimum levels that a text sets; the rooms that it does not name have none.
using levels_by_room = std::array<std::optional<log_level>, log_rooms.size()>;

status apply_part(std::string_view part, levels_by_room& to) {
  const auto equals = part.find('=');
  const std::string_view name = without_blanks(equals == part.npos ? part : part.substr(equals + 1));
  const auto level = log_level_of(name);
  if (!level) {
    return status::invalid_argument("no log level: \"" + base::printable(name) + "\": it must be " +
                                    all_of(level_names));
  }
  if (equals == part.npos) {
    to.fill(level);
    return {};
  }
  const std::string_view room_name = without_blanks(part.substr(0, equals));
  const auto room = log_room_of(room_name);
  if (!room) {
    return status::invalid_argument("no room of the log: \"" + base::printable(room_name) +
                                    "\": it must be " + all_of(room_names));
  }
  to[static_cast<std::size_t>(*room)] = level;
  return {};
}

}  // namespace

std::string_view to_string(log_level level) noexcept { return level_names[static_cast<std::size_t>(level)]; }
std::string_view to_string(log_room room) noexcept { return room_names[static_cast<std::size_t>(room)]; }
std::optional<log_level> log_level_of(std::string_view name) noexcept {
  return found_in<log_level>(level_names, name);
}
std::optional<log_room> log_room_of(std::string_view name) noexcept {
  return found_in<log_room>(room_names, name);
}

status logger::set_min_levels(std::string_view levels) {
  levels_by_room set;
  for (std::string_view rest = levels;;) {
    const auto comma = rest.find(',');
    if (status s = apply_part(rest.substr(0, comma), set); !s.ok()) return s;
    if (comma == rest.npos) break;
    rest.remove_prefix(comma + 1);
  }
  for (const log_room room : log_rooms)
    if (const auto level = set[static_cast<std::size_t>(room)]) set_min_level(room, *level);
  return {};
}

std::string logger::min_levels() const {
  std::array<std::size_t, std::size(level_names)> rooms_of{};
  for (const log_room room : log_rooms) ++rooms_of[static_cast<std::size_t>(min_level(room))];
  const auto most = static_cast<log_level>(std::ranges::max_element(rooms_of) - rooms_of.begin());
  std::string text(to_string(most));
  for (const log_room room : log_rooms) {
    const log_level level = min_level(room);
    if (level != most) text.append(",").append(to_string(room)).append("=").append(to_string(level));
  }
  return text;
}

}  // namespace coracle
