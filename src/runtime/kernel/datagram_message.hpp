// datagram_message: the kernel's message header for a send_to or a receive_from.
#pragma once

#include "runtime/backend.hpp"
#include "runtime/kernel/kernel_backend.hpp"

#include <sys/socket.h>
#include <algorithm>
#include <cstdint>

namespace coracle::runtime_internal {

// Stored in operation::scratch, since io_uring needs it until the operation ends.
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

}  // namespace coracle::runtime_internal
