// kernel_backend: what io_uring and epoll have in common: sockets, clocks, wake-ups, counters, and the state
// of operations in flight.
#pragma once

#include "runtime/backend.hpp"

#include "coracle/base/log.hpp"

#include <sys/socket.h>
#include <cstddef>
#include <cstdint>
#include <string>

namespace coracle::runtime_internal {

class kernel_backend : public backend {
 public:
  kernel_backend(const kernel_backend&) = delete;
  kernel_backend& operator=(const kernel_backend&) = delete;
  ~kernel_backend() override;

  std::int64_t open_stream(int family) noexcept final;
  std::int64_t bind_stream(handle h, const raw_address& at) noexcept final;
  std::int64_t open_listener(const raw_address& at, const listen_options& options) noexcept final;
  std::int64_t open_datagram(const raw_address& at, const listen_options& options) noexcept final;
  std::int64_t connect_datagram(handle h, const raw_address& to) noexcept final;
  std::int64_t local_address(handle h, raw_address& out) noexcept final;
  std::int64_t peer_address(handle h, raw_address& out) noexcept final;
  std::int64_t accept_now(handle listener) noexcept final;
  void close_queue(handle listener) noexcept final;
  void open_queue(handle listener) noexcept final;
  void set_unacknowledged_timeout(handle h, duration after) noexcept final;
  [[nodiscard]] socket_options options_of(handle h) noexcept final;
  [[nodiscard]] std::optional<tcp_statistics> tcp_statistics_of(handle h) noexcept final;
  void shutdown_send(handle h) noexcept final;
  void wake() noexcept final;
  [[nodiscard]] time_point now() noexcept final;
  [[nodiscard]] std::int64_t wall_ns() noexcept final;
  [[nodiscard]] std::uint64_t random() noexcept final;
  [[nodiscard]] const counters& stats() const noexcept final { return stats_; }

 protected:
  // Takes ownership of the eventfd, to which wake() writes.
  kernel_backend(logger& log, handle event) noexcept;
  void close_socket(handle h, bool abort) noexcept;

  // Accepting. Logs exhaustion when it begins, not each time a listener retries.
  static bool is_exhaustion(int error) noexcept;
  static bool is_fault_of_one_connection(int error) noexcept;
  void exhausted(int error) noexcept;
  void not_exhausted() noexcept { exhaustion_logged_ = false; }

  void began() noexcept { ++stats_.in_flight; }
  void ended() noexcept { --stats_.in_flight; }
  void complete(operation& op, std::int64_t result) noexcept {
    ended();
    ++stats_.completions;
    op.complete(op, result);
  }

  logger& log_;
  counters stats_;
  const handle event_;

 private:
  std::uint64_t random_state_;
  bool exhaustion_logged_ = false;
};

// For example "EPERM (Operation not permitted)".
std::string describe_error(int error);

// Words of operation::scratch; send_progress and datagram_message use those from `rest` on.
namespace scratch {
inline constexpr std::size_t flags = 0;
inline constexpr std::size_t list = 1;
inline constexpr std::size_t rest = 2;
inline constexpr std::size_t rest_bytes = (16 - rest) * sizeof(std::uint64_t);
inline constexpr std::uint64_t cancelled = 1;  // flags
inline constexpr std::uint64_t waiting = 2;  // the operation cannot be waited for yet: its poll is in flight
}  // namespace scratch

// The progress of a send; in operation::scratch, since the kernel needs the iovecs until it ends.
class send_progress {
 public:
  static send_progress& begin(operation& op) noexcept;
  static send_progress& of(operation& op) noexcept;
  [[nodiscard]] std::int64_t sent() const noexcept { return sent_; }
  // Returns the message with the remaining bytes; borrowed until the operation completes.
  msghdr& rest(operation& op) noexcept;
  // Adds n sent bytes; returns true when nothing is left.
  bool advance(operation& op, std::int64_t n) noexcept;

 private:
  msghdr message_;
  iovec split_;  // the rest of a piece that was sent in part
  std::int64_t sent_;
  std::size_t piece_;
  std::size_t of_piece_;  // bytes of that piece that were sent; 0 for none
};
static_assert(sizeof(send_progress) <= scratch::rest_bytes);

// The kernel's message header for a send_to or a receive_from. Stored in operation::scratch, since io_uring
// needs it until the operation ends.
class datagram_message {
 public:
  static datagram_message& begin(operation& op) noexcept;
  static datagram_message& of(operation& op) noexcept;
  [[nodiscard]] msghdr& header() noexcept { return header_; }
  // Call it after a receive_from that succeeded: the sender's address is in place, and only its size is
  // missing.
  void finish_receive(operation& op) const noexcept;

  // Makes the kernel report the full size of a truncated datagram.
  static constexpr int receive_flags = MSG_TRUNC;

 private:
  msghdr header_;
  iovec into_;
};
static_assert(sizeof(datagram_message) <= scratch::rest_bytes);

// Operations in flight, linked through their own members: a FIFO with removal from the middle. Owns nothing;
// an operation is in at most one list.
class operation_list {
 public:
  operation_list() noexcept = default;
  operation_list(const operation_list&) = delete;
  operation_list& operator=(const operation_list&) = delete;

  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] operation* first() const noexcept { return first_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  void push(operation& op) noexcept {
    op.next = nullptr;
    op.prev = last_;
    (last_ ? last_->next : first_) = &op;
    last_ = &op;
    ++size_;
  }
  void remove(operation& op) noexcept {
    (op.prev ? op.prev->next : first_) = op.next;
    (op.next ? op.next->prev : last_) = op.prev;
    --size_;
  }
  operation* pop() noexcept {
    operation* op = first_;
    if (op) remove(*op);
    return op;
  }

 private:
  operation* first_ = nullptr;
  operation* last_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace coracle::runtime_internal
