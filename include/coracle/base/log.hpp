// log: the logger that a runtime holds. The library does not write to stderr on its own: all of its messages
// go through a logger.
#pragma once

#include <atomic>
#include <string_view>

namespace coracle {

/// The severity of a log line, lowest first.
enum class log_level : unsigned char { debug, info, warning, error };

/// Receives log lines. To define where they go, derive from this class, override record(), and pass the
/// object to runtime_options::log or sim::world_options::log; it must outlive the runtime or the
/// world. A line below the minimum level costs one relaxed load.
///
/// The library logs events in the life of the process and of connections. Of calls, it logs only defects: a
/// handler or an interceptor that throws or returns nothing. These lines are rate-limited.
class logger {
 public:
  logger() noexcept = default;
  logger(const logger&) = delete;
  logger& operator=(const logger&) = delete;
  virtual ~logger() = default;

  /// Writes one line, if its level is at least the minimum level. Any thread may call this. `message` has no
  /// line end and is borrowed for the duration of the call. Callers for which the message is expensive to
  /// build check is_enabled() first.
  void write(log_level level, std::string_view message) noexcept {
    if (is_enabled(level)) record(level, message);
  }
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
  std::atomic<log_level> min_level_{log_level::info};
};

/// Returns "debug", "info", "warning" or "error".
std::string_view to_string(log_level level) noexcept;

/// Returns the logger that writes lines of the form "coracle: <level>: <message>" to stderr. The environment
/// variable CORACLE_LOG (debug, info, warning or error) sets the minimum level; default: warning. The logger
/// lives until the process ends.
logger& stderr_logger() noexcept;

}  // namespace coracle
