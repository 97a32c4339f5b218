// exchange_target: what an exchange refers to if it is not a stream of an HTTP/2 connection.
#pragma once

#include "transport/exchange_handler.hpp"
#include "transport/exchange_operations.hpp"

#include <cstddef>
#include <cstdint>

namespace coracle::transport {

// A request of an HTTP/1.1 connection, or one whose body another protocol frames. The functions are those of
// exchange, on the connection's loop. The first header block of a response begins with ":status", and that of
// a request with the pseudo-header fields of HTTP/2.
class exchange_target {
 public:
#define CORACLE_OPERATION(result, name, parameters, arguments, qualifiers) \
  virtual result name parameters qualifiers = 0;
  CORACLE_EXCHANGE_OPERATIONS(CORACLE_OPERATION)
#undef CORACLE_OPERATION
  // A server's OK response with one enveloped message of n bytes and no metadata, before any header block.
  // Returns null if it cannot be written at once. commit_reply() includes release().
  virtual std::uint8_t* reserve_reply(std::size_t /*n*/) { return nullptr; }
  virtual void commit_reply(std::size_t /*n*/) noexcept {}
  virtual void set_handler(exchange_handler* handler) noexcept = 0;
  // The last call.
  virtual void release() noexcept = 0;

 protected:
  ~exchange_target() = default;
};

}  // namespace coracle::transport
