// exchange_handler: the callbacks of a connection to the layer above an exchange.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/http/header_list.hpp"
#include "http2/connection.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace coracle::transport {

using http2::error_code;
using http2::field;
using http2::initiator;
using http2::response_rest;
using http2::unary_response;
// What may differ between header blocks with the same number; see header_source::number().
using varying_field = hpack::field;
using varying_name = hpack::block_pattern::varying;
inline constexpr std::uint32_t numbered_blocks = http2::recurring_blocks::block_count;
using stream_ref = http2::stream_ref;

class exchange;

// The fields of a header block that has just arrived: those that the HTTP/2 engine is reading, or a list.
// Valid during the callback to which it is passed.
class header_source {
 public:
  explicit header_source(http2::connection& engine) noexcept : engine_(&engine) {}
  // number: equal for two lists in a row if they are likely to be equal to the last octet; else 0.
  explicit header_source(const http::header_list& list, std::uint32_t number = 0) noexcept
      : list_(&list), within_limit_(list.size()), list_bytes_(list.list_size_bytes()), number_(number) {}
  // A list of which only the first fields are within the limit. list_bytes: the size of what was received, of
  // which the list may lack fields beyond the limit.
  header_source(const http::header_list& list, std::size_t within_limit, std::uint64_t list_bytes) noexcept
      : list_(&list),
        within_limit_(within_limit),
        list_bytes_(list_bytes),
        has_excess_(within_limit != list.size() || list_bytes > list.list_size_bytes()) {}
  // Reads the next field, in order; its views are valid until the next call. Returns false at the end.
  bool next(field& out) noexcept { return engine_ ? engine_->next_field(out) : next_of_list(out); }
  // Reads all fields; see http2::connection::read_fields().
  template <class F>
  bool read(F f) {
    if (engine_) [[likely]]
      return engine_->read_fields(f);
    for (field one; next_of_list(one);) static_cast<void>(f(0, [&] { return one; }));
    return true;
  }
  // After next() returned false: whether the block conforms to the rules. If not, the exchange has been reset
  // and on_reset() follows: discard what was read.
  [[nodiscard]] bool ok() const noexcept { return !engine_ || engine_->headers_ok(); }
  // Client: after next() or read() returned false: whether there are more fields, which exceed the limit on
  // header lists. A handler that reads them decides what becomes of the exchange; else it is reset.
  [[nodiscard]] bool too_large() const noexcept {
    return engine_ ? engine_->headers_too_large() : has_excess_;
  }
  // Calls f(name, value) for each of these fields, which are not validated, and of which there can be many:
  // keep little. See http2::connection::next_excess_field().
  template <class F>
  void read_excess(F f) {
    for (field one; engine_ ? engine_->next_excess_field(one) : take_of_list(one, list_->size());)
      f(one.name, one.value);
    has_excess_ = false;
  }
  // The size of all fields that were read, as SETTINGS_MAX_HEADER_LIST_SIZE defines it.
  [[nodiscard]] std::uint64_t list_bytes() const noexcept {
    return engine_ ? engine_->header_list_bytes() : list_bytes_;
  }
  // See http2::connection::set_slot().
  void set_slot(std::uint32_t slot) noexcept {
    if (engine_) engine_->set_slot(slot);
  }
  // See http2::connection::header_block_number() and read_varying_fields(). A list has no fields that vary:
  // read_varying() leaves `out` as it is, and the list counts as read.
  [[nodiscard]] std::uint32_t number() const noexcept {
    return engine_ ? engine_->header_block_number() : number_;
  }
  [[nodiscard]] std::span<const varying_name> varying() const noexcept {
    return engine_ ? engine_->varying_literals() : std::span<const varying_name>();
  }
  [[nodiscard]] bool read_varying(std::span<const varying_field>& out) noexcept {
    return !engine_ || engine_->read_varying_fields(out);
  }

 private:
  bool next_of_list(field& out) noexcept { return take_of_list(out, within_limit_); }
  bool take_of_list(field& out, std::size_t end) noexcept {
    if (at_ == end) return false;
    const http::header_view one = (*list_)[at_++];
    out = {one.name, one.value, 0, false};
    return true;
  }

  http2::connection* engine_ = nullptr;
  const http::header_list* list_ = nullptr;
  std::size_t at_ = 0;
  std::size_t within_limit_ = 0;
  std::uint64_t list_bytes_ = 0;
  std::uint32_t number_ = 0;
  bool has_excess_ = false;  // of a list, not yet read
};

enum class block_kind : std::uint8_t { informational, headers, trailers };

// Describes an abnormal end of an exchange.
struct abnormal_end {
  error_code code = error_code::no_error;
  initiator by = initiator::peer;
  bool unprocessed = false;  // the peer certainly did not process it: it may be retried
  bool disconnected = false;  // the whole connection ended
  std::string_view reason{};  // borrowed for the call
};

// The callbacks of an exchange, called on the connection's loop, between the engine's events. They may call
// any function of the exchange, including exchange::release(), after which there are no more callbacks.
// Functions that are not noexcept may throw std::bad_alloc while the exchange is not released: the stream is
// then reset, and on_reset() is called (ENHANCE_YOUR_CALM, by the user).
class exchange_handler {
 public:
  virtual void on_headers(header_source& fields, block_kind kind, bool end_stream) = 0;
  // The bytes are borrowed for the call; return the credit with exchange::consume().
  virtual void on_data(bytes_view bytes, bool end_stream) = 0;
  virtual void on_writable() = 0;
  // Called when the wait that exchange::wait_until_uncongested() began is over.
  virtual void on_uncongested() {}
  // The last callback. Release the exchange in it; its connection may be destroyed afterwards.
  virtual void on_reset(const abnormal_end& end) noexcept = 0;

 protected:
  ~exchange_handler() = default;
};

// The server side: assigns a handler to each new request.
class request_acceptor {
 public:
  // Reads the request headers. Takes ownership of `x`: it sets a handler (exchange::set_handler), or responds
  // and releases it. end_stream: the request has no body. May throw std::bad_alloc: an exchange without a
  // handler is then reset.
  virtual void on_request(exchange x, header_source& fields, bool end_stream) = 0;

 protected:
  ~request_acceptor() = default;
};

}  // namespace coracle::transport
