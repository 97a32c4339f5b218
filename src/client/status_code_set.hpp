// status_code_set: some of the seventeen codes.
#pragma once

#include "coracle/base/status.hpp"

#include <cstdint>

namespace coracle::client {

class status_code_set {
 public:
  constexpr status_code_set() noexcept = default;
  constexpr status_code_set& add(status_code c) noexcept { return bits_ |= bit(c), *this; }
  [[nodiscard]] constexpr bool contains(status_code c) const noexcept { return (bits_ & bit(c)) != 0; }
  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }

 private:
  static constexpr std::uint32_t bit(status_code c) noexcept { return 1u << static_cast<unsigned>(c); }
  std::uint32_t bits_ = 0;
};

}  // namespace coracle::client
