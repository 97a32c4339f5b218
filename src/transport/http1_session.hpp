// http1_session: HTTP/1.1 on a connection: one request with its response at a time.
#pragma once

#include "base/output_buffer.hpp"
#include "coracle/base/bytes.hpp"
#include "coracle/base/clock.hpp"
#include "coracle/http/header_list.hpp"
#include "http1/connection.hpp"
#include "transport/connection_options.hpp"
#include "transport/exchange_target.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace coracle::transport {

class connection;

// Part of a connection whose peer speaks HTTP/1.1, in place of the HTTP/2 engine; and the target of the
// exchange that is in progress. The next request of a client that pipelines is read when the response to this
// one is complete.
//
// A client that closes its sending side has cancelled its request, as one that closes the connection: the two
// cannot be distinguished.
class http1_session final : public exchange_target {
 public:
  http1_session(connection& owner, http1::role r, const http1_options& o);

  // --- called by the connection: what http2::connection has, too, and then what only HTTP/1.1 needs
  void feed(bytes_view bytes, time_point now) noexcept;
  void feed_end(time_point now) noexcept;
  // Handles what was fed.
  void dispatch() noexcept;
  [[nodiscard]] bytes_view take_unread() noexcept { return engine_.take_unread(); }
  // After the output was handed to the socket, or an exchange has ended: resumes the writer, reads the next
  // request, or ends the connection.
  void advance() noexcept;
  void on_timeout(time_point now) noexcept;
  [[nodiscard]] time_point next_timeout() const noexcept;
  // The connection has ended: ends the exchange.
  void end(const abnormal_end& reason) noexcept;
  void drain() noexcept { engine_.close_after_response(); }
  void refuse_streams(bool on) noexcept { refusing_ = on; }
  [[nodiscard]] bool in_exchange() const noexcept { return in_exchange_ || engine_.busy(); }
  [[nodiscard]] std::size_t open_streams() const noexcept { return in_exchange() ? 1 : 0; }
  // A failure ends the connection in the same call.
  [[nodiscard]] bool failed() const noexcept { return false; }
  // Whether no more input may be read at present.
  [[nodiscard]] bool holds_input() const noexcept { return unconsumed_ >= window_bytes_ || !unread_.empty(); }
  [[nodiscard]] base::output_buffer& output() noexcept { return engine_.output(); }
  // Of the headers of a message that this side accepts.
  [[nodiscard]] std::size_t header_bytes_max() const noexcept { return header_bytes_max_; }
  [[nodiscard]] std::size_t memory_bytes() const noexcept;
  // A message has begun, and its headers are not complete.
  [[nodiscard]] bool in_headers() const noexcept { return !in_exchange_ && engine_.busy(); }
  void release_idle_memory() noexcept;
  // Client.
  [[nodiscard]] bool can_open() const noexcept { return !in_exchange() && !engine_.closes(); }
  void open(exchange_handler& handler) noexcept;

  // exchange_target
  CORACLE_EXCHANGE_OPERATIONS(CORACLE_EXCHANGE_OVERRIDE)
  void set_handler(exchange_handler* handler) noexcept override { handler_ = handler; }
  void release() noexcept override;

 private:
  [[nodiscard]] http1::event next_event() noexcept;
  // A pipelined request waits until the exchange before it is released, and while the peer reads no
  // responses: a single read may contain hundreds of requests.
  [[nodiscard]] bool holds_next_request() const noexcept;
  void handle(const http1::event& e) noexcept;
  void on_message_headers() noexcept;
  // The number of the fields of a response that are within the limit.
  [[nodiscard]] std::size_t fields_within_limit() const noexcept;
  void on_message_end() noexcept;
  void fail(const http1::event& e) noexcept;
  void write_headers(bool end_stream);
  void respond_with_error(int status, std::string_view text) noexcept;
  // Ends the exchange and the connection, because the message that is being sent stays incomplete.
  void abort(std::string_view reason) noexcept;
  // Calls the handler; ends the exchange if memory is exhausted there.
  template <class F>
  void call_handler(F f) noexcept;
  // Runs f, which writes; ends the connection if memory is exhausted.
  template <class F>
  void or_close(F f) noexcept;
  void resume_reading() noexcept;

  connection& connection_;
  http1::connection engine_;
  const http1::role role_;
  const std::size_t window_bytes_;
  const std::size_t header_bytes_max_;
  const duration idle_timeout_;
  const std::uint32_t header_list_bytes_;
  exchange_handler* handler_ = nullptr;
  base::output_buffer unread_;
  http::header_list block_;  // being written
  std::uint64_t sent_before_ = 0;  // client: bytes of the connection before the request
  std::size_t unconsumed_ = 0;
  std::size_t kept_bytes_ = 0;
  std::size_t low_bytes_ = 0;
  time_point idle_at_ = never;
  bool in_exchange_ = false;  // the exchange is not released
  bool headers_sent_ = false;
  bool sent_ = false;  // this side's message is complete
  bool received_ = false;  // the handler knows the end of the peer's message
  bool at_end_ = false;  // the peer has closed its sending side
  bool used_ = false;  // an exchange has succeeded on this connection
  bool safe_ = false;  // client: the request is of GET, and may be repeated
  bool wants_writable_ = false;
  bool refusing_ = false;
  // A message could not be written or read: nothing more is written, and the connection is about to close.
  bool out_of_memory_ = false;
  bool dispatching_ = false;
};

}  // namespace coracle::transport
