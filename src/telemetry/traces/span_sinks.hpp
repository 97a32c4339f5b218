// span_sinks: who gets the finished spans of a runtime.
#pragma once

#include "coracle/telemetry/finished_span.hpp"

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace coracle::telemetry_internal {

// Any thread.
class span_sinks {
 public:
  void add(std::shared_ptr<span_sink> s) {
    const std::lock_guard lock(mutex_);
    all_.push_back(std::move(s));
  }
  [[nodiscard]] std::vector<std::shared_ptr<span_sink>> all() const {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<span_sink>> all_;
};

}  // namespace coracle::telemetry_internal
