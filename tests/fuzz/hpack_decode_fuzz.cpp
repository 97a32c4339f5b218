// Blocks from a hostile peer: no crash, and the same fields and errors as the slow reference decoder.
//
// The input is a series of records: a length byte and that many bytes of block; length 0xff stands for a new
// table limit, whose value follows in two bytes. Fields are assigned slots and tags, whose consistency is
// checked.
#include "hpack/decoder.hpp"
#include "unit/hpack/reference_decoder.hpp"

#include <cstdint>
#include <cstdlib>
#include <vector>

namespace hpack = coracle::hpack;
using hpack::testing::outcome;

namespace {

void require(bool fine) {
  if (!fine) std::abort();
}

// A mark that belongs to this field only, so that a mixed-up entry is detected.
std::uint32_t mark_for(const hpack::field& f) {
  std::uint32_t sum = 1;
  for (const char c : f.name) sum = sum * 31 + static_cast<unsigned char>(c);
  for (const char c : f.value) sum = sum * 31 + static_cast<unsigned char>(c);
  return sum | 1;
}

const hpack::static_marks& marks_of_static_table() {
  static const hpack::static_marks marks = [] {
    hpack::static_marks all{};
    for (std::uint32_t i = 1; i <= hpack::static_entry_count; ++i) all[i] = mark_for(hpack::static_table[i]);
    return all;
  }();
  return marks;
}

outcome decode(hpack::decoder& d, const std::vector<std::uint8_t>& block) {
  outcome o;
  d.start(block);
  const auto read_marked = [&] {
    d.read_marked([&](std::uint32_t mark, std::uint32_t bytes, auto text) {
      const hpack::field f = text();
      require(mark == mark_for(f) && bytes == f.name.size() + f.value.size());
      if (mark % 8 == 3) return false;  // for next()
      o.fields.push_back({std::string(f.name), std::string(f.value), f.never_index});
      return true;
    });
  };
  for (read_marked(); d.next() == hpack::decoder::step::field; read_marked()) {
    const hpack::field f = d.current();
    const std::uint32_t mark = mark_for(f);
    require(d.mark() == 0 || d.mark() == mark);
    d.set_mark(mark);
    if (mark % 4 != 1) d.keep();
    require(d.current().name == f.name && d.current().value == f.value);
    o.fields.push_back({std::string(f.name), std::string(f.value), f.never_index});
  }
  o.error = d.error();
  return o;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  hpack::decoder d({.string_bytes_max = 200}, &marks_of_static_table());
  hpack::testing::reference_decoder reference(200);
  coracle::bytes_view rest(data, size);
  while (!rest.empty()) {
    const std::size_t length = rest[0];
    rest = rest.subspan(1);
    if (length == 0xff) {
      if (rest.size() < 2) break;
      const auto limit = static_cast<std::uint32_t>(rest[0] << 8 | rest[1]);
      rest = rest.subspan(2);
      d.set_table_limit(limit);
      reference.set_table_limit(limit);
      continue;
    }
    const coracle::bytes_view bytes = rest.first(std::min(length, rest.size()));
    rest = rest.subspan(bytes.size());
    const std::vector<std::uint8_t> block(bytes.begin(), bytes.end());
    const outcome expected = reference.decode(block);
    require(decode(d, block) == expected);
    require(d.table().size_bytes() == reference.size_bytes());
    if (expected.error != hpack::decode_error::none) break;
  }
  return 0;
}
