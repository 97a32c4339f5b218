#include "hpack/block_pattern.hpp"

#include "hpack/huffman.hpp"
#include "hpack/integer.hpp"
#include "hpack/static_table.hpp"

#include <algorithm>
#include <utility>

namespace coracle::hpack {

namespace {

using base::equal_octets;

constexpr std::uint32_t index_form = 0x80;  // RFC 7541 6.1
constexpr std::uint32_t two_octets_from = 0x7f;  // an index that does not fit into the first octet
constexpr std::uint8_t first_of_two_octets = 0xff;
constexpr std::uint8_t inserting_form = 0x40;  // RFC 7541 6.2.1
constexpr std::uint8_t size_update_form = 0x20;  // RFC 7541 6.3
constexpr std::uint8_t never_indexed_form = 0x10;  // RFC 7541 6.2.3
constexpr unsigned inserting_prefix_bits = 6;
constexpr unsigned other_prefix_bits = 4;

// Of a representation that is not an index.
std::uint8_t form_of(std::uint8_t octet) noexcept {
  if ((octet & inserting_form) != 0) return inserting_form;
  return (octet & size_update_form) != 0 ? size_update_form : octet & never_indexed_form;
}

// A string on the wire (RFC 7541 5.2).
struct wire_string {
  bytes_view octets;
  bool huffman = false;
};

// Reads the length of a string and skips its octets.
bool skip_string(const std::uint8_t*& at, const std::uint8_t* end, wire_string& out) noexcept {
  if (at == end) return false;
  out.huffman = (*at & 0x80) != 0;
  std::uint32_t bytes = 0;
  if (read_integer(at, end, 7, bytes) != integer_error::none) return false;
  if (static_cast<std::size_t>(end - at) < bytes) return false;
  out.octets = {at, bytes};
  at += bytes;
  return true;
}

// Of a block that was decoded before.
std::string text_of(const wire_string& s) {
  if (!s.huffman) return std::string(as_text(s.octets));
  std::string text(huffman::decoded_bound(s.octets.size()), '\0');
  text.resize(huffman::decode(s.octets, text.data()).bytes);
  return text;
}

}  // namespace

bool block_pattern::move_indexes(std::uint64_t moved) noexcept {
  const auto by = static_cast<std::int32_t>(moved - moved_);
  moved_ = moved;
  for (moving_index& m : moving_) {
    m.index += by;
    if (m.index < static_cast<std::int32_t>(two_octets_from)) [[likely]] {
      octets_[m.at] = static_cast<std::uint8_t>(index_form + static_cast<std::uint32_t>(m.index));
    } else if (!write_index(m)) {
      is_learned_ = false;
      return false;
    }
  }
  return true;
}

// Writes an index that needs two octets. The places of what is behind it move when it gets the second one,
// for which learn_index() has reserved the memory.
CORACLE_COLD bool block_pattern::write_index(moving_index& m) noexcept {
  const std::uint32_t above = static_cast<std::uint32_t>(m.index) - two_octets_from;
  if (above > 0x7f) return false;
  if (!std::exchange(m.has_two_octets, true)) {
    octets_.insert(octets_.begin() + m.at, std::uint8_t{first_of_two_octets});
    const auto shift = [&](std::uint16_t& at) {
      if (at > m.at) ++at;
    };
    for (moving_index& other : moving_) shift(other.at);
    for (named& f : named_) {
      shift(f.at);
      shift(f.end);
    }
  }
  octets_[m.at + 1] = static_cast<std::uint8_t>(above);
  return true;
}

// The octets between the literals that vary must be those of the learned block.
block_pattern::likeness block_pattern::match_parts(bytes_view block, const dynamic_table& table) noexcept {
  insertions in;
  in.oldest = oldest_;
  const std::uint8_t* at = block.data();
  const std::uint8_t* const end = at + block.size();
  std::size_t from = 0;
  for (const std::uint16_t i : varying_) {
    const named& f = named_[i];
    const std::size_t bytes = f.at - from;
    const std::uint32_t count = in.count + f.inserts;
    if (static_cast<std::size_t>(end - at) <= bytes || !equal_octets(at, octets_.data() + from, bytes))
      return compare_named(block, table);
    at += bytes;
    if (!take_value(f, at, end, table, in)) return likeness::none;
    if (in.count != count) return compare_named(block, table);  // which moves the indexes behind it
    from = f.end;
  }
  if (!equal_octets({at, end}, bytes_view(octets_).subspan(from))) return compare_named(block, table);
  return in.count == 0 || survives(in, table) ? likeness::like : likeness::none;
}

// An insertion evicts at most as many entries as it could hold empty ones. What the block refers to must
// survive all insertions, wherever in the block they are.
bool block_pattern::survives(const insertions& in, const dynamic_table& table) noexcept {
  if (table.size_bytes() + in.bytes_max <= table.max_bytes()) return true;
  const std::uint32_t evicted = in.bytes_max / entry_overhead_bytes + in.count;
  return in.bytes_max <= table.max_bytes() && in.oldest >= table.inserted() - table.count() + evicted;
}

// Compares the name of a field, whatever its representation is, and notes its value.
bool block_pattern::take_value(const named& f, const std::uint8_t*& at, const std::uint8_t* end,
                               const dynamic_table& table, insertions& in) noexcept {
  if (*at >= index_form) return take_index(f, at, end, table, in);
  const std::uint8_t form = form_of(*at);
  if (form == size_update_form) return false;
  const bool inserts = form == inserting_form;
  std::uint32_t index = 0;
  if (read_integer(at, end, inserts ? inserting_prefix_bits : other_prefix_bits, index) !=
      integer_error::none)
    return false;
  if (!take_name(f, index, at, end, table, in)) return false;
  wire_string value;
  if (!skip_string(at, end, value)) return false;
  if (inserts) {
    ++in.count;
    in.bytes_max += entry_overhead_bytes + f.name_bytes +
                    static_cast<std::uint32_t>(huffman::decoded_bound(value.octets.size()));
  }
  found_[found_count_++] = {name_of(f),    value.octets, false,
                            value.huffman, inserts,      form == never_indexed_form};
  return true;
}

// An encoder refers to an entry again if the value recurs.
bool block_pattern::take_index(const named& f, const std::uint8_t*& at, const std::uint8_t* end,
                               const dynamic_table& table, insertions& in) noexcept {
  std::uint32_t index = 0;
  if (read_integer(at, end, 7, index) != integer_error::none) return false;
  const std::uint32_t age = index - static_entry_count - 1;  // wraps around for the static table
  if (age < in.count || age - in.count >= table.count()) return false;
  const std::uint64_t number = table.number_of(age - in.count);
  const dynamic_table::entry& e = table.at(number);
  if (!equal_octets(as_bytes(table.name(e)), as_bytes(name_of(f)))) return false;
  in.oldest = std::min(in.oldest, number);
  found_[found_count_++] = {name_of(f), as_bytes(table.value(e)), true};
  return true;
}

// An encoder may spell out a name at first, and refer to its entry later.
bool block_pattern::take_name(const named& f, std::uint32_t index, const std::uint8_t*& at,
                              const std::uint8_t* end, const dynamic_table& table, insertions& in) noexcept {
  const bytes_view name = as_bytes(name_of(f));
  if (index == 0) {
    wire_string spelled;
    if (!skip_string(at, end, spelled)) return false;
    if (!spelled.huffman) return equal_octets(spelled.octets, name);
    return f.is_huffman &&
           equal_octets(spelled.octets, as_bytes(spelled_names_).subspan(f.spelled_at, f.spelled_bytes));
  }
  if (index <= static_entry_count) return equal_octets(as_bytes(static_table[index].name), name);
  const std::uint32_t age = index - static_entry_count - 1;
  if (age < in.count || age - in.count >= table.count()) return false;
  const std::uint64_t number = table.number_of(age - in.count);
  in.oldest = std::min(in.oldest, number);
  return equal_octets(as_bytes(table.name(table.at(number))), name);
}

// Compares field by field: which fields differ only in their values, apart from those that vary? A literal
// that is inserted where it is not expected moves the indexes behind it.
block_pattern::likeness block_pattern::compare_named(bytes_view block, const dynamic_table& table) noexcept {
  differing_ = 0;
  found_count_ = 0;
  insertions in;
  in.oldest = oldest_;
  std::int32_t not_expected = 0;  // insertions
  const std::uint8_t* at = block.data();
  const std::uint8_t* const end = at + block.size();
  std::size_t from = 0;
  auto moving = moving_.begin();
  // Whether the next field is the index at this place.
  const auto equal_index = [&] {
    const std::uint8_t* behind = at;
    std::uint32_t index = 0;
    if (at == end || *at < index_form || read_integer(behind, end, 7, index) != integer_error::none ||
        static_cast<std::int32_t>(index) != moving->index + not_expected)
      return false;
    at = behind;
    return true;
  };
  const auto equal_run = [&](std::size_t to) {
    while (from < to) {
      if (moving != moving_.end() && moving->at == from) {
        if (!equal_index()) return false;
        from += moving++->has_two_octets ? 2 : 1;
      } else if (at == end || *at++ != octets_[from++]) {
        return false;
      }
    }
    return true;
  };
  for (std::size_t i = 0; i < named_.size(); ++i) {
    const named& f = named_[i];
    if (!equal_run(f.at) || at == end) return likeness::none;
    from = f.end;
    if (f.is_entry) {
      const bool found = equal_index();
      ++moving;
      if (found) continue;
    }
    const std::uint8_t* const begin = at;
    const std::uint32_t inserted = in.count;
    const bool varies = std::find(varying_.begin(), varying_.end(), i) != varying_.end();
    if (!varies && found_count_ == varying_max) return likeness::none;
    if (!take_value(f, at, end, table, in)) return likeness::none;
    not_expected += static_cast<std::int32_t>(in.count - inserted) - (f.inserts ? 1 : 0);
    if (varies) continue;
    --found_count_;
    const bytes_view learned = bytes_view(octets_).subspan(f.at, static_cast<std::size_t>(f.end - f.at));
    if (!f.has_moving_name && !f.is_entry && equal_octets({begin, at}, learned)) continue;
    if (!f.may_vary) return likeness::none;
    differing_ |= 1u << i;
  }
  const bool same_form = equal_run(octets_.size()) && at == end;
  if (same_form && differing_ == 0 && survives(in, table)) return likeness::like;
  found_count_ = 0;
  return same_form && differing_ != 0 ? likeness::similar : likeness::none;
}

bool block_pattern::varying_names::contains(std::string_view name) const noexcept {
  return std::find(names_.begin(), names_.end(), name) != names_.end();
}

void block_pattern::varying_names::add(std::string_view name) {
  if (name.size() > name_bytes_max || contains(name)) return;
  if (names_.size() == varying_max) names_.clear();
  names_.emplace_back(name);
}

void block_pattern::add_differing(varying_names& to) const {
  for (std::size_t i = 0; i < named_.size(); ++i)
    if ((differing_ >> i & 1) != 0) to.add(name_of(named_[i]));
}

void block_pattern::learn(bytes_view block, std::uint64_t inserted_before, const dynamic_table& table,
                          const varying_names& names, bool (*may_vary)(std::string_view)) {
  is_learned_ = false;  // also if memory is exhausted below
  octets_.clear();
  moving_.clear();
  named_.clear();
  varying_.clear();
  names_.clear();
  spelled_names_.clear();
  differing_ = 0;
  found_count_ = 0;
  varying_bytes_ = 0;
  is_settled_ = true;
  inserted_ = inserted_before;
  moved_ = 0;
  oldest_ = table.inserted();
  is_learned_ = block.size() <= bytes_max && learn_fields(block, table, {inserted_, 0, &names, may_vary});
}

bool block_pattern::learn_fields(bytes_view block, const dynamic_table& table, progress so_far) {
  const std::uint8_t* at = block.data();
  const std::uint8_t* const end = at + block.size();
  while (at != end) {
    if (*at < index_form) {
      if (!learn_literal(at, end, table, so_far)) return false;
      continue;
    }
    std::uint32_t index = 0;
    if (read_integer(at, end, 7, index) != integer_error::none || !learn_index(index, table, so_far))
      return false;
  }
  octets_.reserve(octets_.size() + moving_.size());
  // A literal that is larger than the table has not been inserted into it.
  return so_far.inserted == table.inserted() && move_indexes(table.inserted() - inserted_);
}

bool block_pattern::learn_index(std::uint32_t index, const dynamic_table& table, const progress& so_far) {
  if (index > static_entry_count && !so_far.names->empty()) {
    const std::uint64_t number = so_far.inserted - (index - static_entry_count);
    if (!table.alive(number)) return false;  // evicted by this block
    const dynamic_table::entry& e = table.at(number);
    if (so_far.names->contains(table.name(e))) {
      named f;
      bool varies = false;
      return add_name(table.name(e), f) && add_if_varying(f, e.value_bytes, so_far, varies);
    }
  }
  return add_index(index, so_far);
}

bool block_pattern::add_index(std::uint32_t index, const progress& so_far) {
  if (index > static_entry_count) {
    if (moving_.size() == moving_max) return false;
    oldest_ = std::min(oldest_, so_far.inserted - (index - static_entry_count));
    moving_.push_back({static_cast<std::uint16_t>(octets_.size()), false,
                       static_cast<std::int32_t>(index - so_far.entries)});
  }
  octets_.push_back(static_cast<std::uint8_t>(index_form + index));
  return true;
}

bool block_pattern::add_name(std::string_view name, named& to) {
  if (names_.size() + name.size() > names_bytes_max) return false;
  to.at = to.end = static_cast<std::uint16_t>(octets_.size());
  to.name_at = static_cast<std::uint16_t>(names_.size());
  to.name_bytes = static_cast<std::uint16_t>(name.size());
  names_ += name;
  return true;
}

// Returns false if more fields vary than are allowed.
bool block_pattern::add_if_varying(const named& f, std::size_t value_bytes, const progress& so_far,
                                   bool& varies) {
  varies = so_far.names->contains(name_of(f));
  if (!varies) return true;
  if (varying_.size() == varying_max || named_.size() == named_max) return false;
  varying_.push_back(static_cast<std::uint16_t>(named_.size()));
  varying_bytes_ += static_cast<std::uint32_t>(value_bytes);
  named_.push_back(f);
  return true;
}

bool block_pattern::learn_literal(const std::uint8_t*& at, const std::uint8_t* end,
                                  const dynamic_table& table, progress& so_far) {
  const std::uint8_t* const begin = at;
  const std::uint8_t form = form_of(*at);
  const bool inserts = form == inserting_form;
  if (form == size_update_form || named_.size() == named_max) return false;
  std::uint32_t index = 0;
  if (read_integer(at, end, inserts ? inserting_prefix_bits : other_prefix_bits, index) !=
      integer_error::none)
    return false;
  named f;
  if (index == 0) {
    wire_string name;
    if (!skip_string(at, end, name) || !add_name(text_of(name), f)) return false;
    f.is_huffman = name.huffman;
    f.spelled_at = static_cast<std::uint16_t>(spelled_names_.size());
    f.spelled_bytes = static_cast<std::uint16_t>(name.octets.size());
    spelled_names_ += as_text(name.octets);
  } else if (index <= static_entry_count) {
    if (!add_name(static_table[index].name, f)) return false;
  } else {
    const std::uint64_t number = so_far.inserted - (index - static_entry_count);
    // It may have been evicted by this block.
    if (!table.alive(number) || !add_name(table.name(table.at(number)), f)) return false;
  }
  f.may_vary = so_far.may_vary(name_of(f));
  wire_string value;
  if (!skip_string(at, end, value)) return false;
  if (inserts) ++so_far.inserted;
  f.inserts = inserts;
  bool varies = false;
  if (!add_if_varying(f, text_of(value).size(), so_far, varies)) return false;
  if (varies) return true;
  f.inserts = false;
  if (inserts) {
    f.is_entry = true;
    ++so_far.entries;
    if (!add_index(static_entry_count + 1, so_far)) return false;
  } else {
    f.has_moving_name = index > static_entry_count;
    is_settled_ &= !f.has_moving_name;
    octets_.insert(octets_.end(), begin, at);
  }
  f.end = static_cast<std::uint16_t>(octets_.size());
  named_.push_back(f);
  return true;
}

}  // namespace coracle::hpack
