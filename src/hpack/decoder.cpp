#include "hpack/decoder.hpp"

#include "coracle/base/impl/assert.hpp"
#include "hpack/huffman.hpp"
#include "hpack/integer.hpp"

#include <algorithm>
#include <cstring>

namespace coracle::hpack {

namespace {
// RFC 7541 4.2: an encoder signals the smallest size since the last block, and the final size.
constexpr int size_updates_max = 2;
}  // namespace

void decoder::set_table_limit(std::uint32_t bytes) noexcept {
  CORACLE_ASSERT(bytes <= table_bytes_max, "limit SETTINGS_HEADER_TABLE_SIZE to hpack::table_bytes_max");
  table_limit_ = bytes;
  // RFC 7541 4.2: of several changes between two blocks, the smallest limit must be respected, too.
  lowest_limit_ = std::min(lowest_limit_, bytes);
}

void decoder::start(bytes_view block) noexcept {
  literal_ = {};
  origin_ = origin::other;
  fields_begun_ = false;
  block_bytes_ = block.size();
  at_ = block.data();
  end_ = error_ == decode_error::none ? at_ + block.size() : at_;
  update_due_ = lowest_limit_ < table_.max_bytes();
  if (!update_due_) lowest_limit_ = table_limit_;
}

decoder::step decoder::fail(decode_error error) noexcept {
  error_ = error;
  at_ = end_;
  literal_ = {};
  origin_ = origin::other;
  return step::error;
}

// Enough for the whole block, so that decoding a field's value never moves its name, and for `more` bytes.
inline void decoder::reserve_scratch(std::size_t more) {
  const std::size_t needed = more + huffman::decoded_bound(block_bytes_) + huffman::decoded_bound(0);
  if (scratch_capacity_ >= needed) return;
  scratch_ = std::make_unique_for_overwrite<char[]>(needed);
  scratch_capacity_ = needed;
}

// Handles everything except one-byte indexes. Size updates are not fields; the loop reads all of them at the
// start of a block.
decoder::step decoder::next_slow() {
  for (int updates = 0;;) {
    if (error_ != decode_error::none) return step::error;
    const bool update = at_ != end_ && (*at_ & 0xe0) == 0x20;
    if (update_due_ && !update) return fail(decode_error::update_missing);
    if (at_ == end_) {
      literal_ = {};
      origin_ = origin::other;
      return step::end;
    }
    if (!update) break;
    if (++updates > size_updates_max) return fail(decode_error::update_too_many);
    if (!take_size_update()) return step::error;
  }
  fields_begun_ = true;
  if (*at_ & 0x80) return next_indexed();  // RFC 7541 6.1
  return next_literal((*at_ & 0x40) ? 6 : 4);  // RFC 7541 6.2.1; 6.2.2 and 6.2.3
}

// Reads a dynamic table size update (RFC 7541 6.3).
bool decoder::take_size_update() noexcept {
  std::uint32_t bytes = 0;
  if (fields_begun_) {
    fail(decode_error::update_after_field);
    return false;
  }
  if (!read_number(5, bytes)) return false;
  if (bytes > (update_due_ ? lowest_limit_ : table_limit_)) {
    fail(decode_error::update_above_limit);
    return false;
  }
  update_due_ = false;
  lowest_limit_ = table_limit_;
  table_.set_max_bytes(bytes);
  return true;
}

decoder::step decoder::next_indexed() {
  std::uint32_t index = 0;
  if (!read_number(7, index)) return step::error;
  if (index == 0) return fail(decode_error::index_zero);
  return take_indexed(index) ? step::field : fail(decode_error::index_out_of_range);
}

decoder::step decoder::next_literal(unsigned prefix_bits) {
  const std::uint8_t* const begin = at_;
  const bool enter = prefix_bits == 6;
  const bool never_index = !enter && (*at_ & 0x10) != 0;
  std::uint32_t index = 0;
  std::string_view name;
  raw_string raw_name{};
  raw_string raw_value{};
  if (!read_number(prefix_bits, index)) return step::error;
  if (index != 0 ? !name_at(index, name) : !read_raw_string(raw_name)) return step::error;
  if (!read_raw_string(raw_value)) return step::error;

  const bytes_view raw(begin, at_);
  // A name in the dynamic table would make the bytes ambiguous, and secrets must not be cached.
  const bool cacheable =
      !enter && !never_index && index <= static_entry_count && raw.size() <= literal_cache::raw_bytes_max;
  if (cacheable) {
    if (literal_cache::entry* e = cache_.find(raw)) {
      literal_ = {e->name, e->value, false};
      cached_ = e;
      origin_ = origin::cache_entry;
      return step::field;
    }
  }

  scratch_used_ = 0;
  std::string_view value;
  if (index == 0 && !expand(raw_name, name)) return step::error;
  if (!expand(raw_value, value)) return step::error;
  literal_ = {name, value, never_index};
  origin_ = cacheable ? origin::cacheable : origin::other;
  raw_ = raw;
  static_name_ = index != 0;
  pending_mark_ = 0;
  // A `name` in the dynamic table may belong to an entry that is evicted now. insert() allows this, and the
  // entry's bytes stay readable if nothing is inserted.
  if (enter && table_.insert(name, value)) take_indexed(static_entry_count + 1);
  return step::field;
}

// The values of entries are copied before an insertion moves them.
bool decoder::read_varying(const block_pattern& pattern, std::array<field, block_pattern::varying_max>& out) {
  scratch_used_ = 0;
  fields_begun_ = true;
  at_ = end_;
  std::size_t entry_bytes = 0;
  for (const block_pattern::varying& v : pattern.found())
    if (v.is_entry) entry_bytes += v.value.size();
  if (entry_bytes != 0) [[unlikely]]
    reserve_scratch(entry_bytes);
  field* to = out.data();
  for (const block_pattern::varying& v : pattern.found()) {
    std::string_view value = as_text(v.value);
    if (v.is_entry && !value.empty()) {
      std::memcpy(scratch_.get() + scratch_used_, value.data(), value.size());
      value = {scratch_.get() + scratch_used_, value.size()};
      scratch_used_ += value.size();
    }
    *to++ = {v.name, value, v.never_index};
  }
  to = out.data();
  for (const block_pattern::varying& v : pattern.found()) {
    if (v.huffman && !expand({v.value.data(), static_cast<std::uint32_t>(v.value.size()), true}, to->value))
      return false;
    if (v.insert) table_.insert(v.name, to->value);
    ++to;
  }
  return true;
}

bool decoder::name_at(std::uint32_t index, std::string_view& name) noexcept {
  if (index <= static_entry_count) {
    name = static_table[index].name;
    return true;
  }
  const std::uint32_t age = index - static_entry_count - 1;
  if (age >= table_.count()) {
    fail(decode_error::index_out_of_range);
    return false;
  }
  name = table_.name(table_.at(table_.number_of(age)));
  return true;
}

bool decoder::read_number(unsigned prefix_bits, std::uint32_t& value) noexcept {
  switch (read_integer(at_, end_, prefix_bits, value)) {
    case integer_error::none: return true;
    case integer_error::truncated: fail(decode_error::truncated); break;
    case integer_error::too_large: fail(decode_error::integer_too_large); break;
  }
  return false;
}

// Reads the string's length and encoded bytes (RFC 7541 5.2), without decoding them.
bool decoder::read_raw_string(raw_string& string) noexcept {
  if (at_ == end_) {
    fail(decode_error::truncated);
    return false;
  }
  string.huffman = (*at_ & 0x80) != 0;
  if (!read_number(7, string.bytes)) return false;
  if (!string.huffman && string.bytes > limits_.string_bytes_max) {
    fail(decode_error::string_too_long);
    return false;
  }
  if (static_cast<std::size_t>(end_ - at_) < string.bytes) {
    fail(decode_error::truncated);
    return false;
  }
  string.data = at_;
  at_ += string.bytes;
  return true;
}

// Returns the string's characters: in place if they are not Huffman-encoded, otherwise decoded into the
// scratch space.
bool decoder::expand(const raw_string& string, std::string_view& text) {
  if (!string.huffman) {
    text = as_text({string.data, string.bytes});
    return true;
  }
  reserve_scratch(0);
  char* const to = scratch_.get() + scratch_used_;
  const huffman::decoded result = huffman::decode({string.data, string.bytes}, to);
  if (result.error != huffman::error::none) {
    fail(result.error == huffman::error::padding ? decode_error::huffman_padding
                                                 : decode_error::huffman_end_of_string);
    return false;
  }
  if (result.bytes > limits_.string_bytes_max) {
    fail(decode_error::string_too_long);
    return false;
  }
  text = {to, result.bytes};
  scratch_used_ += result.bytes;
  return true;
}

void decoder::set_mark(std::uint32_t mark) noexcept {
  switch (origin_) {
    case origin::dynamic_entry: table_.at(number_).mark = mark; break;
    case origin::cache_entry: cached_->mark = mark; break;
    case origin::cacheable: pending_mark_ = mark; break;
    case origin::static_entry:
    case origin::other: break;
  }
}

void decoder::keep() {
  if (origin_ != origin::cacheable) return;
  literal_cache::entry* const e = cache_.store(raw_, literal_.name, literal_.value, static_name_);
  if (!e) return;
  e->mark = pending_mark_;
  cached_ = e;
  origin_ = origin::cache_entry;
}

std::size_t decoder::capacity_bytes() const noexcept {
  return table_.capacity_bytes() + cache_.capacity_bytes() + scratch_capacity_;
}

void decoder::release(std::size_t keep_bytes) noexcept {
  if (scratch_capacity_ <= keep_bytes) return;
  if (origin_ != origin::static_entry && origin_ != origin::dynamic_entry) literal_ = {};
  scratch_.reset();
  scratch_capacity_ = 0;
}

void decoder::release_literals() noexcept {
  if (origin_ == origin::cache_entry) {
    literal_ = {};
    origin_ = origin::other;
  }
  cache_.release();
}

std::string_view to_string(decode_error error) noexcept {
  switch (error) {
    case decode_error::none: return "no error";
    case decode_error::truncated: return "header block ends within a field (RFC 7541 6)";
    case decode_error::integer_too_large: return "integer of a header field too large (RFC 7541 5.1)";
    case decode_error::index_zero: return "index 0 in a header block (RFC 7541 6.1)";
    case decode_error::index_out_of_range: return "index beyond the tables (RFC 7541 2.3.3)";
    case decode_error::string_too_long: return "string of a header field longer than the limit";
    case decode_error::huffman_end_of_string: return "EOS in a Huffman string (RFC 7541 5.2)";
    case decode_error::huffman_padding: return "invalid padding of a Huffman string (RFC 7541 5.2)";
    case decode_error::update_after_field: return "dynamic table size update after a field (RFC 7541 4.2)";
    case decode_error::update_above_limit:
      return "dynamic table size update above SETTINGS_HEADER_TABLE_SIZE (RFC 7541 6.3)";
    case decode_error::update_missing:
      return "dynamic table size update missing after a lower limit (RFC 7541 4.2)";
    case decode_error::update_too_many:
      return "more than two dynamic table size updates in a header block (RFC 7541 4.2)";
  }
  return "unknown";
}

}  // namespace coracle::hpack
