// uring_loop: the backend over io_uring.
#pragma once

#include "coracle/base/impl/intrusive_list.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "runtime/backend.hpp"
#include "runtime/kernel/deadline_timer.hpp"
#include "runtime/kernel/kernel_backend.hpp"
#include "runtime/uring/ring.hpp"

#include <liburing.h>
#include <sys/types.h>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <vector>

namespace coracle::runtime_internal {

void prepare_file(io_uring_sqe& e, const operation& op) noexcept;

// The state of one receive_source. A pause is lazy: the request stays in the kernel until bytes arrive during
// the pause; the backend then copies them aside and cancels the request. The ring's receive buffers limit
// what arrives until the cancel takes effect, since the kernel sees the cancel first in the next turn.
struct receiver_state : base::list_hook, coro::pooled {
  handle on = no_handle;
  receive_source* source = nullptr;
  bool armed = false;  // a request is in the kernel
  bool cancelling = false;  // and its cancellation was requested
  bool limited = false;  // it ends after a number of bytes
  bool by_hand = false;  // multishot is not available: poll, then recv()
  bool watching = false;  // the request polls for the peer's end, during a pause
  bool hung_up = false;  // the source knows that
  bool paused = false;
  bool stopping = false;
  bool has_end = false;
  std::int64_t end = 0;
  std::list<std::vector<std::uint8_t>> held;  // usually empty, and then without memory
};

struct acceptor_state : base::list_hook, coro::pooled {
  handle on = no_handle;
  accept_source* source = nullptr;
  bool armed = false;
  bool single = false;  // one connection per request
  bool stopping = false;
  time_point paused_until{};
};

enum class tag : std::uint64_t { operation, receiver, acceptor, wake, ignored };

inline constexpr std::uint64_t tag_mask = 7;  // all objects pointed to are aligned to 8

constexpr std::uint64_t tag_of(tag t) noexcept { return static_cast<std::uint64_t>(t); }
template <class T>
std::uint64_t user_data_of(tag t, const T& object) noexcept {
  static_assert(alignof(T) > tag_mask);
  return reinterpret_cast<std::uintptr_t>(&object) | tag_of(t);
}
constexpr tag tag_in(std::uint64_t user_data) noexcept { return static_cast<tag>(user_data & tag_mask); }
template <class T>
T* pointer_in(std::uint64_t user_data) noexcept {
  return reinterpret_cast<T*>(static_cast<std::uintptr_t>(user_data & ~tag_mask));
}

// Marks a completion that was kept aside and has already been subtracted from the count of requests. The
// kernel uses the lowest flags only.
inline constexpr std::uint32_t completion_was_counted = 1u << 15;

// Makes one system call per turn: it submits everything queued since the last turn, and waits. The ring
// belongs to the thread that drives the loop (SINGLE_ISSUER). When that thread releases the loop, all
// requests are cancelled and their results are kept; requests that the caller did not cancel restart on the
// next thread, on a new ring if the thread is another one.
class uring_loop final : public kernel_backend {
 public:
  uring_loop(logger& log, handle event, std::unique_ptr<ring> on, const uring_faults& faults);
  ~uring_loop() override;
  [[nodiscard]] std::string_view name() const noexcept override { return "io_uring"; }

  void submit(operation& op) noexcept override;
  void cancel(operation& op) noexcept override;
  void start_accept(handle listener, accept_source& source) override;
  void stop_accept(accept_source& source) noexcept override;
  void start_receive(handle connection, receive_source& source) override;
  void pause_receive(receive_source& source) noexcept override;
  void resume_receive(receive_source& source) noexcept override;
  void stop_receive(receive_source& source) noexcept override;
  [[nodiscard]] std::size_t held_bytes(const receive_source& source) const noexcept override;
  void close(handle h, bool abort) noexcept override;
  [[nodiscard]] bool takes_files() const noexcept override { return true; }
  void turn(time_point until) noexcept override;
  void release_thread() noexcept override;
  [[nodiscard]] int pollable(time_point next_deadline) noexcept override;

 private:
  // --- the ring
  io_uring_sqe& entry(std::uint64_t user_data) noexcept;
  void request_cancel(std::uint64_t user_data) noexcept;
  void attach() noexcept;
  void move_to_this_thread() noexcept;
  void keep_unsubmitted() noexcept;
  void record_never_began(operation& op) noexcept;
  void wait_for_ring() noexcept;
  void listen_for_wakes() noexcept;
  void woken(const completion& c) noexcept;
  void keep_completions() noexcept;
  void enter(time_point until) noexcept;
  void deliver() noexcept;
  void dispatch(const completion& c) noexcept;
  bool make_pollable() noexcept;
  void close_pollable() noexcept;
  void clear(handle event) noexcept;
  [[nodiscard]] time_point earliest_pause_end(time_point until) const noexcept;

  // --- operations
  void prepare(operation& op) noexcept;
  void record_remainder(handle h, const completion& c) noexcept;
  [[nodiscard]] bool is_drained(handle h) const noexcept;
  void completed(operation& op, std::int64_t result) noexcept;
  std::int64_t move_by_hand(operation& op) noexcept;
  void finish(operation& op, std::int64_t result) noexcept;
  void completed_connect(operation& op, std::int64_t result) noexcept;

  // --- sources
  void arm(receiver_state& s) noexcept;
  void arm(acceptor_state& s) noexcept;
  void completed(receiver_state& s, const completion& c) noexcept;
  void completed(acceptor_state& s, const completion& c) noexcept;
  void take_bytes(receiver_state& s, bytes_view bytes) noexcept;
  void receive_by_hand(receiver_state& s) noexcept;
  void rearm_or_end(receiver_state& s) noexcept;
  void watch_hangup(receiver_state& s) noexcept;
  void rearm_or_end(acceptor_state& s, std::int64_t result) noexcept;
  void end(receiver_state& s, std::int64_t result) noexcept;
  void end(acceptor_state& s, std::int64_t result) noexcept;
  void serve_due() noexcept;

  std::unique_ptr<ring> ring_;
  const uring_faults faults_;
  receive_buffers buffers_;
  bool multishot_receive_;
  bool receive_limit_ = true;  // the kernel supports it
  bool multishot_accept_ = true;
  bool multishot_poll_ = true;
  unsigned poll_first_;  // IORING_RECVSEND_POLL_FIRST, or 0
  bool attached_ = false;
  bool left_ = false;
  bool delivered_ = false;  // callbacks ran in this turn before it entered the kernel
  pid_t thread_ = 0;
  std::uint64_t requests_ = 0;  // in the ring: each ends with one completion without F_MORE
  std::deque<completion> kept_;
  operation_list operations_;
  std::vector<bool> drained_;  // by descriptor: the last receive left nothing
  base::intrusive_list<receiver_state> due_receivers_;  // can deliver without a system call
  base::intrusive_list<acceptor_state> due_acceptors_;
  std::vector<acceptor_state*> pausing_;  // has room for all acceptors that were ever started
  std::size_t acceptors_ = 0;
  std::unique_ptr<std::uint8_t[]> hand_buffer_;  // only where multishot receive does not work
  handle poll_ = no_handle;  // for pollable(): watches the next two, and event_
  deadline_timer deadline_;
  handle ring_event_ = no_handle;
  bool event_is_set_ = false;  // perhaps
};

}  // namespace coracle::runtime_internal
