// Prints the encodings of messages that this program has.
#include "coracle/compress/encoding.hpp"

#include <cstddef>
#include <cstdio>
#include <string_view>

int main() {
  for (std::size_t i = 0; i < coracle::encoding_count; ++i) {
    const auto e = static_cast<coracle::encoding>(i);
    if (!coracle::available(e)) continue;
    const std::string_view name = coracle::name_of(e);
    std::printf("%.*s\n", static_cast<int>(name.size()), name.data());
  }
}
