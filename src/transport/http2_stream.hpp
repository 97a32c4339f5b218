// http2_stream: the operations of an exchange on a stream of HTTP/2.
#pragma once

#include "coracle/base/bytes.hpp"
#include "transport/connection.hpp"
#include "transport/exchange_operations.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace coracle::transport {

// A stream of a connection's engine, or the connection alone, where an exchange has another target. What the
// engine writes is sent at the end of the loop iteration. Part of exchange, which documents the functions.
class http2_stream {
 public:
  http2_stream() noexcept = default;
  explicit http2_stream(connection& c, stream_ref s = http2::no_stream) noexcept : connection_(&c), ref_(s) {}

  CORACLE_EXCHANGE_OPERATIONS(CORACLE_EXCHANGE_OPERATION)
  bool send_block(bytes_view stateless, bool end_stream);
  bool send_fields(const hpack::encoded_fields& kept) noexcept;
  std::uint8_t* reserve_reply(const unary_response& r);
  void commit_reply(const unary_response& r, bool kept) noexcept;
  void answer_with_block(std::span<const bytes_view> stateless);
  void set_handler(exchange_handler* handler) noexcept { connection_->engine_.set_user(ref_, handler); }
  // Afterwards it is empty, as after commit_reply() and answer_with_block().
  void release() noexcept { std::exchange(connection_, nullptr)->release(ref_); }

 private:
  friend class exchange;
  // Whether data of this size may be appended to the output of this loop iteration.
  [[nodiscard]] bool fits_in_current_send(std::size_t bytes) const noexcept;

  connection* connection_ = nullptr;
  stream_ref ref_ = http2::no_stream;
};

inline void http2_stream::add_field(std::string_view name, std::string_view value,
                                    hpack::indexing policy) noexcept {
  connection_->engine_.add_field(name, value, policy);
}

inline std::size_t http2_stream::queued() const noexcept { return connection_->engine_.queued(ref_); }

inline void http2_stream::consume(std::size_t n) noexcept {
  if (connection_->closing_) return;
  connection_->engine_.consume(ref_, n);
  connection_->schedule_flush();
}

inline void http2_stream::set_kept(std::size_t bytes) noexcept { connection_->set_kept(ref_, bytes); }

inline void http2_stream::wait_until_uncongested() noexcept { connection_->wait_until_uncongested(ref_); }

inline void http2_stream::reset(error_code code) noexcept { connection_->reset(ref_, code); }

}  // namespace coracle::transport
