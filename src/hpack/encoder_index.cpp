#include "hpack/encoder_index.hpp"

#include "hpack/hash.hpp"

#include <algorithm>
#include <limits>

namespace coracle::hpack {

namespace {

constexpr std::uint32_t first_capacity = 16;

// Walks a chain from its newest entry on and gives the number of the first that `is_it`. Ages must rise: a
// number from 2^32 insertions ago could otherwise lead in a circle.
template <class Older, class IsIt>
bool walk(const dynamic_table& table, std::uint32_t number_plus_one, Older older, IsIt is_it,
          std::uint64_t& found) {
  std::int64_t last_age = -1;
  for (;;) {
    const std::uint32_t age = static_cast<std::uint32_t>(table.inserted()) - number_plus_one;
    if (age >= table.count() || static_cast<std::int64_t>(age) <= last_age) return false;
    const std::uint64_t number = table.number_of(age);
    if (is_it(number)) {
      found = number;
      return true;
    }
    last_age = age;
    number_plus_one = older(number);
  }
}

}  // namespace

encoder_index::hashes encoder_index::hash(std::string_view name, std::string_view value) noexcept {
  const std::uint64_t of_name = hash_bytes(name.data(), name.size(), 0);
  const std::uint64_t of_field = hash_bytes(value.data(), value.size(), of_name);
  return {static_cast<std::uint32_t>(of_name >> 32), static_cast<std::uint32_t>(of_field >> 32)};
}

encoder_index::match encoder_index::find(const dynamic_table& table, std::string_view name,
                                         std::string_view value, hashes h) const noexcept {
  match m;
  if (capacity_ == 0) return m;
  const std::uint32_t mask = capacity_ - 1;
  m.field = walk(
      table, by_field_[h.field & mask], [&](std::uint64_t n) { return links_[n & mask].older_field; },
      [&](std::uint64_t n) {
        const dynamic_table::entry& e = table.at(n);
        return links_[n & mask].hash.field == h.field && table.value(e) == value && table.name(e) == name;
      },
      m.field_number);
  if (m.field) return m;
  m.name = walk(
      table, by_name_[h.name & mask], [&](std::uint64_t n) { return links_[n & mask].older_name; },
      [&](std::uint64_t n) {
        return links_[n & mask].hash.name == h.name && table.name(table.at(n)) == name;
      },
      m.name_number);
  return m;
}

void encoder_index::add(const dynamic_table& table, hashes h) {
  if (table.count() > capacity_) grow(table);
  const std::uint64_t number = table.inserted() - 1;
  const std::uint32_t mask = capacity_ - 1;
  std::uint32_t& newest_name = by_name_[h.name & mask];
  std::uint32_t& newest_field = by_field_[h.field & mask];
  links_[number & mask] = {h, newest_name, newest_field};
  newest_name = newest_field = static_cast<std::uint32_t>(number + 1);
}

// Called with one entry in the table that has no link yet: the newest.
void encoder_index::grow(const dynamic_table& table) {
  const std::uint32_t old_mask = capacity_ - 1;
  const std::unique_ptr<link[]> old = std::move(links_);
  capacity_ = std::max(capacity_ * 2, first_capacity);
  links_ = std::make_unique<link[]>(capacity_);
  by_name_ = std::make_unique<std::uint32_t[]>(capacity_);
  by_field_ = std::make_unique<std::uint32_t[]>(capacity_);
  const std::uint32_t mask = capacity_ - 1;
  for (std::uint32_t age = table.count() - 1; age > 0; --age) {
    const std::uint64_t number = table.number_of(age);
    const hashes h = old[number & old_mask].hash;
    links_[number & mask] = {h, by_name_[h.name & mask], by_field_[h.field & mask]};
    by_name_[h.name & mask] = by_field_[h.field & mask] = static_cast<std::uint32_t>(number + 1);
  }
}

}  // namespace coracle::hpack
