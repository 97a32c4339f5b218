// repeated_block: the last request's header block, to tell when the next one says the same.
#pragma once

#include "coracle/base/bytes.hpp"
#include "hpack/dynamic_table.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

namespace coracle::http2 {

// The same octets mean the same fields as long as the table has not changed. A client's calls of one method
// mostly have them.
class repeated_block {
 public:
  static constexpr std::size_t bytes_max = 1024;  // that are kept for it

  // What reading it found out.
  struct reading {
    std::uint32_t list_bytes = 0;
    std::optional<std::uint64_t> content_length;
  };

  // 0 until the same block has come twice in a row; the same number then for as long as it comes.
  [[nodiscard]] std::uint32_t number() const noexcept { return came_twice_ ? number_ : 0; }
  [[nodiscard]] bool is(bytes_view block, const hpack::dynamic_table& table) const noexcept {
    return !bytes_.empty() && block.size() == bytes_.size() && table.inserted() == inserted_ &&
           table.count() == count_ && std::memcmp(block.data(), bytes_.data(), block.size()) == 0;
  }
  [[nodiscard]] const reading& read() const noexcept { return read_; }
  [[nodiscard]] std::size_t capacity_bytes() const noexcept { return bytes_.capacity(); }

  // A good block, read with that table and without a change to it.
  void remember(bytes_view block, const hpack::dynamic_table& table, const reading& read) {
    came_twice_ = is(block, table);
    if (came_twice_) return;
    if (block.size() > bytes_max) return forget();
    ++number_;
    bytes_.assign(block.begin(), block.end());
    inserted_ = table.inserted();
    count_ = table.count();
    read_ = read;
  }
  void forget() noexcept {
    bytes_.clear();
    came_twice_ = false;
  }

 private:
  std::vector<std::uint8_t> bytes_;  // empty: none
  std::uint64_t inserted_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t number_ = 0;
  reading read_;
  bool came_twice_ = false;
};

}  // namespace coracle::http2
