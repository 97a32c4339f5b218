// A log that a test reads: one line per message, from any thread.
#pragma once

#include "coracle/base/log.hpp"

#include <mutex>
#include <string>
#include <string_view>

namespace coracle::testing_support {

class kept_log final : public logger {
 public:
  [[nodiscard]] std::string text() const {
    const std::lock_guard held(mutex_);
    return text_;
  }

 private:
  void record(log_level, std::string_view message) noexcept override {
    const std::lock_guard held(mutex_);
    text_.append(message).append("\n");
  }
  mutable std::mutex mutex_;
  std::string text_;
};

}  // namespace coracle::testing_support
