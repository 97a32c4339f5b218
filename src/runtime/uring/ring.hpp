// ring: an io_uring instance and its provided buffers.
#pragma once

#include "runtime/backend.hpp"
#include "runtime/uring/uring_backend.hpp"

#include <liburing.h>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace coracle::runtime_internal {

// The kernel's result of one request, taken out of its ring.
struct completion {
  std::uint64_t user_data;
  std::int32_t result;
  std::uint32_t flags;
};

// The memory that multishot receives fill: 128 x 16 KiB, which measured faster than more buffers, since these
// stay in the cache. Must outlive the ring that it is registered with.
class receive_buffers {
 public:
  static constexpr std::size_t count = 128;
  static constexpr std::size_t size_bytes = 16 * 1024;
  receive_buffers();
  receive_buffers(const receive_buffers&) = delete;
  receive_buffers& operator=(const receive_buffers&) = delete;
  ~receive_buffers();

  // Registers all buffers with `with`, except those that `kept` completions still hold. Returns 0 or -errno.
  int provide(io_uring& with, const std::vector<completion>& kept) noexcept;
  [[nodiscard]] bytes_view filled(const completion& c) const noexcept;
  void give_back(const completion& c) noexcept;

 private:
  void add(unsigned id, int offset) noexcept;
  std::uint8_t* bytes_ = nullptr;
  io_uring_buf_ring* ring_ = nullptr;
};

// Why a ring could not be made.
struct ring_refusal {
  const char* call = "";
  int error = 0;  // 0: the kernel is too old for `call`
  // Whether a retry may succeed: descriptors, memory, or the locked memory of a recently closed ring may be
  // released.
  [[nodiscard]] bool may_be_transient() const noexcept;
  [[nodiscard]] std::string text() const;
};

class ring {
 public:
  // Tries smaller rings on ENOMEM, and a ring without deferred work on EINVAL. Returns null, with the reason
  // in `reason`, when nothing works. Any thread: the ring belongs to the thread that calls enable().
  static std::unique_ptr<ring> make(const uring_faults& faults, ring_refusal& reason);
  ring(const ring&) = delete;
  ring& operator=(const ring&) = delete;
  ~ring();

  // `registered`: refers to the ring by the thread's registration, which saves a reference count per turn.
  void enable(bool registered) noexcept;
  // Removes the ring's registration with this thread, so that the thread may end.
  void unregister() noexcept;
  [[nodiscard]] io_uring& raw() noexcept { return raw_; }

  // Returns a cleared entry, or null when the queue is full: submit() makes room.
  io_uring_sqe* entry() noexcept { return io_uring_get_sqe(&raw_); }
  [[nodiscard]] unsigned queued() const noexcept { return io_uring_sq_ready(&raw_); }
  // Returns the i-th queued entry.
  [[nodiscard]] const io_uring_sqe& queued_entry(unsigned i) const noexcept {
    return raw_.sq.sqes[(raw_.sq.sqe_head + i) & *raw_.sq.kring_mask];
  }
  // One system call each; return >= 0 or -errno.
  int submit() noexcept { return io_uring_submit(&raw_); }
  int submit_and_look() noexcept { return io_uring_submit_and_get_events(&raw_); }
  int submit_and_wait(duration at_most) noexcept;
  // Whether the kernel has completions that only a system call delivers.
  [[nodiscard]] bool must_look() const noexcept {
    return __atomic_load_n(raw_.sq.kflags, __ATOMIC_RELAXED) & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW);
  }
  [[nodiscard]] bool has_completion() const noexcept { return io_uring_cq_ready(&raw_) > 0; }
  // Takes one completion; call it only while has_completion().
  completion take() noexcept;

 private:
  ring() noexcept = default;
  bool is_usable(unsigned features, const uring_faults& faults, ring_refusal& reason) noexcept;
  io_uring raw_{};
};

}  // namespace coracle::runtime_internal
