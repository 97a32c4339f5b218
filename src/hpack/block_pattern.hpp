// block_pattern: recognizes a header block whose fields are those of an earlier block, except for the values
// of a few.
#pragma once

#include "base/equal_octets.hpp"
#include "base/hot_and_cold.hpp"
#include "coracle/base/bytes.hpp"
#include "hpack/dynamic_table.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::hpack {

// Consecutive requests of a client mostly have the same fields, apart from one or two such as grpc-timeout.
// Some clients send such a field as a literal without indexing. Others insert each value into the dynamic
// table, which changes the indexes of all entries before it; a pattern therefore compares the entries to
// which a block refers, not its octets.
//
// A field whose value differs from the learned block's varies from then on: a block then matches whatever
// value it has, and the user reads these values one by one. All other fields of a block that matches are
// those of the learned block.
class block_pattern {
 public:
  static constexpr std::size_t bytes_max = 1024;  // longer blocks are not learned
  static constexpr std::size_t moving_max = 64;  // indexes into the dynamic table
  static constexpr std::size_t named_max = 32;  // literals, and fields that vary
  static constexpr std::size_t names_bytes_max = 1024;  // of these
  static constexpr std::size_t varying_max = 4;

  // The names of the fields whose values vary, of all patterns of a connection.
  class varying_names {
   public:
    static constexpr std::size_t name_bytes_max = 64;

    [[nodiscard]] bool empty() const noexcept { return names_.empty(); }
    [[nodiscard]] bool contains(std::string_view name) const noexcept;
    // Has no effect with a longer name. If there are too many, the others are forgotten.
    void add(std::string_view name);
    [[nodiscard]] std::size_t capacity_bytes() const noexcept {
      return names_.capacity() * (sizeof(std::string) + name_bytes_max);
    }

   private:
    std::vector<std::string> names_;
  };

  enum class likeness : std::uint8_t {
    none,
    similar,  // fields differ that do not vary yet: learn the block
    like,
  };

  // A field that varies, in a block that matches.
  struct varying {
    std::string_view name;  // valid until learn()
    bytes_view value;  // its octets in the block; those of an entry are valid until the next insertion
    bool is_entry = false;
    bool huffman = false;
    bool insert = false;  // it is inserted into the dynamic table
    bool never_index = false;
  };

  // Compares a block that is about to be read with the learned one.
  [[nodiscard]] likeness match(bytes_view block, const dynamic_table& table) noexcept {
    found_count_ = 0;
    const std::uint64_t moved = table.inserted() - inserted_;
    if (!is_learned_ || oldest_ < table.inserted() - table.count()) return likeness::none;
    if (moved != moved_ && !move_indexes(moved)) return likeness::none;
    if (!is_settled_) return compare_named(block, table);
    if (varying_.empty() && base::equal_octets(block, octets_)) return likeness::like;
    return match_parts(block, table);
  }
  // Those of the block that match() has found to be `like`, in order.
  [[nodiscard]] std::span<const varying> found() const noexcept { return {found_.data(), found_count_}; }

  // After match() has returned `similar`: adds the names of the fields that differ.
  void add_differing(varying_names& to) const;
  // Learns a block that has been read without an error. inserted_before: table.inserted() before it was read.
  // Its fields with these names vary. may_vary: whether a field of this name may become one of them. A block
  // that cannot be learned leaves a pattern that matches none.
  void learn(bytes_view block, std::uint64_t inserted_before, const dynamic_table& table,
             const varying_names& names, bool (*may_vary)(std::string_view name));
  // The characters of the values that vary, in the learned block.
  [[nodiscard]] std::uint32_t varying_bytes() const noexcept { return varying_bytes_; }

  [[nodiscard]] std::size_t capacity_bytes() const noexcept {
    return octets_.capacity() + moving_.capacity() * sizeof(moving_index) + names_.capacity() +
           spelled_names_.capacity() + named_.capacity() * sizeof(named) +
           varying_.capacity() * sizeof(std::uint16_t);
  }

 private:
  // An index into the dynamic table.
  struct moving_index {
    std::uint16_t at = 0;  // in octets_
    bool has_two_octets = false;
    std::int32_t index = 0;  // now
  };
  // A field of the learned block that may vary, whether its name is known to vary or not.
  struct named {
    std::uint16_t at = 0;  // in octets_, where one that varies has no octets
    std::uint16_t end = 0;
    std::uint16_t name_at = 0;  // in names_
    std::uint16_t name_bytes = 0;
    std::uint16_t spelled_at = 0;  // in spelled_names_
    std::uint16_t spelled_bytes = 0;
    bool is_huffman = false;  // its name, if it is spelled out
    bool may_vary = false;
    bool is_entry = false;  // the block has inserted it: octets_ has the index of the new entry in its place
    bool inserts = false;  // it varies, and the block has inserted it
    bool has_moving_name = false;  // its name is an index into the dynamic table
  };
  // Of the block that is learned.
  struct progress {
    std::uint64_t inserted = 0;  // as table.inserted() was at this field
    std::uint32_t entries = 0;  // literals that the next block will not insert again
    const varying_names* names = nullptr;
    bool (*may_vary)(std::string_view name) = nullptr;
  };
  // What the literals that a block inserts do to the table.
  struct insertions {
    std::uint32_t count = 0;
    std::uint32_t bytes_max = 0;
    std::uint64_t oldest = 0;  // the first entry that the block needs
  };

  [[nodiscard]] bool move_indexes(std::uint64_t moved) noexcept;
  [[nodiscard]] bool write_index(moving_index& m) noexcept;
  [[nodiscard]] CORACLE_HOT likeness match_parts(bytes_view block, const dynamic_table& table) noexcept;
  [[nodiscard]] bool take_value(const named& f, const std::uint8_t*& at, const std::uint8_t* end,
                                const dynamic_table& table, insertions& in) noexcept;
  [[nodiscard]] bool take_index(const named& f, const std::uint8_t*& at, const std::uint8_t* end,
                                const dynamic_table& table, insertions& in) noexcept;
  [[nodiscard]] static bool survives(const insertions& in, const dynamic_table& table) noexcept;
  CORACLE_COLD likeness compare_named(bytes_view block, const dynamic_table& table) noexcept;
  [[nodiscard]] bool take_name(const named& f, std::uint32_t index, const std::uint8_t*& at,
                               const std::uint8_t* end, const dynamic_table& table, insertions& in) noexcept;
  [[nodiscard]] bool learn_fields(bytes_view block, const dynamic_table& table, progress so_far);
  [[nodiscard]] bool learn_index(std::uint32_t index, const dynamic_table& table, const progress& so_far);
  [[nodiscard]] bool add_index(std::uint32_t index, const progress& so_far);
  [[nodiscard]] bool add_name(std::string_view name, named& to);
  [[nodiscard]] bool add_if_varying(const named& f, std::size_t value_bytes, const progress& so_far,
                                    bool& varies);
  [[nodiscard]] bool learn_literal(const std::uint8_t*& at, const std::uint8_t* end,
                                   const dynamic_table& table, progress& so_far);
  [[nodiscard]] std::string_view name_of(const named& f) const noexcept {
    return std::string_view(names_).substr(f.name_at, f.name_bytes);
  }

  // The octets of a block that matches, without those of fields that vary, for a table with moved_
  // insertions since the learned block began.
  std::vector<std::uint8_t> octets_;
  std::vector<moving_index> moving_;
  std::vector<named> named_;
  std::vector<std::uint16_t> varying_;  // indexes in named_
  std::string names_;
  std::string spelled_names_;  // as they were on the wire
  std::uint64_t inserted_ = 0;  // table.inserted() before the learned block
  std::uint64_t moved_ = 0;  // the insertions since then that octets_ considers
  std::uint64_t oldest_ = 0;  // the first of the entries to which it refers, or the next one
  std::uint32_t differing_ = 0;  // a bit for each of named_: those of the last comparison that differ
  std::uint32_t found_count_ = 0;
  std::uint32_t varying_bytes_ = 0;
  bool is_learned_ = false;
  // Whether the octets of all literals that do not vary stand for the same field each time, and leave the
  // table as it is. If not, no block matches.
  bool is_settled_ = false;
  std::array<varying, varying_max> found_{};
};

}  // namespace coracle::hpack
