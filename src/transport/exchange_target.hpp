// exchange_target: what an exchange refers to if it is not a stream of an HTTP/2 connection.
#pragma once

#include "transport/exchange_handler.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace coracle::transport {

// A request of an HTTP/1.1 connection, or one whose body another protocol frames. The functions are those of
// exchange, on the connection's loop. The first header block of a response begins with ":status", and that of
// a request with the pseudo-header fields of HTTP/2.
class exchange_target {
 public:
  virtual bool begin_headers() noexcept = 0;
  virtual void add_field(std::string_view name, std::string_view value) noexcept = 0;
  // With end_stream after earlier headers, the block is the trailers.
  virtual void end_headers(bool end_stream) noexcept = 0;
  virtual std::uint8_t* reserve_data(std::size_t n) = 0;
  virtual void commit_data(std::size_t n, bool end_stream) noexcept = 0;
  virtual bool queue_data(std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, bool end_stream) = 0;
  // A server's OK response with one enveloped message of n bytes and no metadata, before any header block.
  // Returns null if it cannot be written at once. commit_reply() includes release().
  virtual std::uint8_t* reserve_reply(std::size_t /*n*/) { return nullptr; }
  virtual void commit_reply(std::size_t /*n*/) noexcept {}
  [[nodiscard]] virtual std::size_t queued() const noexcept = 0;
  virtual void want_writable(std::size_t low_bytes) noexcept = 0;
  virtual void consume(std::size_t n) noexcept = 0;
  virtual void set_kept(std::size_t bytes) noexcept = 0;
  virtual void wait_until_uncongested() noexcept = 0;
  virtual void reset(error_code code) noexcept = 0;
  virtual void out_of_memory() noexcept = 0;
  virtual void set_handler(exchange_handler* handler) noexcept = 0;
  // The last call.
  virtual void release() noexcept = 0;

 protected:
  ~exchange_target() = default;
};

}  // namespace coracle::transport
