#include "hpack/stateless_encoder.hpp"

#include "hpack/integer.hpp"
#include "hpack/static_table.hpp"
#include "hpack/string_literal.hpp"

namespace coracle::hpack {

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
