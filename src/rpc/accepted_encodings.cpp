#include "rpc/accepted_encodings.hpp"

namespace coracle::calls {

accepted_encodings accepted_encodings::named(std::string_view list) noexcept {
  std::uint32_t bits = 0;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    std::string_view name = list.substr(0, comma);
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    if (const auto e = encoding_named(name)) bits |= 1u << static_cast<unsigned>(*e);
  }
  return accepted_encodings(bits);
}

const std::string& accepted_here() {
  static const std::string text = [] {
    std::string names;
    for (std::size_t i = 0; i < encoding_count; ++i) {
      const auto e = static_cast<encoding>(i);
      if (available(e)) names.append(names.empty() ? "" : ",").append(name_of(e));
    }
    return names;
  }();
  return text;
}

std::optional<encoding> available_encoding(std::string_view name) noexcept {
  const auto e = encoding_named(name);
  return e && available(*e) ? e : std::nullopt;
}

}  // namespace coracle::calls
