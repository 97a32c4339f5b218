// log: the logger that a runtime holds. The library does not write to stderr on its own: all of its messages
// go through a logger.
#pragma once

#include "coracle/base/impl/log_parts.hpp"
#include "coracle/base/log_record.hpp"
#include "coracle/base/status.hpp"

#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace coracle {

class bound_log;
class fan_out_logger;
class logger;
class otlp_logger;

/// @cond
namespace base {

// The loggers that exporters have to know. Not found by a dynamic_cast: a user's logger may have been
// compiled without run-time type information.
enum class logger_kind : std::uint8_t { other, fan_out, otlp };
[[nodiscard]] logger_kind kind_of(const logger& l) noexcept;

}  // namespace base
/// @endcond

/// Receives log lines. To define where they go, derive from this class, override record(), and pass the
/// object to runtime_options::log or sim::world_options::log; it must outlive the runtime or the
/// world. A line below the minimum level of its room costs one relaxed load. Ready loggers are line_logger
/// and fan_out_logger; to get more of a line than its text, derive from record_logger.
///
/// The library logs events in the life of the process and of connections. Of calls, it logs only defects: a
/// handler or an interceptor that throws or returns nothing. These lines are rate-limited.
class logger {
 public:
  /// Makes a logger whose minimum level is info in all rooms.
  logger() noexcept { set_min_level(log_level::info); }
  logger(const logger&) = delete;
  logger& operator=(const logger&) = delete;
  virtual ~logger() = default;

  /// @{
  /// Writes one line, if its level is at least the minimum level of its room: by default, of
  /// log_room::application. Any thread may call this. `message` has no line end and is borrowed for the
  /// duration of the call. Callers for which the message is expensive to build check is_enabled() first, or
  /// use the functions below.
  void write(log_level level, std::string_view message) noexcept {
    write(log_room::application, level, message);
  }
  void write(log_room room, log_level level, std::string_view message) noexcept {
    if (is_enabled(room, level)) accept_now(room, level, message, {}, nullptr);
  }
  /// @}
  /// Passes on a line that another logger has got, with its time, if its level is at least the minimum level
  /// of its room.
  void write(const log_record& line) noexcept {
    if (is_enabled(line.room, line.level)) accept(line);
  }
  /// @{
  /// Writes one line that consists of `parts`, if its level is at least the minimum level of
  /// log_room::application: nothing is formatted otherwise. Any thread may call these functions.
  ///
  ///     runtime.log().info("accepted ", stream.peer_address(), ", ", count, " connections");
  ///
  /// A part is text, a character, a bool, a number, a duration (written as 1.5s, 20ms, 3us or 17ns), a value
  /// with a member to_string() or a function to_string() in its namespace, or a function without parameters
  /// that returns one of these and is called only if the line is written. Nothing stands between two parts.
  /// A log_field among the parts becomes a field of the line. If a part throws, or memory is exhausted, the
  /// line says so in place of its text.
  template <class... Parts>
  void debug(const Parts&... parts) noexcept {
    write_parts(log_room::application, log_level::debug, nullptr, parts...);
  }
  template <class... Parts>
  void info(const Parts&... parts) noexcept {
    write_parts(log_room::application, log_level::info, nullptr, parts...);
  }
  template <class... Parts>
  void warning(const Parts&... parts) noexcept {
    write_parts(log_room::application, log_level::warning, nullptr, parts...);
  }
  template <class... Parts>
  void error(const Parts&... parts) noexcept {
    write_parts(log_room::application, log_level::error, nullptr, parts...);
  }
  /// @}
  /// Returns this logger for lines of `room` that belong to a call with the ids `trace`. It must not outlive
  /// the logger.
  [[nodiscard]] bound_log in(log_room room, const std::optional<log_trace>& trace = {}) noexcept;

  /// @{
  /// Returns whether lines of this level are written: by default, those of log_room::application.
  [[nodiscard]] bool is_enabled(log_level level) const noexcept {
    return is_enabled(log_room::application, level);
  }
  [[nodiscard]] bool is_enabled(log_room room, log_level level) const noexcept {
    return level >= min_level(room);
  }
  /// @}
  /// @{
  /// Sets the minimum level of all rooms, or of one. Any thread may call this at any time. Default: info.
  void set_min_level(log_level min_level) noexcept {
    for (auto& one : min_levels_) one.store(min_level, std::memory_order_relaxed);
  }
  void set_min_level(log_room room, log_level min_level) noexcept {
    min_levels_[static_cast<std::size_t>(room)].store(min_level, std::memory_order_relaxed);
  }
  /// @}
  /// Returns the minimum level of a room.
  [[nodiscard]] log_level min_level(log_room room = log_room::application) const noexcept {
    return min_levels_[static_cast<std::size_t>(room)].load(std::memory_order_relaxed);
  }
  /// Sets minimum levels from text, such as "info,tls=debug,client=warning": a level or "none" for all rooms,
  /// and then levels for single rooms, each optional; the later one applies. Any thread may call this at any
  /// time. Returns INVALID_ARGUMENT, which says what is wrong, and changes nothing if a part is not of that
  /// form.
  status set_min_levels(std::string_view levels);
  /// Returns the minimum levels in the form that set_min_levels() takes: the level of most rooms, then the
  /// rooms that differ.
  [[nodiscard]] std::string min_levels() const;

 protected:
  /// Writes one line. Loops and plain threads call this, possibly several at once, so implementations must
  /// lock. It must not block for long, since the loop that logs does nothing else meanwhile. Fields and trace
  /// ids are part of `message`, at its end, as key=value.
  virtual void record(log_level level, std::string_view message) noexcept = 0;
  /// Writes one line that has at least the minimum level of its room. The rules of record() apply. The
  /// default adds fields and trace ids to the text and calls record().
  virtual void accept(const log_record& line) noexcept;

 private:
  friend class bound_log;
  friend class fan_out_logger;
  friend class otlp_logger;
  friend base::logger_kind base::kind_of(const logger& l) noexcept;

  template <class... Parts>
  void write_parts(log_room room, log_level level, const log_trace* trace, const Parts&... parts) noexcept {
    if (!is_enabled(room, level)) return;
    try {
      std::string line;
      log_fields<(std::same_as<Parts, log_field> + ... + 0)> fields;
      (fields.add(line, parts), ...);
      accept_now(room, level, line, fields.all(), trace);
    } catch (...) {
      record_failure(room, level, trace);
    }
  }

  // Divides the parts of a line into its text and its fields.
  template <std::size_t Count>
  class log_fields {
   public:
    template <class T>
    void add(std::string& line, const T& part) {
      if constexpr (std::same_as<T, log_field>) fields_[count_++] = part;
      else base::append_to_line(line, part);
    }
    [[nodiscard]] std::span<const log_field> all() noexcept { return fields_; }

   private:
    std::array<log_field, Count> fields_;
    std::size_t count_ = 0;
  };

  void accept_now(log_room room, log_level level, std::string_view text, std::span<const log_field> fields,
                  const log_trace* trace) noexcept;
  void record_failure(log_room room, log_level level, const log_trace* trace) noexcept;  // in a catch block

  std::array<std::atomic<log_level>, log_rooms.size()> min_levels_;
  base::logger_kind kind_ = base::logger_kind::other;
};

/// @cond
inline base::logger_kind base::kind_of(const logger& l) noexcept { return l.kind_; }
/// @endcond

/// A logger together with the room and the trace ids of the lines that are written through it. A small value;
/// it must not outlive the logger. Any thread may use it.
class bound_log {
 public:
  /// Binds `to` for lines of `room`, with the ids `trace` if there are any.
  bound_log(logger& to, log_room room, const std::optional<log_trace>& trace = {}) noexcept
      : to_(&to), room_(room), trace_(trace) {}

  /// Writes one line, if its level is at least the minimum level of the room. See logger::write().
  void write(log_level level, std::string_view message) noexcept {
    if (is_enabled(level)) to_->accept_now(room_, level, message, {}, ids());
  }
  /// Writes one line with fields. See logger::write().
  void write(log_level level, std::string_view message, std::span<const log_field> fields) noexcept {
    if (is_enabled(level)) to_->accept_now(room_, level, message, fields, ids());
  }
  /// @{
  /// Writes one line that consists of `parts`. See logger::info().
  template <class... Parts>
  void debug(const Parts&... parts) noexcept {
    to_->write_parts(room_, log_level::debug, ids(), parts...);
  }
  template <class... Parts>
  void info(const Parts&... parts) noexcept {
    to_->write_parts(room_, log_level::info, ids(), parts...);
  }
  template <class... Parts>
  void warning(const Parts&... parts) noexcept {
    to_->write_parts(room_, log_level::warning, ids(), parts...);
  }
  template <class... Parts>
  void error(const Parts&... parts) noexcept {
    to_->write_parts(room_, log_level::error, ids(), parts...);
  }
  /// @}
  /// Returns whether lines of this level are written.
  [[nodiscard]] bool is_enabled(log_level level) const noexcept { return to_->is_enabled(room_, level); }
  /// Returns the ids of the call; nothing if it has none.
  [[nodiscard]] const std::optional<log_trace>& trace() const noexcept { return trace_; }

 private:
  [[nodiscard]] const log_trace* ids() const noexcept { return trace_ ? &*trace_ : nullptr; }
  logger* to_;
  log_room room_;
  std::optional<log_trace> trace_;
};

inline bound_log logger::in(log_room room, const std::optional<log_trace>& trace) noexcept {
  return {*this, room, trace};
}

/// A logger that gets lines as data. Derive from it and override accept().
class record_logger : public logger {
 protected:
  void accept(const log_record& line) noexcept override = 0;

 private:
  void record(log_level level, std::string_view message) noexcept final;
};

/// Returns the logger that writes lines to stderr, of the form "coracle: <level>: <message>" or in the format
/// that the environment variable CORACLE_LOG_FORMAT selects: text, json or logfmt (see line_logger). The
/// variable CORACLE_LOG sets the minimum levels as logger::set_min_levels() does; default: warning. If a
/// variable has another value, the first line says so. The logger lives until the process ends.
logger& stderr_logger() noexcept;

}  // namespace coracle
