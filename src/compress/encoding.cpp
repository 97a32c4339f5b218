#include "coracle/compress/encoding.hpp"

#include "compress/coder.hpp"
#include "coracle/compress/encoding.hpp"

#include <array>

namespace coracle {

namespace {

struct row {
  std::string_view name;
  std::unique_ptr<compress::coder> (*make)();  // null: not in this program
};

const std::array<row, encoding_count>& table() noexcept {
  static const std::array<row, encoding_count> rows{{{"identity", nullptr},
                                                     {"deflate", compress::make_deflate},
                                                     {"gzip", compress::make_gzip},
                                                     {"zstd", compress::make_zstd},
                                                     {"br", compress::make_brotli},
                                                     {"snappy", compress::make_snappy},
                                                     {"lz4", compress::make_lz4}}};
  return rows;
}

const row& row_of(encoding e) noexcept { return table()[static_cast<std::size_t>(e)]; }

}  // namespace

std::string_view name_of(encoding e) noexcept { return row_of(e).name; }

std::optional<encoding> encoding_named(std::string_view name) noexcept {
  for (std::size_t i = 0; i < encoding_count; ++i)
    if (table()[i].name == name) return static_cast<encoding>(i);
  return std::nullopt;
}

bool available(encoding e) noexcept { return e == encoding::identity || row_of(e).make; }

encoding_set encoding_set::all() noexcept {
  static const std::uint32_t bits = [] {
    std::uint32_t those = 0;
    for (std::size_t i = 0; i < encoding_count; ++i)
      if (available(static_cast<encoding>(i))) those |= 1u << i;
    return those;
  }();
  return from_bits(bits);
}

namespace compress {

std::unique_ptr<coder> make_coder(encoding e) {
  const auto make = row_of(e).make;
  return make ? make() : nullptr;
}

}  // namespace compress
}  // namespace coracle
