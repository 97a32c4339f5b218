#include "handles.hpp"

#include <array>
#include <mutex>
#include <vector>

namespace coracle::c_abi {
namespace {

// A handle is kind (8 bits), generation (32) and index (24). A slot is used again with the next generation, so
// that an old handle does not fit.
constexpr std::uint32_t slots_per_chunk = 1024;
constexpr std::uint32_t chunks_max = 4096;

// The state of a slot: its generation (32 bits), whether it is open (1), and how many threads are copying its
// object (31). A closed slot is emptied by the last of them.
struct slot {
  static constexpr std::uint64_t open = std::uint64_t{1} << 31;
  static constexpr std::uint64_t users = open - 1;

  std::atomic<std::uint64_t> state{std::uint64_t{1} << 32};
  handle_kind kind{};
  std::uint32_t index = 0;
  std::shared_ptr<void> object;
};

class table {
 public:
  static table& get() noexcept {
    static table& only =
        *new table;  // never destroyed: other threads may use handles while the process exits
    return only;
  }

  std::uint64_t insert(handle_kind kind, std::shared_ptr<void> object) {
    slot* free = nullptr;
    {
      const std::lock_guard lock(growing_);
      if (free_.empty()) grow();
      free = free_.back();
      free_.pop_back();
    }
    free->kind = kind;
    free->object = std::move(object);
    const std::uint64_t generation = free->state.load(std::memory_order_relaxed) >> 32;
    free->state.store(generation << 32 | slot::open, std::memory_order_release);
    return std::uint64_t(kind) << 56 | generation << 24 | free->index;
  }

  std::shared_ptr<void> find(handle_kind kind, std::uint64_t handle, bool close) noexcept {
    if (handle >> 56 != std::uint64_t(kind)) return nullptr;
    const std::uint32_t index = handle & 0xffffff;
    if (index >= slots_per_chunk * chunks_max) return nullptr;
    slot* const chunk = chunks_[index / slots_per_chunk].load(std::memory_order_acquire);
    if (!chunk) return nullptr;
    slot& found = chunk[index % slots_per_chunk];
    const std::uint64_t generation = handle >> 24 & 0xffffffff;
    std::uint64_t state = found.state.load(std::memory_order_acquire);
    for (;;) {
      if (state >> 32 != generation || !(state & slot::open)) return nullptr;
      const std::uint64_t next = (state + 1) & ~(close ? slot::open : 0);
      if (found.state.compare_exchange_weak(state, next, std::memory_order_acq_rel,
                                            std::memory_order_acquire))
        break;
    }
    std::shared_ptr<void> object = found.object;
    state = found.state.fetch_sub(1, std::memory_order_acq_rel) - 1;
    if (!(state & (slot::open | slot::users))) recycle(found, generation);
    return object;
  }

 private:
  void grow() {
    if (chunk_count_ == chunks_max)
      throw failure(CORACLE_OUT_OF_MEMORY, "4,194,304 handles are open, which is the limit: close some");
    free_.reserve(slots_per_chunk * (chunk_count_ + 1));  // recycle() must not fail
    slot* const chunk = new slot[slots_per_chunk];
    for (std::uint32_t i = slots_per_chunk; i-- > 0;) {
      chunk[i].index = chunk_count_ * slots_per_chunk + i;
      free_.push_back(&chunk[i]);
    }
    chunks_[chunk_count_++].store(chunk, std::memory_order_release);
  }
  void recycle(slot& s, std::uint64_t generation) noexcept {
    const std::shared_ptr<void> last = std::move(s.object);
    s.state.store((generation + 1) << 32, std::memory_order_release);
    const std::lock_guard lock(growing_);
    free_.push_back(&s);
  }

  std::mutex growing_;
  std::vector<slot*> free_;
  std::uint32_t chunk_count_ = 0;
  std::array<std::atomic<slot*>, chunks_max> chunks_{};
};

const char* name_of(handle_kind kind) noexcept {
  switch (kind) {
    case handle_kind::runtime: return "runtime";
    case handle_kind::channel: return "channel";
    case handle_kind::call: return "call";
    case handle_kind::queue: return "queue";
    case handle_kind::server: return "server";
  }
  return "object";
}

}  // namespace

std::uint64_t open_handle(handle_kind kind, std::shared_ptr<void> object) {
  return table::get().insert(kind, std::move(object));
}
std::shared_ptr<void> find_handle(handle_kind kind, std::uint64_t handle) noexcept {
  return table::get().find(kind, handle, false);
}
std::shared_ptr<void> close_handle(handle_kind kind, std::uint64_t handle) noexcept {
  return table::get().find(kind, handle, true);
}

void throw_invalid_handle(handle_kind kind, std::uint64_t handle) {
  const std::string name = name_of(kind);
  throw failure(CORACLE_INVALID_HANDLE, std::to_string(handle) + " is no handle of a " + name +
                                            ": it was closed, is of another kind, or " + "was never made");
}

}  // namespace coracle::c_abi
