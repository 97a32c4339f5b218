// exchange_handler: the layer above an exchange, as its connection calls it.
#pragma once

#include "coracle/base/bytes.hpp"
#include "http2/connection.hpp"

#include <cstdint>
#include <string_view>

namespace coracle::transport {

using http2::error_code;
using http2::field;
using http2::initiator;
using http2::whole_reply;
using stream_ref = http2::stream_ref;

class exchange;

// The fields of a header block that has just arrived. Valid during the callback that it is given to.
class header_source {
 public:
  explicit header_source(http2::connection& engine) noexcept : engine_(engine) {}
  // The next field, in order; its views are valid until the next call. False at the end.
  bool next(field& out) noexcept { return engine_.next_field(out); }
  // All of them: see http2::connection::read_fields().
  template <class F>
  bool read(F f) {
    return engine_.read_fields(f);
  }
  // After next() gave false: the block kept to the rules. If not, the exchange has been reset, and
  // on_reset() follows: forget what was read.
  [[nodiscard]] bool ok() const noexcept { return engine_.headers_ok(); }
  // See http2::connection::set_slot().
  void set_slot(std::uint32_t slot) noexcept { engine_.set_slot(slot); }
  // See http2::connection::head_number() and head_repeats(), for heads of requests.
  [[nodiscard]] std::uint32_t number() const noexcept { return engine_.head_number(); }
  [[nodiscard]] bool repeats(std::uint32_t number) noexcept { return engine_.head_repeats(number); }

 private:
  http2::connection& engine_;
};

enum class block_kind : std::uint8_t { informational, head, trailers };

// How an exchange ended that did not end well.
struct abnormal_end {
  error_code code = error_code::no_error;
  initiator by = initiator::peer;
  bool unprocessed = false;  // the peer surely never saw it: it may be sent again
  bool disconnected = false; // with its whole connection
  std::string_view reason{}; // borrowed for the call
};

// The upper side of an exchange. Called on the connection's loop, between the engine's events: any
// function of the exchange may be called from inside, exchange::release() included, after which
// nothing is called any more. What is not noexcept may throw std::bad_alloc as long as the exchange is not released:
// the stream is reset then, and on_reset() says so (ENHANCE_YOUR_CALM, by the user).
class exchange_handler {
 public:
  virtual void on_headers(header_source& fields, block_kind kind, bool end_stream) = 0;
  // Borrowed for the call; give the credit back with exchange::consume().
  virtual void on_data(bytes_view bytes, bool end_stream) = 0;
  virtual void on_writable() = 0;
  // The answer to exchange::wait_turn().
  virtual void on_turn() {}
  // The last call; release the exchange in it, its connection may be gone afterwards.
  virtual void on_reset(const abnormal_end& end) noexcept = 0;

 protected:
  ~exchange_handler() = default;
};

// A server's side: decides who handles a new request.
class request_acceptor {
 public:
  // Pulls the head's fields. Takes `x` over: a handler is set on it (exchange::set_handler), or it was
  // answered and released. end_stream: the request has no body.
  // May throw std::bad_alloc: an exchange without a handler is reset then.
  virtual void on_request(exchange x, header_source& fields, bool end_stream) = 0;

 protected:
  ~request_acceptor() = default;
};

}  // namespace coracle::transport
