#include "runtime/uring/ring.hpp"

#include "runtime/kernel/kernel_backend.hpp"

#include "coracle/base/impl/assert.hpp"

#include <sys/mman.h>
#include <algorithm>
#include <atomic>
#include <bitset>
#include <cerrno>
#include <cstring>
#include <new>

namespace coracle::runtime_internal {

namespace {

constexpr std::uint16_t buffer_group = 0;
constexpr std::size_t page_bytes = 4096;

struct size {
  unsigned submissions;
  unsigned completions;
};
// Ring memory may count against RLIMIT_MEMLOCK: with a limit of 64 KiB, one ring of the first size fits.
constexpr size sizes[] = {{256, 2048}, {64, 512}, {16, 128}};

// A ring's memory may be mapped at the address of an earlier ring, by another thread. The kernel orders the
// two; this variable makes that order visible to ThreadSanitizer, which does not intercept liburing's system
// calls and would report a race.
std::atomic<std::uint64_t> rings_ended{0};

unsigned id_of(const completion& c) noexcept { return c.flags >> IORING_CQE_BUFFER_SHIFT; }

// Seccomp may allow one call and not the other. Without a ring, EBADF is the expected result.
int probe_enter(const uring_faults& faults) noexcept {
  if (faults.enter_error) return faults.enter_error;
  const int outcome = io_uring_enter(~0u, 0, 0, 0, nullptr);
  return outcome == -EBADF ? 0 : -outcome;
}

}  // namespace

receive_buffers::receive_buffers() {
  void* p = ::mmap(nullptr, page_bytes + count * size_bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  static_assert(count * sizeof(io_uring_buf) <= page_bytes);
  ring_ = static_cast<io_uring_buf_ring*>(p);
  bytes_ = static_cast<std::uint8_t*>(p) + page_bytes;
}

receive_buffers::~receive_buffers() { ::munmap(static_cast<void*>(ring_), page_bytes + count * size_bytes); }

void receive_buffers::add(unsigned id, int offset) noexcept {
  io_uring_buf_ring_add(ring_, bytes_ + id * size_bytes, size_bytes, static_cast<unsigned short>(id),
                        io_uring_buf_ring_mask(count), offset);
}

int receive_buffers::provide(io_uring& with, const std::vector<completion>& kept) noexcept {
  io_uring_buf_reg where{};
  where.ring_addr = reinterpret_cast<std::uintptr_t>(ring_);
  where.ring_entries = count;
  where.bgid = buffer_group;
  io_uring_buf_ring_init(ring_);
  if (const int error = io_uring_register_buf_ring(&with, &where, 0); error < 0) return error;
  std::bitset<count> held;
  for (const completion& c : kept)
    if (c.flags & IORING_CQE_F_BUFFER) held.set(id_of(c));
  int given = 0;
  for (unsigned id = 0; id < count; ++id)
    if (!held.test(id)) add(id, given++);
  io_uring_buf_ring_advance(ring_, given);
  return 0;
}

bytes_view receive_buffers::filled(const completion& c) const noexcept {
  return {bytes_ + id_of(c) * size_bytes, static_cast<std::size_t>(std::max(c.result, 0))};
}

void receive_buffers::give_back(const completion& c) noexcept {
  add(id_of(c), 0);
  io_uring_buf_ring_advance(ring_, 1);
}

bool ring_refusal::may_be_transient() const noexcept {
  return error == ENOMEM || error == EMFILE || error == ENFILE || error == EAGAIN || error == EINTR;
}

std::string ring_refusal::text() const {
  if (!error) return std::string("the kernel's io_uring is older than that of ") + call;
  std::string text = std::string(call) + ": " + describe_error(error);
  if (error == EPERM) text += ", blocked by seccomp or by the sysctl kernel.io_uring_disabled";
  if (error == ENOMEM) text += ", RLIMIT_MEMLOCK may be too small";
  return text;
}

std::unique_ptr<ring> ring::make(const uring_faults& faults, ring_refusal& reason) {
  if (const int error = probe_enter(faults)) {
    reason = {"io_uring_enter", error};
    return nullptr;
  }
  constexpr unsigned base = IORING_SETUP_CQSIZE | IORING_SETUP_R_DISABLED;
  constexpr unsigned deferred =
      IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG;
  std::unique_ptr<ring> made(new ring);
  int error = 0;
  int failing = faults.setups_failing ? faults.setups_failing : 1'000'000;
  for (unsigned flags : {base | deferred, base}) {
    for (const size& s : sizes) {
      io_uring_params p{};
      p.flags = flags;
      p.cq_entries = s.completions;
      error = 0;
      if (faults.setup_error && failing-- > 0) error = -faults.setup_error;
      if (faults.no_deferred_work && (flags & deferred)) error = -EINVAL;
      if (!error)
        error = io_uring_queue_init_params(
            faults.submission_entries ? faults.submission_entries : s.submissions, &made->raw_, &p);
      static_cast<void>(rings_ended.load(std::memory_order_acquire));
      if (error == 0) return made->is_usable(p.features, faults, reason) ? std::move(made) : nullptr;
      made->raw_ = {};
      if (error != -ENOMEM) break;
    }
    if (error != -EINVAL && error != -ENOMEM) break;
  }
  reason = {"io_uring_setup", -error};
  return nullptr;
}

bool ring::is_usable(unsigned features, const uring_faults& faults, ring_refusal& reason) noexcept {
  reason = {};
  // EXT_ARG: a wait with its own timeout.
  if (faults.no_wait_timeout || !(features & IORING_FEAT_EXT_ARG)) reason.call = "Linux 5.11";
  // IORING_ASYNC_CANCEL_ANY, without which a loop cannot leave its thread. It came with Linux 5.19, together
  // with the operation that is probed here: a ring that is not enabled yet accepts no request that would tell
  // directly.
  io_uring_probe operations;  // without {}: its last member is a flexible array
  std::memset(&operations, 0, sizeof operations);
  const int error = io_uring_register_probe(&raw_, &operations, 0);
  if (error < 0) reason = {"io_uring_register", -error};
  else if (faults.no_cancel_any || operations.last_op < IORING_OP_SOCKET) reason.call = "Linux 5.19";
  return *reason.call == 0;
}

ring::~ring() {
  rings_ended.fetch_add(1, std::memory_order_release);
  if (raw_.sq.sqes) io_uring_queue_exit(&raw_);
}

void ring::enable(bool registered) noexcept {
  // liburing 2.3 declares io_uring_enable_rings() without exporting it.
  const int error =
      io_uring_register(static_cast<unsigned>(raw_.ring_fd), IORING_REGISTER_ENABLE_RINGS, nullptr, 0);
  CORACLE_ASSERT(error == 0 || error == -EBADFD, "the kernel refused to enable a new ring");
  if (registered) io_uring_register_ring_fd(&raw_);  // optional: a failure costs nothing
}

void ring::unregister() noexcept { io_uring_unregister_ring_fd(&raw_); }

int ring::submit_and_wait(duration at_most) noexcept {
  const auto ns = std::max<std::int64_t>(at_most.count(), 0);
  __kernel_timespec t{};
  t.tv_sec = ns / 1'000'000'000;
  t.tv_nsec = ns % 1'000'000'000;
  io_uring_cqe* first = nullptr;
  return io_uring_submit_and_wait_timeout(&raw_, &first, 1, &t, nullptr);
}

completion ring::take() noexcept {
  const unsigned head = *raw_.cq.khead;
  const io_uring_cqe& c = raw_.cq.cqes[head & raw_.cq.ring_mask];
  const completion taken{c.user_data, c.res, c.flags};
  io_uring_cq_advance(&raw_, 1);
  return taken;
}

}  // namespace coracle::runtime_internal
