// closed_streams: remembers how recent streams were closed, in half a kilobyte allocated when the first one
// closes.
#pragma once

#include "http2/event.hpp"
#include "http2/stream_state.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace coracle::http2 {

// Direct-mapped by id; an entry is never overwritten by a lower id. Therefore an entry with a lower id means
// that this id was never closed, and one with a higher id that it may have been: ids grow, and every stream
// that closes is entered. Only odd ids are stored, which leaves two bits of a word for how the stream closed.
class closed_streams {
 public:
  // Late frames can arrive for about a round trip. After this many further streams have closed, the way in
  // which a stream was closed may be forgotten; its late frames are then tolerated.
  static constexpr std::size_t entry_count = 128;

  // end_state: ended, reset_sent or reset_received. If memory is exhausted, the stream becomes `forgotten`.
  void remember(stream_id id, stream_state end_state) noexcept {
    const std::uint32_t number = id >> 1;
    if (!entries_) [[unlikely]]
      entries_.reset(new (std::nothrow) std::array<std::uint32_t, entry_count>());
    if (!entries_) [[unlikely]] {
      forgotten_ = std::max(forgotten_, number + 1);
      return;
    }
    std::uint32_t& entry = (*entries_)[number % entry_count];
    if (entry >> 2 <= number) entry = number << 2 | code_of(end_state);
  }

  // Returns the state of a stream that is not open. `id` is odd, and at most the highest id in use.
  [[nodiscard]] stream_state find(stream_id id) const noexcept {
    const std::uint32_t number = id >> 1;
    if (number < forgotten_) return stream_state::forgotten;
    const std::uint32_t entry = entries_ ? (*entries_)[number % entry_count] : 0;
    if (entry >> 2 > number) return stream_state::forgotten;
    if (entry >> 2 < number || (entry & 3) == 0) return stream_state::skipped;
    return static_cast<stream_state>(static_cast<std::uint32_t>(stream_state::ended) + (entry & 3) - 1);
  }

  // Frees the memory: all streams that were remembered become `forgotten`.
  void release() noexcept {
    if (!entries_) return;
    forgotten_ = (*std::max_element(entries_->begin(), entries_->end()) >> 2) + 1;
    entries_.reset();
  }

 private:
  static constexpr std::uint32_t code_of(stream_state end_state) noexcept {
    return static_cast<std::uint32_t>(end_state) - static_cast<std::uint32_t>(stream_state::ended) + 1;
  }
  std::unique_ptr<std::array<std::uint32_t, entry_count>> entries_;
  std::uint32_t forgotten_ = 0;  // all lower numbers are forgotten
};

}  // namespace coracle::http2
