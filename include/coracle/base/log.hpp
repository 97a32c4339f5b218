// log: the logger that a runtime holds. The library does not write to stderr on its own: all of its messages
// go through a logger.
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

namespace coracle {

/// The severity of a log line, lowest first.
enum class log_level : unsigned char {
  debug,    ///< details, for finding a fault
  info,     ///< events of normal operation
  warning,  ///< the program continues, but an operator should know
  error,    ///< work was lost, or a defect of the program
};

/// @cond
namespace base {

// Append the text of one value to a log line.
void append_to_line(std::string& line, long long value);
void append_to_line(std::string& line, unsigned long long value);
void append_to_line(std::string& line, double value);
void append_to_line(std::string& line, std::chrono::nanoseconds value);

template <class T>
void append_to_line(std::string& line, const T& part) {
  if constexpr (std::is_pointer_v<T> && std::convertible_to<const T&, std::string_view>) {
    line += part ? std::string_view(part) : std::string_view("(null)");
  } else if constexpr (std::convertible_to<const T&, std::string_view>) {
    line += std::string_view(part);
  } else if constexpr (std::same_as<T, bool>) {
    line += part ? "true" : "false";
  } else if constexpr (std::same_as<T, char>) {
    line += part;
  } else if constexpr (std::signed_integral<T>) {
    append_to_line(line, static_cast<long long>(part));
  } else if constexpr (std::unsigned_integral<T>) {
    append_to_line(line, static_cast<unsigned long long>(part));
  } else if constexpr (std::floating_point<T>) {
    append_to_line(line, static_cast<double>(part));
  } else if constexpr (std::convertible_to<const T&, std::chrono::nanoseconds>) {
    append_to_line(line, std::chrono::nanoseconds(part));
  } else if constexpr (requires { std::string_view(part.to_string()); }) {
    line += std::string_view(part.to_string());
  } else if constexpr (requires { std::string_view(to_string(part)); }) {
    line += std::string_view(to_string(part));
  } else if constexpr (std::invocable<const T&>) {
    append_to_line(line, part());
  } else {
    static_assert(std::is_void_v<T>,
                  "a log line takes text, numbers, durations, functions that return one "
                  "of these, and types with to_string()");
  }
}

}  // namespace base
/// @endcond

/// Receives log lines. To define where they go, derive from this class, override record(), and pass the
/// object to runtime_options::log or sim::world_options::log; it must outlive the runtime or the
/// world. A line below the minimum level costs one relaxed load.
///
/// The library logs events in the life of the process and of connections. Of calls, it logs only defects: a
/// handler or an interceptor that throws or returns nothing. These lines are rate-limited.
class logger {
 public:
  /// Makes a logger whose minimum level is info.
  logger() noexcept = default;
  logger(const logger&) = delete;
  logger& operator=(const logger&) = delete;
  virtual ~logger() = default;

  /// Writes one line, if its level is at least the minimum level. Any thread may call this. `message` has no
  /// line end and is borrowed for the duration of the call. Callers for which the message is expensive to
  /// build check is_enabled() first, or use the functions below.
  void write(log_level level, std::string_view message) noexcept {
    if (is_enabled(level)) record(level, message);
  }
  /// @{
  /// Writes one line that consists of `parts`, if its level is at least the minimum level: nothing is
  /// formatted otherwise. Any thread may call these functions.
  ///
  ///     runtime.log().info("accepted ", stream.peer_address(), ", ", count, " connections");
  ///
  /// A part is text, a character, a bool, a number, a duration (written as 1.5s, 20ms, 3us or 17ns), a value
  /// with a member to_string() or a function to_string() in its namespace, or a function without parameters
  /// that returns one of these and is called only if the line is written. Nothing stands between two parts.
  /// If a part throws, or memory is exhausted, the line says so in place of its text.
  template <class... Parts>
  void debug(const Parts&... parts) noexcept {
    write_parts(log_level::debug, parts...);
  }
  template <class... Parts>
  void info(const Parts&... parts) noexcept {
    write_parts(log_level::info, parts...);
  }
  template <class... Parts>
  void warning(const Parts&... parts) noexcept {
    write_parts(log_level::warning, parts...);
  }
  template <class... Parts>
  void error(const Parts&... parts) noexcept {
    write_parts(log_level::error, parts...);
  }
  /// @}
  /// Returns whether lines of this level are written.
  [[nodiscard]] bool is_enabled(log_level level) const noexcept { return level >= min_level(); }
  /// Sets the minimum level. Any thread may call this at any time. Default: info.
  void set_min_level(log_level min_level) noexcept { min_level_.store(min_level, std::memory_order_relaxed); }
  /// Returns the minimum level.
  [[nodiscard]] log_level min_level() const noexcept { return min_level_.load(std::memory_order_relaxed); }

 protected:
  /// Writes one line. Loops and plain threads call this, possibly several at once, so implementations must
  /// lock. It must not block for long, since the loop that logs does nothing else meanwhile.
  virtual void record(log_level level, std::string_view message) noexcept = 0;

 private:
  template <class... Parts>
  void write_parts(log_level level, const Parts&... parts) noexcept {
    if (!is_enabled(level)) return;
    try {
      std::string line;
      (base::append_to_line(line, parts), ...);
      record(level, line);
    } catch (...) {
      record_failure(level);
    }
  }

  void record_failure(log_level level) noexcept;  // call it in a catch block

  std::atomic<log_level> min_level_{log_level::info};
};

/// Returns "debug", "info", "warning" or "error".
std::string_view to_string(log_level level) noexcept;

/// Returns the logger that writes lines of the form "coracle: <level>: <message>" to stderr. The environment
/// variable CORACLE_LOG (debug, info, warning or error) sets the minimum level; default: warning. The logger
/// lives until the process ends.
logger& stderr_logger() noexcept;

}  // namespace coracle
