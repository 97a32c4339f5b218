// request_record: where a call's messages go while the call has no exchange of its own.
#pragma once

#include "coracle/rpc/message_size.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace coracle::rpc {

// The record outlives the sending of the call: a call that gets an exchange stops using its record first.
class request_record {
 public:
  // Records a message with its prefix, or, with no bytes, only the end of the stream. Throws std::bad_alloc.
  virtual void record(std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, message_size m,
                      bool end_stream) = 0;
  // Returns how many recorded bytes have not been sent on any connection.
  [[nodiscard]] virtual std::size_t unsent() const noexcept = 0;
  // Requests one call of the call's on_writable() when unsent() has fallen to `low_bytes`.
  virtual void want_room(std::size_t low_bytes) noexcept = 0;

 protected:
  ~request_record() = default;
};

}  // namespace coracle::rpc
