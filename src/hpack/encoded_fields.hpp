// encoded_fields: fields as an encoder has written them, to be written again.
#pragma once

#include "hpack/dynamic_table.hpp"

#include <cstdint>
#include <vector>

namespace coracle::hpack {

// The octets mean the same as long as the encoder's table has not changed: an insertion moves the indexes of all
// entries, an eviction takes entries away.
struct encoded_fields {
  std::vector<std::uint8_t> octets;
  std::uint64_t inserted = 0;
  std::uint32_t count = 0;

  [[nodiscard]] bool valid_with(const dynamic_table& table) const noexcept {
    return !octets.empty() && inserted == table.inserted() && count == table.count();
  }
};

}  // namespace coracle::hpack
