// request_record: where a call's messages go while it has no exchange of its own.
#pragma once

#include "coracle/rpc/message_size.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace coracle::rpc {

// The record outlives the call's sending: a call that is given an exchange leaves its record first.
class request_record {
 public:
  // A message with its prefix; or, of no bytes, the end alone. Throws std::bad_alloc.
  virtual void record(std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, message_size m,
                      bool end_stream) = 0;
  // Of what is recorded, so much has not gone out on any connection.
  [[nodiscard]] virtual std::size_t unsent() const noexcept = 0;
  // The call's on_writable() is to be called, once, when that has sunk to `low_bytes`.
  virtual void want_room(std::size_t low_bytes) noexcept = 0;

 protected:
  ~request_record() = default;
};

}  // namespace coracle::rpc
