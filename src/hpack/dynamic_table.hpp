// dynamic_table: the dynamic table (RFC 7541 2.3.2). Entries are evicted in the order of their insertion.
#pragma once

#include "hpack/field.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace coracle::hpack {

// Used by the encoder and by the decoder. Each entry's name and value are adjacent in a ring of bytes and
// never wrap around its end. The ring and the array of entries grow with use, up to what the size limit can
// require (at most twice the limit), so that an idle connection with few headers holds a few hundred bytes.
//
// An entry is identified by its number: the count of insertions before it, which does not change while the
// entry exists. Its HPACK index follows from its age. Views into the table are valid until the next insert()
// or set_max_bytes().
class dynamic_table {
 public:
  struct entry {
    std::uint32_t offset;
    std::uint32_t name_bytes;
    std::uint32_t value_bytes;
    std::uint32_t mark;  // the user's, initially 0; lost with the entry
  };

  explicit dynamic_table(std::uint32_t max_bytes = default_table_bytes) noexcept : max_bytes_(max_bytes) {}
  dynamic_table(const dynamic_table&) = delete;
  dynamic_table& operator=(const dynamic_table&) = delete;

  // Evicts entries until the field fits (RFC 7541 4.4) and inserts it with mark 0. One of the two views may
  // point into the table, even at an entry that this insertion evicts, but not both: then `value` must not.
  // Returns false if the field is larger than the whole table, which is then empty; this is not an error. The
  // bytes of evicted entries stay readable until the next insertion that succeeds.
  bool insert(std::string_view name, std::string_view value);

  // Sets the maximum size (RFC 7541 4.3). A smaller size evicts entries; 0 also frees the memory.
  void set_max_bytes(std::uint32_t max_bytes) noexcept;

  [[nodiscard]] std::uint32_t max_bytes() const noexcept { return max_bytes_; }
  // The size as RFC 7541 4.1 defines it: names, values and 32 bytes per entry.
  [[nodiscard]] std::uint32_t size_bytes() const noexcept { return size_bytes_; }
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  // The number of insertions so far, which is the number of the next entry.
  [[nodiscard]] std::uint64_t inserted() const noexcept { return inserted_; }

  [[nodiscard]] bool alive(std::uint64_t number) const noexcept {
    return number < inserted_ && inserted_ - number <= count_;
  }
  // Returns the number of the entry with this age, which must be less than count(); 0 is the newest entry.
  [[nodiscard]] std::uint64_t number_of(std::uint32_t age) const noexcept { return inserted_ - 1 - age; }
  [[nodiscard]] std::uint32_t age_of(std::uint64_t number) const noexcept {
    return static_cast<std::uint32_t>(inserted_ - 1 - number);
  }

  // The entry must exist.
  [[nodiscard]] entry& at(std::uint64_t number) noexcept { return entries_[number & entry_mask_]; }
  [[nodiscard]] const entry& at(std::uint64_t number) const noexcept {
    return entries_[number & entry_mask_];
  }
  [[nodiscard]] std::string_view name(const entry& e) const noexcept {
    return {bytes_.get() + e.offset, e.name_bytes};
  }
  [[nodiscard]] std::string_view value(const entry& e) const noexcept {
    return {bytes_.get() + e.offset + e.name_bytes, e.value_bytes};
  }

  // Heap memory held, for quotas.
  [[nodiscard]] std::size_t capacity_bytes() const noexcept;

 private:
  void evict_to(std::uint32_t bytes) noexcept;
  [[nodiscard]] bool find_room(std::uint32_t bytes, std::uint32_t& offset) const noexcept;
  std::uint32_t grow_ring(std::uint32_t bytes, std::unique_ptr<char[]>& old);
  void grow_entries();

  std::unique_ptr<char[]> bytes_;
  std::unique_ptr<entry[]> entries_;
  std::uint64_t inserted_ = 0;
  std::uint64_t entry_mask_ = 0;
  std::uint32_t entry_capacity_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t ring_bytes_ = 0;
  std::uint32_t size_bytes_ = 0;
  std::uint32_t max_bytes_;
};

}  // namespace coracle::hpack
