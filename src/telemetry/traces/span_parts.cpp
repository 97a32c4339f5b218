#include "telemetry/traces/span_parts.hpp"

#include "base/utf8.hpp"

#include <algorithm>
#include <utility>

namespace coracle::telemetry_internal {

std::string bounded_text(std::string_view text, std::size_t bytes_max) {
  if (text.size() > bytes_max) {
    std::size_t end = bytes_max;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    text = text.substr(0, end);
  }
  if (base::is_utf8(text)) [[likely]]
    return std::string(text);
  std::string kept;
  kept.reserve(text.size());
  while (true) {
    const std::size_t valid = base::valid_utf8_bytes(text);
    kept.append(text.substr(0, valid));
    if (valid == text.size()) return kept;
    kept.push_back('?');
    text.remove_prefix(valid + 1);
  }
}

namespace {

// Values that the library makes are short and valid: their strings are moved, not copied.
void bound(std::string& value, const span_limits& within) {
  if (value.size() > within.value_bytes || !base::is_utf8(value))
    value = bounded_text(value, within.value_bytes);
}

void bound(attribute_value& value, const span_limits& within) {
  if (auto* const text = std::get_if<std::string>(&value)) return bound(*text, within);
  auto* const list = std::get_if<std::vector<std::string>>(&value);
  if (!list) return;
  if (list->size() > span_limits::list_values_max) list->resize(span_limits::list_values_max);
  for (std::string& text : *list) bound(text, within);
}

}  // namespace

void set_attribute(attribute_list& to, std::uint32_t& dropped, std::string_view key, attribute_value value,
                   const span_limits& within) {
  if (key.empty()) return;
  bound(value, within);
  std::string name = bounded_text(key, span_limits::name_bytes_max);
  const auto at = std::ranges::find(to, name, &attribute_list::value_type::first);
  if (at != to.end()) at->second = std::move(value);
  else if (to.size() >= within.attributes) ++dropped;
  else to.emplace_back(std::move(name), std::move(value));
}

void add_new_attribute(finished_span& to, std::string_view key, attribute_value value,
                       const span_limits& within) {
  bound(value, within);
  if (to.attributes.size() >= within.attributes) ++to.dropped_attributes;
  else to.attributes.emplace_back(key, std::move(value));
}

span_event* add_event(finished_span& to, std::string_view name, std::chrono::system_clock::time_point time,
                      const span_limits& within) {
  if (to.events.size() >= within.events) {
    ++to.dropped_events;
    return nullptr;
  }
  span_event& made = to.events.emplace_back();
  made.name = bounded_text(name, span_limits::name_bytes_max);
  made.time = std::max(time, to.events.size() > 1 ? to.events[to.events.size() - 2].time : to.start);
  return &made;
}

span_link* add_link(finished_span& to, const trace_context& other, bool remote, const span_limits& within) {
  if (to.links.size() >= within.links) {
    ++to.dropped_links;
    return nullptr;
  }
  span_link& made = to.links.emplace_back();
  made.trace = other.trace();
  made.span = other.span();
  made.state = other.state();
  made.flags = other.flags().bits();
  made.remote = remote;
  return &made;
}

void set_error(finished_span& to, std::string_view description) {
  to.outcome = span_outcome::error;
  to.description = bounded_text(description, span_limits::description_bytes_max);
}

}  // namespace coracle::telemetry_internal
