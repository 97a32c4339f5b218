// error_counts: how many GOAWAY and RST_STREAM frames connections have sent and received, by code.
#pragma once

#include "http2/error_code.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace coracle::http2 {

// Shared by the connections of a loop.
struct error_counts {
  // The codes of RFC 9113 section 7, and one more for all others, which a peer may send.
  class by_code {
   public:
    static constexpr std::uint32_t codes = 15;
    void add(error_code c) noexcept { ++counts_[std::min(static_cast<std::uint32_t>(c), codes - 1)]; }
    [[nodiscard]] std::uint64_t of(std::uint32_t code) const noexcept { return counts_[code]; }

   private:
    std::array<std::uint64_t, codes> counts_{};
  };
  by_code goaways_sent;
  by_code goaways_received;
  by_code resets_sent;
  by_code resets_received;
};

}  // namespace coracle::http2
