#include "hpack/encoder.hpp"

#include "coracle/base/impl/assert.hpp"
#include "hpack/string_literal.hpp"

#include <algorithm>

namespace coracle::hpack {

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

// RFC 7541 4.2: of several changes, the lowest size and then the final one are told.
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

// By the static table, the dynamic table, then as a literal.
std::uint8_t* encoder::encode(std::uint8_t* out, std::string_view name, std::string_view value,
                              indexing policy) {
  CORACLE_ASSERT(!update_pending_, "call begin_block() first: a table size update is due");
  const static_match fixed = find_static(name, value);
  if (fixed.field_index != 0 && policy != indexing::never_index)
    return write_integer(out, 7, 0x80, fixed.field_index);

  std::uint32_t name_index = fixed.name_index;
  const std::uint64_t cost = std::uint64_t{name.size()} + value.size() + entry_overhead_bytes;
  // A field that would push out half of the table or more costs later blocks what it saves.
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
  if (!enter) {
    const literal_form form =
        policy == indexing::never_index ? literal_never_indexed : literal_without_indexing;
    return write_literal(out, form, name_index, name, value);
  }
  out = write_literal(out, literal_with_indexing, name_index, name, value);
  table_.insert(name, value);
  index_.add(table_, hashes);
  return out;
}

}  // namespace coracle::hpack
