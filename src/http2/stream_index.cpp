#include "http2/stream_index.hpp"

#include "coracle/base/impl/assert.hpp"

#include <utility>

namespace coracle::http2 {

namespace {
constexpr std::uint32_t smallest_bits = 4;  // 16 cells, 8 streams, two cache lines
}

void stream_index::put(stream_id id, std::uint32_t place) noexcept {
  std::uint32_t i = home(id);
  while (cells_[i].id != 0) i = (i + 1) & mask_;
  cells_[i] = {id, place};
}

void stream_index::grow() {
  const std::uint32_t bits = cells_ ? 32 - shift_ + 1 : smallest_bits;
  const std::uint32_t old_count = cells_ ? mask_ + 1 : 0;
  auto old = std::exchange(cells_, std::make_unique<cell[]>(std::size_t{1} << bits));
  mask_ = (1u << bits) - 1;
  shift_ = 32 - bits;
  for (std::uint32_t i = 0; i < old_count; ++i)
    if (old[i].id != 0) put(old[i].id, old[i].place);
}

void stream_index::erase(stream_id id) noexcept {
  CORACLE_ASSERT(size_ != 0, "erased a stream that is not in the index");
  std::uint32_t gap = home(id);
  while (cells_[gap].id != id) {
    CORACLE_ASSERT(cells_[gap].id != 0, "erased a stream that is not in the index");
    gap = (gap + 1) & mask_;
  }
  // Moves each following cell that may occupy the gap: those whose home is not between the gap and
  // themselves.
  for (std::uint32_t i = (gap + 1) & mask_; cells_[i].id != 0; i = (i + 1) & mask_) {
    if (((i - home(cells_[i].id)) & mask_) >= ((i - gap) & mask_)) {
      cells_[gap] = cells_[i];
      gap = i;
    }
  }
  cells_[gap] = {};
  --size_;
}

}  // namespace coracle::http2
