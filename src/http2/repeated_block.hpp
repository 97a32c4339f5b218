// repeated_block: the last request's header block, to detect that the next one is the same.
#pragma once

#include "coracle/base/bytes.hpp"
#include "hpack/dynamic_table.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

namespace coracle::http2 {

// The same octets mean the same fields while the table does not change. Consecutive calls of one method by a
// client mostly have the same octets.
class repeated_block {
 public:
  static constexpr std::size_t bytes_max = 1024;  // longer blocks are not remembered

  // The result of reading the block.
  struct reading {
    std::uint32_t list_bytes = 0;
    std::optional<std::uint64_t> content_length;
  };

  // Call with a block that is about to be read; it must stay valid until then.
  void start(bytes_view block, const hpack::dynamic_table& table) noexcept {
    now_ = block;
    inserted_before_ = table.inserted();
  }
  // 0 until the same block has arrived twice in a row; then the same number while it repeats.
  [[nodiscard]] std::uint32_t number() const noexcept { return came_twice_ ? number_ : 0; }
  // Call before the block is read. Returns whether it is the one that was remembered.
  [[nodiscard]] bool repeats(const hpack::dynamic_table& table) const noexcept {
    return !bytes_.empty() && now_.size() == bytes_.size() && table.inserted() == inserted_ &&
           table.count() == count_ && table.max_bytes() == max_bytes_ &&
           std::memcmp(now_.data(), bytes_.data(), now_.size()) == 0;
  }
  [[nodiscard]] const reading& read() const noexcept { return read_; }
  [[nodiscard]] std::size_t capacity_bytes() const noexcept { return bytes_.capacity(); }

  // Call when the block has been read and is valid.
  void remember(const hpack::dynamic_table& table, const reading& read) {
    came_twice_ = repeats(table);
    if (came_twice_) return;
    bytes_.clear();
    if (now_.size() > bytes_max || table.inserted() != inserted_before_) return;
    ++number_;
    bytes_.assign(now_.begin(), now_.end());
    inserted_ = table.inserted();
    count_ = table.count();
    max_bytes_ = table.max_bytes();
    read_ = read;
  }

 private:
  bytes_view now_{};
  std::uint64_t inserted_before_ = 0;
  std::vector<std::uint8_t> bytes_;  // of the remembered block; empty: none
  std::uint64_t inserted_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t max_bytes_ = 0;
  std::uint32_t number_ = 0;
  reading read_;
  bool came_twice_ = false;
};

}  // namespace coracle::http2
