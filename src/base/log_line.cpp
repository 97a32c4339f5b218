#include "base/log_line.hpp"

#include "base/utf8.hpp"
#include "coracle/base/impl/assert.hpp"
#include "coracle/base/impl/log_parts.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <span>
#include <variant>

namespace coracle::base {

namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";
constexpr std::string_view replacement = "\xef\xbf\xbd";  // U+FFFD
constexpr std::string_view cut = "...";
// What must fit behind the last field: the count of those left out, the ids of text, the end of the object,
// and the line end.
constexpr std::size_t end_bytes = 128;

// A character of text and its bytes. Code `invalid` stands for one byte that is not UTF-8.
struct character {
  static constexpr std::uint32_t invalid = 0xffff'ffff;
  std::uint32_t code;
  std::size_t bytes;
};

// text: not empty. `valid`: how many of its first bytes are UTF-8.
character first_of(std::string_view text, std::size_t valid) noexcept {
  if (valid == 0) return {character::invalid, 1};
  const auto at = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint32_t lead = at(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  std::uint32_t code = lead & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) code = code << 6 | (at(i) & 0x3fu);
  return {code, bytes};
}

// Whether a character could end a line, control a terminal, or reorder what is shown.
bool must_be_escaped(std::uint32_t code) noexcept {
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return true;  // C0, DEL, C1
  if (code == '"' || code == '\\') return true;
  const bool line_end = code == 0x2028 || code == 0x2029;
  const bool direction = code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
                         (code >= 0x2066 && code <= 0x2069);
  return line_end || direction || code == 0xfeff;
}

// What stands for a character that must be escaped, in `room`.
std::string_view escape_of(std::uint32_t code, std::array<char, 6>& room) noexcept {
  switch (code) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: break;
  }
  room = {'\\',
          'u',
          hex_digits[code >> 12 & 15],
          hex_digits[code >> 8 & 15],
          hex_digits[code >> 4 & 15],
          hex_digits[code & 15]};
  return {room.data(), room.size()};
}

bool needs_quotes(std::string_view text) noexcept {
  if (text.empty() || !is_utf8(text)) return true;
  for (std::size_t i = 0; i < text.size();) {
    const character c = first_of(text.substr(i), text.size() - i);
    if (c.code == ' ' || c.code == '=' || must_be_escaped(c.code)) return true;
    i += c.bytes;
  }
  return false;
}

template <std::size_t Bytes>
std::array<char, 2 * Bytes> hex_of(const std::array<std::uint8_t, Bytes>& id) noexcept {
  std::array<char, 2 * Bytes> text;
  for (std::size_t i = 0; i < Bytes; ++i) {
    text[2 * i] = hex_digits[id[i] >> 4];
    text[2 * i + 1] = hex_digits[id[i] & 15];
  }
  return text;
}

template <std::size_t Size>
std::string_view view_of(const std::array<char, Size>& text) noexcept {
  return {text.data(), Size};
}

// The names of what a line has itself. A field of such a name gets a "_" behind it.
bool is_reserved(std::string_view key) noexcept {
  constexpr std::string_view names[] = {"time",     "level",   "room",        "message", "msg",
                                        "trace_id", "span_id", "trace_flags", "dropped"};
  return std::ranges::find(names, key) != std::end(names);
}

}  // namespace

// The callers bound what they add, so that this holds.
void log_line::add(std::string_view ascii) noexcept {
  CORACLE_ASSERT(ascii.size() <= bytes_.size() - size_, "a log line exceeds its limit");
  std::memcpy(bytes_.data() + size_, ascii.data(), ascii.size());
  size_ += ascii.size();
}

void log_line::add_escaped(std::string_view text, std::size_t bytes_max) noexcept {
  const std::size_t end = size_ + bytes_max;
  std::size_t cut_at = size_;  // the last place behind a character where the mark of a cut fits
  std::size_t valid = valid_utf8_bytes(text);
  while (!text.empty()) {
    const character c = first_of(text, valid);
    std::array<char, 6> room;
    std::string_view written = text.substr(0, c.bytes);
    if (c.code == character::invalid) written = replacement;
    else if (must_be_escaped(c.code)) written = escape_of(c.code, room);
    if (size_ + cut.size() <= end) cut_at = size_;
    if (size_ + written.size() > end) {
      size_ = cut_at;
      return add(cut);
    }
    add(written);
    text.remove_prefix(c.bytes);
    valid = valid > 0 ? valid - c.bytes : valid_utf8_bytes(text);
  }
}

void log_line::add_json_text(std::string_view text, std::size_t bytes_max) noexcept {
  add("\"");
  add_escaped(text, bytes_max);
  add("\"");
}

void log_line::add_logfmt_text(std::string_view text, std::size_t bytes_max) noexcept {
  if (needs_quotes(text)) return add_json_text(text, bytes_max);
  add_escaped(text, bytes_max);
}

void log_line::add_key(std::string_view key, bool reserve_names) noexcept {
  for (const char c : key.substr(0, log_key_bytes_max)) {
    const bool allowed = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                         c == '_' || c == '-' || c == '.';
    add(allowed ? std::string_view(&c, 1) : "_");
  }
  if (reserve_names && is_reserved(key)) add("_");
}

// RFC 3339 in UTC, with microseconds: "2026-02-03T04:05:06.000007Z".
void log_line::add_time(const log_record& from) noexcept {
  using namespace std::chrono;
  const auto seconds_of = floor<seconds>(from.time);
  const std::time_t whole = system_clock::to_time_t(seconds_of);
  std::tm parts{};
  ::gmtime_r(&whole, &parts);
  char text[64];
  std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  const auto us = duration_cast<microseconds>(from.time - seconds_of).count();
  size += static_cast<std::size_t>(
      std::snprintf(text + size, sizeof text - size, ".%06lldZ", static_cast<long long>(us)));
  add({text, size});
}

void log_line::add_ids(const log_trace& trace, bool json) noexcept {
  const auto add_id = [&](std::string_view key, std::string_view id) {
    add(json ? ",\"" : " ");
    add(key);
    add(json ? "\":\"" : "=");
    add(id);
    if (json) add("\"");
  };
  add_id("trace_id", view_of(hex_of(trace.trace)));
  add_id("span_id", view_of(hex_of(trace.span)));
  add_id("trace_flags", view_of(hex_of(std::array{trace.flags})));
}

void log_line::add_value(const log_value& value, bool json) noexcept {
  const auto add_text = [&](std::string_view text) {
    if (json) add_json_text(text, log_value_bytes_max);
    else add_logfmt_text(text, log_value_bytes_max);
  };
  char number[32];
  const auto add_number = [&](auto n) {
    add({number,
         static_cast<std::size_t>(std::to_chars(std::begin(number), std::end(number), n).ptr - number)});
  };
  const log_value::alternatives& v = value.get();
  if (const auto* text = std::get_if<std::string_view>(&v)) add_text(*text);
  else if (const auto* b = std::get_if<bool>(&v)) add(*b ? "true" : "false");
  else if (const auto* i = std::get_if<long long>(&v)) add_number(*i);
  else if (const auto* u = std::get_if<unsigned long long>(&v)) add_number(*u);
  else if (const auto* d = std::get_if<double>(&v)) {
    if (std::isfinite(*d)) add_number(*d);
    else add_text(std::isnan(*d) ? "nan" : *d > 0 ? "inf" : "-inf");  // JSON has no such numbers
  } else {
    add_text({number, write_duration(std::get<duration>(v), number)});
  }
}

void log_line::add_fields(const log_record& from, bool json) noexcept {
  // The longest field: a key and its "_", a text, and what separates them.
  constexpr std::size_t field_bytes_max = log_key_bytes_max + log_value_bytes_max + 8;
  std::size_t dropped = 0;
  for (const log_field& field : from.fields) {
    if (field.key().empty()) continue;
    if (bytes_.size() - size_ < field_bytes_max + end_bytes) {
      ++dropped;
      continue;
    }
    add(json ? ",\"" : " ");
    add_key(field.key(), true);
    add(json ? "\":" : "=");
    add_value(field.value(), json);
  }
  if (dropped == 0) return;
  char number[20];
  add(json ? ",\"dropped\":" : " dropped=");
  add({number,
       static_cast<std::size_t>(std::to_chars(std::begin(number), std::end(number), dropped).ptr - number)});
}

void log_line::format_json(const log_record& from) noexcept {
  size_ = 0;
  add("{\"time\":\"");
  add_time(from);
  add("\",\"level\":\"");
  add(to_string(from.level));
  add("\",\"room\":\"");
  add(to_string(from.room));
  add("\"");
  if (!from.text.empty()) {
    add(",\"message\":");
    add_json_text(from.text, log_text_bytes_max);
  }
  if (from.trace) add_ids(*from.trace, true);
  add_fields(from, true);
  add("}\n");
}

void log_line::format_logfmt(const log_record& from) noexcept {
  size_ = 0;
  add("time=");
  add_time(from);
  add(" level=");
  add(to_string(from.level));
  add(" room=");
  add(to_string(from.room));
  if (!from.text.empty()) {
    add(" msg=");
    add_logfmt_text(from.text, log_text_bytes_max);
  }
  if (from.trace) add_ids(*from.trace, false);
  add_fields(from, false);
  add("\n");
}

void log_line::format_fields(const log_record& from) noexcept {
  size_ = 0;
  add_fields(from, false);
  if (from.trace) add_ids(*from.trace, false);
}

}  // namespace coracle::base
