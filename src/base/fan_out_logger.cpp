#include "coracle/base/fan_out_logger.hpp"

#include "coracle/base/usage_error.hpp"

#include <algorithm>
#include <utility>

namespace coracle {

fan_out_logger::fan_out_logger(std::vector<logger*> to) : to_(std::move(to)) {
  kind_ = base::logger_kind::fan_out;
  if (std::ranges::find(to_, nullptr) != to_.end())
    base::throw_usage_error("fan_out_logger: a logger is null: pass loggers that outlive it");
  for (const log_room room : log_rooms) {
    log_level lowest = log_level::error;
    for (const logger* one : to_) lowest = std::min(lowest, one->min_level(room));
    set_min_level(room, lowest);
  }
}

void fan_out_logger::accept(const log_record& line) noexcept {
  for (logger* const one : to_) one->write(line);
}

}  // namespace coracle
