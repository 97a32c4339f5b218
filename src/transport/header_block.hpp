// header_block: header fields that are encoded in advance, for any connection.
#pragma once

#include "coracle/base/bytes.hpp"

#include <cstddef>
#include <string_view>
#include <vector>

namespace coracle::transport {

// Does not use a dynamic table (hpack's stateless encoding), so that its bytes can be stored and sent
// repeatedly, and can follow queued data. See exchange::send_block().
class header_block {
 public:
  header_block& add(std::string_view name, std::string_view value);
  header_block& append(bytes_view encoded) {
    bytes_.insert(bytes_.end(), encoded.begin(), encoded.end());
    return *this;
  }
  [[nodiscard]] bytes_view bytes() const noexcept { return bytes_; }
  void clear() noexcept { bytes_.clear(); }

 private:
  std::vector<std::uint8_t> bytes_;
};

}  // namespace coracle::transport
