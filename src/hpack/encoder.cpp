#include "hpack/encoder.hpp"

#include "coracle/base/impl/assert.hpp"
#include "hpack/hash.hpp"
#include "hpack/huffman.hpp"
#include "hpack/integer.hpp"
#include "hpack/static_table.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace coracle::hpack {

namespace {

std::uint8_t* write_plain_string(std::uint8_t* out, std::string_view text) noexcept {
  out = write_integer(out, 7, 0, static_cast<std::uint32_t>(text.size()));
  if (!text.empty()) std::memcpy(out, text.data(), text.size());
  return out + text.size();
}

}  // namespace

std::uint8_t* write_string(std::uint8_t* out, std::string_view text) noexcept {
  const std::size_t encoded = huffman::encoded_bytes(text);
  if (encoded >= text.size()) return write_plain_string(out, text);
  out = write_integer(out, 7, 0x80, static_cast<std::uint32_t>(encoded));
  return huffman::encode(out, text);
}

std::uint8_t* write_literal(std::uint8_t* out, literal_form form, std::uint32_t name_index,
                            std::string_view name, std::string_view value) noexcept {
  out = write_integer(out, form.prefix_bits, form.pattern, name_index);
  if (name_index == 0) out = write_string(out, name);
  return write_string(out, value);
}

encoder::encoder(std::uint32_t own_limit_bytes) noexcept
    : own_limit_(std::min(own_limit_bytes, table_bytes_max)),
      lowest_size_(std::min(own_limit_, default_table_bytes)),
      next_size_(lowest_size_),
      update_pending_(next_size_ != table_.max_bytes()) {}

void encoder::set_peer_limit(std::uint32_t bytes) noexcept {
  next_size_ = std::min(bytes, own_limit_);
  lowest_size_ = std::min(lowest_size_, next_size_);
  update_pending_ = next_size_ != table_.max_bytes() || lowest_size_ != table_.max_bytes();
}

// RFC 7541 4.2: after several changes, signals the smallest size and then the final size.
std::uint8_t* encoder::write_updates(std::uint8_t* out) noexcept {
  if (lowest_size_ < next_size_ && lowest_size_ < table_.max_bytes()) {
    table_.set_max_bytes(lowest_size_);
    out = write_integer(out, 5, 0x20, lowest_size_);
  }
  table_.set_max_bytes(next_size_);
  out = write_integer(out, 5, 0x20, next_size_);
  lowest_size_ = next_size_;
  update_pending_ = false;
  return out;
}

// A short value that is sent once, such as a timeout, is not Huffman-encoded: this would save a few octets,
// and take both sides some 200 instructions.
constexpr std::size_t plain_value_bytes_max = 16;

// Tries the static table, then the dynamic table, and falls back to a literal.
std::uint8_t* encoder::encode(std::uint8_t* out, std::string_view name, std::string_view value,
                              indexing policy) {
  CORACLE_ASSERT(!update_pending_, "call begin_block() first: a table size update is due");
  const static_match fixed = find_static(name, value);
  if (fixed.field_index != 0 && policy != indexing::never_index)
    return write_integer(out, 7, 0x80, fixed.field_index);

  std::uint32_t name_index = fixed.name_index;
  const std::uint64_t cost = std::uint64_t{name.size()} + value.size() + entry_overhead_bytes;
  // A field that evicts half of the table or more costs later blocks more than it saves.
  bool enter = (policy == indexing::index || policy == indexing::name_only) && cost <= table_.max_bytes() / 2;
  encoder_index::hashes hashes{};
  if (enter || table_.count() != 0) {
    hashes = encoder_index::hash(name, value);
    const encoder_index::match known = index_.find(table_, name, value, hashes);
    if (known.field && policy != indexing::never_index) return encode_indexed(out, known.field_number);
    if (name_index == 0 && (known.name || known.field))
      name_index =
          static_entry_count + 1 + table_.age_of(known.name ? known.name_number : known.field_number);
  }
  if (policy == indexing::name_only && name_index != 0) enter = false;
  if (!enter && policy == indexing::never_index)
    return write_literal(out, literal_never_indexed, name_index, name, value);
  if (!enter && value.size() > plain_value_bytes_max)
    return write_literal(out, literal_without_indexing, name_index, name, value);
  if (!enter) {
    out = write_integer(out, literal_without_indexing.prefix_bits, literal_without_indexing.pattern,
                        name_index);
    if (name_index == 0) out = write_string(out, name);
    return write_plain_string(out, value);
  }
  out = write_literal(out, literal_with_indexing, name_index, name, value);
  table_.insert(name, value);
  index_.add(table_, hashes);
  return out;
}

namespace {

constexpr std::uint32_t first_capacity = 16;

// Follows a chain from its newest entry and returns the number of the first entry for which `is_it` is true.
// Ages must increase: otherwise a number from 2^32 insertions ago could make the walk loop forever.
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

// Called when the newest entry of the table has no link yet.
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

std::uint8_t* stateless_encoder::encode(std::uint8_t* out, std::string_view name, std::string_view value,
                                        bool never_index) noexcept {
  const static_match match = find_static(name, value);
  // A static field is not secret, but "never indexed" requires a literal (RFC 7541 6.2.3).
  if (match.field_index != 0 && !never_index) return write_integer(out, 7, 0x80, match.field_index);
  return write_literal(out, never_index ? literal_never_indexed : literal_without_indexing, match.name_index,
                       name, value);
}

std::vector<std::uint8_t> stateless_encoder::encode_block(std::span<const field> fields) {
  std::size_t most = 0;
  for (const field& f : fields) most += bound(f.name.size(), f.value.size());
  std::vector<std::uint8_t> block(most);
  std::uint8_t* out = block.data();
  for (const field& f : fields) out = encode(out, f.name, f.value, f.never_index);
  block.resize(static_cast<std::size_t>(out - block.data()));
  return block;
}

}  // namespace coracle::hpack
