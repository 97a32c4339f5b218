// replay_buffer: what a call has sent so far, for the attempts that begin later.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/rpc/message_size.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace coracle::client {

// A call that has sent more than this is committed to one attempt, and what it sent is forgotten (the number that
// grpc-go and gRPC's core have).
inline constexpr std::size_t replay_bytes_max = 256u << 10;

// Messages with their prefixes, in order. Belongs to an attempt_set.
class replay_buffer {
 public:
  struct piece {
    std::unique_ptr<std::uint8_t[]> bytes;
    std::size_t size = 0;
    message_size message;  // for observers
    bool end_stream = false;  // may be all that the piece says
    [[nodiscard]] bytes_view view() const noexcept { return {bytes.get(), size}; }
  };

  void add(piece p) {
    bytes_ += p.size;
    pieces_.push_back(std::move(p));
  }
  [[nodiscard]] std::size_t pieces() const noexcept { return pieces_.size(); }
  [[nodiscard]] piece& at(std::size_t i) noexcept { return pieces_[i]; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool full() const noexcept { return bytes_ > replay_bytes_max; }
  void clear() noexcept {
    pieces_.clear();
    pieces_.shrink_to_fit();
    bytes_ = 0;
  }

 private:
  std::vector<piece> pieces_;
  std::size_t bytes_ = 0;
};

}  // namespace coracle::client
