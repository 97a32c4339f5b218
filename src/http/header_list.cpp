#include "coracle/http/header_list.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace coracle::http {

namespace {
// A typical gRPC request has 150 to 250 bytes in ten fields.
constexpr std::size_t first_capacity_bytes = 384;
constexpr std::size_t max_bytes = std::numeric_limits<std::uint32_t>::max();
}  // namespace

header_list::block* header_list::allocate(std::size_t capacity) {
  capacity = (capacity + alignof(place) - 1) / alignof(place) * alignof(place);
  return ::new (::operator new(sizeof(block) + capacity)) block{capacity, 0, 0};
}

header_list::header_list(const header_list& other) {
  if (other.empty()) return;
  reserve(other.size(), other.block_->used);
  *this = other;
}

header_list& header_list::operator=(const header_list& other) {
  if (this == &other) return *this;
  clear();
  if (other.empty()) return *this;
  const block& from = *other.block_;
  reserve(from.count, from.used);
  std::memcpy(block_->text(), other.block_->text(), from.used);
  std::memcpy(block_->place_of(from.count - 1), other.block_->place_of(from.count - 1),
              from.count * sizeof(place));
  block_->used = from.used;
  block_->count = from.count;
  return *this;
}

// Returns a copy of the block with a capacity of at least `needed_bytes`.
header_list::block* header_list::larger(std::size_t needed_bytes) const {
  const std::size_t doubled = block_ ? block_->capacity * 2 : 0;
  block* const b = allocate(std::max({needed_bytes, doubled, first_capacity_bytes}));
  if (empty()) return b;
  b->used = block_->used;
  b->count = block_->count;
  std::memcpy(b->text(), block_->text(), b->used);
  std::memcpy(b->place_of(b->count - 1), block_->place_of(b->count - 1), b->count * sizeof(place));
  return b;
}

void header_list::add_with_growth(std::string_view name, std::string_view value) {
  const std::size_t used = block_ ? block_->used : 0;
  if (name.size() > max_bytes || value.size() > max_bytes || used + name.size() + value.size() > max_bytes)
    throw std::length_error("header_list: more than 4 GiB of fields");
  block* const old =
      std::exchange(block_, larger(used + name.size() + value.size() + (size() + 1) * sizeof(place)));
  push(name, value);  // the views may point into the old block
  free(old);
}

void header_list::reserve(std::size_t fields, std::size_t bytes) {
  if (bytes > max_bytes) throw std::length_error("header_list: more than 4 GiB of fields");
  const std::size_t needed = bytes + fields * sizeof(place);
  if (needed == 0 || (block_ && needed <= block_->capacity)) return;
  free(std::exchange(block_, larger(needed)));
}

void header_list::clear() noexcept {
  if (block_) block_->used = block_->count = 0;
}

void header_list::release(std::size_t keep_bytes) noexcept {
  clear();
  if (capacity_bytes() > keep_bytes) free(std::exchange(block_, nullptr));
}

std::optional<std::string_view> header_list::find(std::string_view name) const noexcept {
  for (const header_view field : *this)
    if (field.name == name) return field.value;
  return std::nullopt;
}

std::optional<std::string_view> header_list::find_last(std::string_view name) const noexcept {
  for (std::size_t i = size(); i-- > 0;)
    if (const header_view field = (*this)[i]; field.name == name) return field.value;
  return std::nullopt;
}

std::size_t header_list::count(std::string_view name) const noexcept {
  return static_cast<std::size_t>(
      std::count_if(begin(), end(), [name](const header_view& field) { return field.name == name; }));
}

bool operator==(const header_list& a, const header_list& b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace coracle::http
