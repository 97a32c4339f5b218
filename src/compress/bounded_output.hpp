// bounded_output: room for what a decompressor puts out, up to a limit.
#pragma once

#include "compress/coder.hpp"
#include "coracle/base/output_buffer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace coracle::compress {

// Offers one byte more than is allowed, so that what is exactly as large as allowed is told from what is larger.
class bounded_output {
 public:
  bounded_output(base::output_buffer& to, std::size_t most_bytes) noexcept : to_(to), most_(most_bytes) {}
  // At least one byte while over() is false.
  [[nodiscard]] std::size_t room() const noexcept { return std::min(piece_bytes, most_ - made_ + 1); }
  std::uint8_t* reserve() { return to_.reserve(room()); }
  void commit(std::size_t n) noexcept {
    to_.commit(n);
    made_ += n;
  }
  [[nodiscard]] bool over() const noexcept { return made_ > most_; }

 private:
  base::output_buffer& to_;
  std::size_t most_;
  std::size_t made_ = 0;
};

}  // namespace coracle::compress
