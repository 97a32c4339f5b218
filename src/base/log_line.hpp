// log_line: a log line in a format for programs, JSON or logfmt, in memory of its own.
#pragma once

#include "coracle/base/log_record.hpp"

#include <array>
#include <cstddef>
#include <string_view>

namespace coracle::base {

// The limits of one line. What exceeds them is cut, and the text or the value then ends with "..."; fields
// that do not fit are left out and counted in the field `dropped`. All count bytes of the line, in which a
// byte of text may take six.
//
// A write of 4,096 bytes or less to a pipe is atomic (PIPE_BUF of pipe(7)), so the lines of several processes
// that share a pipe do not mix.
inline constexpr std::size_t log_line_bytes_max = 4096;
inline constexpr std::size_t log_text_bytes_max = 2048;
inline constexpr std::size_t log_value_bytes_max = 512;
inline constexpr std::size_t log_key_bytes_max = 64;

// Formats one line without allocating. Text may have any bytes: those that are not UTF-8 become U+FFFD, and
// control characters, line separators and characters that change the direction of text are escaped, so that
// no text can begin another line, end a string, or control a terminal.
class log_line {
 public:
  // One JSON object (RFC 8259) and a line end.
  void format_json(const log_record& from) noexcept;
  // key=value pairs and a line end. A value with blanks, quotes, "=" or escapes is quoted as in JSON.
  void format_logfmt(const log_record& from) noexcept;
  // The fields and the trace ids of a line as key=value pairs, each with a blank before it and without a line
  // end: what text has in place of fields.
  void format_fields(const log_record& from) noexcept;

  [[nodiscard]] std::string_view bytes() const noexcept { return {bytes_.data(), size_}; }

 private:
  void add(std::string_view ascii) noexcept;
  void add_time(const log_record& from) noexcept;
  void add_escaped(std::string_view text, std::size_t bytes_max) noexcept;
  void add_json_text(std::string_view text, std::size_t bytes_max) noexcept;
  void add_logfmt_text(std::string_view text, std::size_t bytes_max) noexcept;
  void add_key(std::string_view key, bool reserve_names) noexcept;
  void add_ids(const log_trace& trace, bool json) noexcept;
  void add_value(const log_value& value, bool json) noexcept;
  void add_fields(const log_record& from, bool json) noexcept;

  std::array<char, log_line_bytes_max> bytes_;  // not initialised: size_ says how much is valid
  std::size_t size_ = 0;
};

}  // namespace coracle::base
