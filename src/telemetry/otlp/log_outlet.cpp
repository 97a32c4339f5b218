#include "telemetry/otlp/log_outlet.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/base/fan_out_logger.hpp"
#include "coracle/telemetry/otlp_logger.hpp"
#include "telemetry/otlp/encode_logs.hpp"

#include <utility>

namespace coracle::telemetry_internal {

void log_outlet::add(const log_record& line) noexcept {
  std::string record;
  bool whole = base::if_memory_allows([&] { record = encode_log_record(line); });
  const std::lock_guard lock(mutex_);
  for (log_queue* const q : queues_) {
    std::string copy;
    const bool copied = whole && base::if_memory_allows([&] { copy = record; });
    if (copied) q->add(std::move(copy));
    else q->add_lost(1);
  }
  if (!queues_.empty()) return;
  whole = whole && early_.size() < early_max &&
          base::if_memory_allows([&] { early_.push_back(std::move(record)); });
  if (!whole) ++early_lost_;
}

void log_outlet::connect(log_queue& to) {
  const std::lock_guard lock(mutex_);
  queues_.push_back(&to);
  to.take(std::exchange(early_, {}));
  to.add_lost(std::exchange(early_lost_, 0));
}

void log_outlet::disconnect(const log_queue& from) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase(queues_, &from);
}

std::vector<otlp_logger*> exporting_loggers(logger& log) {
  if (base::kind_of(log) == base::logger_kind::otlp) return {static_cast<otlp_logger*>(&log)};
  std::vector<otlp_logger*> all;
  if (base::kind_of(log) == base::logger_kind::fan_out)
    for (logger* const part : static_cast<fan_out_logger&>(log).loggers()) {
      const std::vector<otlp_logger*> found = exporting_loggers(*part);
      all.insert(all.end(), found.begin(), found.end());
    }
  return all;
}

void log_without_export::pass(logger& to, const log_record& line) noexcept {
  if (base::kind_of(to) == base::logger_kind::otlp) return;
  if (base::kind_of(to) != base::logger_kind::fan_out) return to.write(line);
  if (!to.is_enabled(line.room, line.level)) return;
  for (logger* const part : static_cast<fan_out_logger&>(to).loggers()) pass(*part, line);
}

}  // namespace coracle::telemetry_internal

namespace coracle {

otlp_logger::otlp_logger() : outlet_(std::make_unique<telemetry_internal::log_outlet>()) {
  kind_ = base::logger_kind::otlp;
}
otlp_logger::~otlp_logger() = default;

void otlp_logger::accept(const log_record& line) noexcept { outlet_->add(line); }

}  // namespace coracle
