// The logger that a runtime carries. Libraries must not write to stderr on their own: everything
// that the library has to say goes through one of these.
#pragma once

#include <string_view>

namespace coracle {

enum class log_level : unsigned char { debug, info, warning, error };

// Called from any loop's thread, possibly from several at once: implementations lock.
class logger {
 public:
  virtual ~logger() = default;
  // `message` is one line without a line end, borrowed for the call.
  virtual void write(log_level level, std::string_view message) noexcept = 0;
  [[nodiscard]] bool wants(log_level level) const noexcept { return level >= least_; }
  void set_least(log_level least) noexcept { least_ = least; }

 private:
  log_level least_ = log_level::info;
};

// Writes "coracle: <level>: <message>" lines to stderr; the least level comes from CORACLE_LOG
// (debug, info, warning, error; default warning). Lives for the whole process.
logger& stderr_logger() noexcept;

}  // namespace coracle
