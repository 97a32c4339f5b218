// Finds a field, or a name, among the entries of an encoder's dynamic table.
#pragma once

#include "hpack/dynamic_table.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace coracle::hpack {

// Two hash tables, by name and by name with value. Each bucket holds the number of its newest entry and each
// entry the number of the next older one in its bucket. Since the oldest entries leave first, a chain simply
// ends at the first number that is no longer alive: eviction costs nothing here.
// Numbers are kept in 32 bits; one that has come round again leads to an entry that fails the comparison.
class encoder_index {
 public:
  struct hashes {
    std::uint32_t name;
    std::uint32_t field;
  };
  struct match {
    bool name = false;
    bool field = false;
    std::uint64_t name_number = 0;
    std::uint64_t field_number = 0;
  };

  [[nodiscard]] static hashes hash(std::string_view name, std::string_view value) noexcept;
  // Newest matches first. The name is looked for only if the field is not found.
  [[nodiscard]] match find(const dynamic_table& table, std::string_view name, std::string_view value,
                           hashes h) const noexcept;
  // Tells of the entry that the table has just received.
  void add(const dynamic_table& table, hashes h);

  [[nodiscard]] std::size_t capacity_bytes() const noexcept {
    return capacity_ * (sizeof(link) + 2 * sizeof(std::uint32_t));
  }

 private:
  struct link {
    hashes hash;
    std::uint32_t older_name;
    std::uint32_t older_field;
  };
  void grow(const dynamic_table& table);

  std::unique_ptr<link[]> links_;             // by number modulo capacity
  std::unique_ptr<std::uint32_t[]> by_name_;  // newest entry of a bucket, number + 1; 0 is none
  std::unique_ptr<std::uint32_t[]> by_field_;
  std::uint32_t capacity_ = 0;  // a power of two
};

}  // namespace coracle::hpack
