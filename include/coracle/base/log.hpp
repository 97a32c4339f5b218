// The logger that a runtime carries. Libraries must not write to stderr on their own: everything
// that the library has to say goes through one of these.
#pragma once

#include <atomic>
#include <string_view>

namespace coracle {

enum class log_level : unsigned char { debug, info, warning, error };

// Where log lines go: derive from it and override record(), then hand it to runtime_options::log_to() or
// sim::world_options::log_to(); it must outlive them. Lines below the least level cost one relaxed load.
// The library logs events of a process's and a connection's life. Of calls it logs defects alone: a handler or an
// interceptor that throws or gives nothing, rate-limited.
class logger {
 public:
  logger() noexcept = default;
  logger(const logger&) = delete;
  logger& operator=(const logger&) = delete;
  virtual ~logger() = default;

  // Any thread. `message` is one line without a line end, borrowed for the call; who has to build an
  // expensive one asks wants() first.
  void write(log_level level, std::string_view message) noexcept {
    if (wants(level)) record(level, message);
  }
  [[nodiscard]] bool wants(log_level level) const noexcept { return level >= least(); }
  // Any thread, at any time. Default: info.
  void set_least(log_level least) noexcept { least_.store(least, std::memory_order_relaxed); }
  [[nodiscard]] log_level least() const noexcept { return least_.load(std::memory_order_relaxed); }

 protected:
  // Called from any loop's thread and plain ones, possibly from several at once: implementations lock. Must
  // not block for long, since the loop that logs does nothing else meanwhile.
  virtual void record(log_level level, std::string_view message) noexcept = 0;

 private:
  std::atomic<log_level> least_{log_level::info};
};

// "debug", "info", "warning", "error".
std::string_view to_string(log_level level) noexcept;

// Writes "coracle: <level>: <message>" lines to stderr; the least level comes from CORACLE_LOG
// (debug, info, warning, error; default warning). Lives for the whole process.
logger& stderr_logger() noexcept;

}  // namespace coracle
