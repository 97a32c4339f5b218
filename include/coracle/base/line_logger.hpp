// line_logger: a logger that writes lines to a file or a pipe, as text, JSON or logfmt.
#pragma once

#include "coracle/base/log.hpp"
#include "coracle/base/result.hpp"
#include "coracle/base/status.hpp"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace coracle {

/// How a line_logger writes a line.
enum class log_format : unsigned char {
  /// "coracle: <level>: <message>", with fields and trace ids behind the message as key=value. The message is
  /// written as it is.
  text,
  /// One JSON object for each line, for log collectors. Its members: `time` (RFC 3339, UTC, microseconds),
  /// `level`, `room`, `message` (absent if empty); `trace_id`, `span_id` and `trace_flags` in lower-case
  /// hexadecimal digits if the line belongs to a trace; then the fields.
  json,
  /// The same as key=value pairs; the message is `msg`. Values with blanks, quotes or "=" are quoted as in
  /// JSON.
  logfmt,
};

/// Returns the format of this name: "text", "json" or "logfmt"; nothing if there is none.
std::optional<log_format> log_format_of(std::string_view name) noexcept;

/// Writes each line by one write to a file descriptor or a FILE, from any thread. Lines of JSON and logfmt
/// have at most 4,096 bytes, of which the message may take 2,048 and a value 512: what is longer is cut and
/// ends with "...". Fields that do not fit are counted in the field `dropped`. In keys, each byte but
/// letters, digits, "_", "-" and "." becomes "_", and a field with a name from above, such as `level`, gets a
/// "_" behind it. Text that is not UTF-8 has U+FFFD in place of each wrong byte; control characters are
/// escaped.
///
/// A line that cannot be written is lost and counted. The write blocks the calling thread if the reader of a
/// pipe is slow. It raises SIGPIPE if the reader of a pipe has ended, as other writes to stderr do.
class line_logger final : public record_logger {
 public:
  /// Writes to a descriptor, such as STDERR_FILENO. It is borrowed and must stay open.
  line_logger(int descriptor, log_format format) noexcept;
  /// Writes to a FILE, and flushes it after each line. It is borrowed and must stay open.
  line_logger(std::FILE* file, log_format format) noexcept;
  ~line_logger() override;

  /// Makes a logger that appends to the file at `path`, which is created with the permissions 0640 if there
  /// is none. Returns the status of the error if it cannot be opened.
  [[nodiscard]] static result<std::unique_ptr<line_logger>> open(std::string path, log_format format);
  /// Opens the path again, after a tool such as logrotate has renamed the file. Lines of other threads go to
  /// the old file until then, and none is lost. If it fails, the old file remains in use. Only for loggers
  /// that open() made; FAILED_PRECONDITION otherwise.
  status reopen();
  /// Returns the number of lines that could not be written.
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }

 protected:
  void accept(const log_record& line) noexcept override;

 private:
  struct pieces;  // private: src/base/line_logger.cpp
  [[nodiscard]] bool write_all(const pieces& of) noexcept;

  const log_format format_;
  int descriptor_ = -1;
  std::FILE* file_ = nullptr;  // null: the descriptor is used
  std::string path_;  // empty: the descriptor is borrowed
  std::atomic<std::uint64_t> lost_{0};
};

}  // namespace coracle
