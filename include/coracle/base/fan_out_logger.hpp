// fan_out_logger: a logger that passes each line to several others.
#pragma once

#include "coracle/base/log.hpp"

#include <span>
#include <vector>

namespace coracle {

/// Passes each line to several loggers, such as one for stderr and one that exports lines:
///
///   coracle::fan_out_logger both({&coracle::stderr_logger(), &exported});
///   coracle::runtime runtime({.log = &both});
///
/// The loggers must outlive it. Each applies its own minimum levels, after those of the fan-out logger, which
/// begin as the lowest of theirs: a level that is lowered later must be lowered in both.
class fan_out_logger final : public record_logger {
 public:
  /// Passes lines to `to`, in this order. Throws usage_error if one is null.
  explicit fan_out_logger(std::vector<logger*> to);
  /// Returns the loggers.
  [[nodiscard]] std::span<logger* const> loggers() const noexcept { return to_; }

 protected:
  void accept(const log_record& line) noexcept override;

 private:
  const std::vector<logger*> to_;
};

}  // namespace coracle
