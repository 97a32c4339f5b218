// recurring_blocks: the header blocks that a connection has received and that are likely to arrive again.
#pragma once

#include "coracle/base/bytes.hpp"
#include "hpack/block_pattern.hpp"
#include "hpack/dynamic_table.hpp"
#include "hpack/field.hpp"
#include "http/header_validator.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace coracle::http2 {

// Most requests of a client have the header fields of an earlier one, with the same values except for a few,
// such as grpc-timeout; see hpack::block_pattern. Most responses and trailers have the same fields with the
// same values. This class keeps the patterns of a few blocks, so that a client can alternate between as many
// methods.
class recurring_blocks {
 public:
  static constexpr std::size_t block_count = 4;

  // The result of reading a block.
  struct reading {
    std::uint32_t list_bytes = 0;  // without the values that vary
    std::optional<std::uint64_t> content_length;
    int status = 0;  // of a response
  };

  // learned: the number of blocks that the connection has learned before.
  explicit recurring_blocks(std::uint32_t learned) noexcept : learned_(learned) {}

  // Compares a block that is about to be read with those that are kept. It must stay valid until remember().
  // A block equals only those of its kind.
  void start(bytes_view block, http::header_kind kind, const hpack::dynamic_table& table) noexcept;
  // The number of the kept block that it equals, except for the values of fields that vary; 0: none. The
  // number of a block that is kept does not change.
  [[nodiscard]] std::uint32_t number() const noexcept { return matched_ ? matched_->number : 0; }
  [[nodiscard]] const hpack::block_pattern& pattern() const noexcept { return matched_->pattern; }
  [[nodiscard]] const reading& read() const noexcept { return matched_->read; }

  // The fields of the block that matched whose values may differ: where to store them, and what was stored.
  using fields = std::array<hpack::field, hpack::block_pattern::varying_max>;
  [[nodiscard]] fields& room_for_varying() noexcept { return varying_; }
  [[nodiscard]] std::span<const hpack::field> varying() const noexcept {
    return {varying_.data(), pattern().found().size()};
  }

  // Call when the block has been read field by field and is valid. read.list_bytes: of all its fields.
  void remember(const hpack::dynamic_table& table, const reading& read,
                bool (*may_vary)(std::string_view name));

  [[nodiscard]] std::uint32_t learned() const noexcept { return learned_; }
  [[nodiscard]] std::size_t capacity_bytes() const noexcept;

 private:
  // Blocks of a client whose requests never recur are learned rarely, and so are blocks in place of those
  // that recur.
  static constexpr std::uint32_t misses_in_a_row = 16;
  static constexpr std::uint32_t misses_per_learning = 16;

  struct kept {
    hpack::block_pattern pattern;
    http::header_kind kind = http::header_kind::request;
    std::uint32_t number = 0;
    reading read;
    bool has_matched = false;  // since it was last considered for replacement
  };
  // Of the blocks of a kind.
  struct history {
    std::size_t last = 0;  // the index of the one that matched last
    std::uint32_t misses = 0;  // since then
  };
  [[nodiscard]] history& history_of_kind() noexcept { return histories_[static_cast<std::size_t>(kind_)]; }
  [[nodiscard]] std::size_t place_to_learn() noexcept;
  bool matches(std::size_t i, const hpack::dynamic_table& table) noexcept;

  bytes_view block_;
  http::header_kind kind_ = http::header_kind::request;
  std::uint64_t inserted_before_ = 0;
  std::array<std::unique_ptr<kept>, block_count> kept_;
  kept* matched_ = nullptr;
  fields varying_{};
  std::size_t similar_ = block_count;  // the index of one that is similar to the block
  std::array<history, 3> histories_;
  std::size_t next_ = 0;  // the index of the one to replace
  std::uint32_t learned_;
  std::uint32_t crowded_ = 0;  // misses while all of them had matched
  hpack::block_pattern::varying_names varying_names_;
};

}  // namespace coracle::http2
