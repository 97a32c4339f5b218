#include "protocol/grpc/accepted_encodings.hpp"

#include <array>

namespace coracle::protocol::grpc {

encoding_set parse_accepted_encodings(std::string_view list) noexcept {
  std::uint32_t bits = 0;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    std::string_view name = list.substr(0, comma);
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    if (const auto e = encoding_named(name)) bits |= 1u << static_cast<unsigned>(*e);
  }
  return encoding_set::from_bits(bits);
}

const std::string& accepted_encodings_text(encoding_set s) {
  // All combinations are created in advance, because a call must not allocate for them. They are never
  // destroyed, because calls may run while the program exits.
  using all_texts = std::array<std::string, 1u << encoding_count>;
  static const all_texts& texts = *new all_texts([] {
    all_texts all;
    for (std::uint32_t bits = 0; bits < all.size(); ++bits) {
      for (std::size_t i = 0; i < encoding_count; ++i) {
        const auto e = static_cast<encoding>(i);
        if (encoding_set::from_bits(bits).has(e))
          all[bits].append(all[bits].empty() ? "" : ",").append(name_of(e));
      }
    }
    return all;
  }());
  return texts[s.bits()];
}

std::optional<encoding> accepted_encoding(std::string_view name, encoding_set accepted) noexcept {
  const auto e = encoding_named(name);
  return e && accepted.has(*e) ? e : std::nullopt;
}

}  // namespace coracle::protocol::grpc
