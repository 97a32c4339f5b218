#include "coracle/telemetry/memory_span_sink.hpp"

#include "base/if_memory_allows.hpp"

#include <utility>

namespace coracle {

std::vector<finished_span> memory_span_sink::take_spans() {
  const std::lock_guard lock(mutex_);
  return std::exchange(spans_, {});
}

void memory_span_sink::take(std::vector<finished_span>&& batch) noexcept {
  const std::lock_guard lock(mutex_);
  for (finished_span& s : batch) {
    const bool kept =
        spans_.size() < spans_max_ && base::if_memory_allows([&] { spans_.push_back(std::move(s)); });
    if (!kept) ++dropped_;
  }
}

std::uint64_t memory_span_sink::dropped() const noexcept {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

}  // namespace coracle
