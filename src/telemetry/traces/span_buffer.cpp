#include "telemetry/traces/span_buffer.hpp"

#include "base/if_memory_allows.hpp"
#include "coro/post_function.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace coracle::telemetry_internal {

span_buffer::span_buffer(std::shared_ptr<span_sinks> to, loop& owner_loop) noexcept
    : to_(std::move(to)), loop_(owner_loop) {
  timer::fire = [](coro::timer& t) noexcept { static_cast<span_buffer&>(t).flush(); };
}

span_buffer::~span_buffer() {
  if (timer::holder) loop_.disarm(*this);
}

void span_buffer::add(finished_span&& s) noexcept {
  ++finished_;
  const bool kept =
      waiting_.size() < waiting_max && base::if_memory_allows([&] { waiting_.push_back(std::move(s)); });
  if (!kept) {
    ++dropped_;
    return;
  }
  if (waiting_.size() >= batch_max && !posted_) {
    posted_ = base::if_memory_allows([&] {
      coro::post_function(loop_, [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        self->posted_ = false;
        self->flush();
      });
    });
  } else if (!timer::holder) {
    loop_.arm(*this, deadline_after(loop_.now(), pause));
  }
}

void span_buffer::flush() noexcept {
  if (timer::holder) loop_.disarm(*this);
  std::vector<finished_span> left = std::exchange(waiting_, {});
  if (left.empty()) return;
  const std::size_t finished = left.size();
  std::size_t given = 0;
  base::if_memory_allows([&] {
    const auto sinks = to_->all();
    if (sinks.empty()) return;
    while (given < finished) {
      const auto from = left.begin() + static_cast<std::ptrdiff_t>(given);
      const std::size_t n = std::min(batch_max, finished - given);
      for (std::size_t i = 0; i + 1 < sinks.size(); ++i)
        sinks[i]->take(std::vector<finished_span>(from, from + static_cast<std::ptrdiff_t>(n)));
      std::vector<finished_span> batch;
      if (n == finished) {
        batch = std::move(left);
      } else {
        batch.reserve(n);
        std::move(from, from + static_cast<std::ptrdiff_t>(n), std::back_inserter(batch));
      }
      given += n;
      sinks.back()->take(std::move(batch));
    }
  });
  dropped_ += finished - given;
}

}  // namespace coracle::telemetry_internal
