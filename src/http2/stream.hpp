// stream: the state of one stream of a connection.
#pragma once

#include "coracle/base/impl/intrusive_list.hpp"
#include "http2/error_code.hpp"
#include "http2/event.hpp"
#include "http2/flow_window.hpp"
#include "http2/send_queue.hpp"
#include "http2/stream_state.hpp"

#include <cstddef>
#include <cstdint>

namespace coracle::http2 {

// Links streams that have something to send and the windows for it.
struct sending_hook : base::list_hook {};
// Links streams that have a pending event.
struct telling_hook : base::list_hook {};

// Allocated in the connection's slab from the HEADERS that opened it (or from open()) until it is both closed
// and released by the user. It is in the index while it is neither idle nor closed.
struct stream : sending_hook, telling_hook {
  stream(void* of_user, std::uint32_t send_bytes, std::uint32_t receive_bytes) noexcept
      : user(of_user), send(send_bytes), receive(receive_bytes) {}

  stream_id id = 0;  // 0: opened by the user, who has sent no HEADERS yet
  stream_state state = stream_state::idle;
  bool released = false;  // the user wants no more events
  bool head_received = false;  // client: the final response's HEADERS were received
  bool head_sent = false;
  bool is_head_request = false;  // RFC 9110 9.3.2: content-length of the response describes no content
  bool wants_writable = false;
  std::uint16_t interim_responses = 0;  // client: number received so far

  void* user;
  send_window send;
  receive_window receive;
  std::uint32_t held_bytes = 0;  // passed to the user and not yet consumed
  bool length_known = false;
  std::uint64_t length_left = 0;  // remaining bytes of content-length, if known
  send_queue queue;
  std::uint32_t head_bytes = 0;  // size of the request's fields, which the user is likely to keep
  std::size_t kept_bytes = 0;  // bytes of received data that the user reports to keep
  std::size_t low_bytes = 0;  // the threshold of want_writable()

  // How the stream ended, until its reset event is returned.
  error_code end_code = error_code::no_error;
  initiator end_by = initiator::peer;
  bool end_unprocessed = false;
  std::string_view end_reason{};

  [[nodiscard]] bool can_send() const noexcept { return may_send(state) && !queue.ends(); }
};

}  // namespace coracle::http2
