#include "http1/field_section.hpp"

#include "http1/text.hpp"

#include <cstring>

namespace coracle::http1 {

namespace {

// Checks eight octets at a time; see is_value_character(). The result is nonzero if some octet of the word
// may be a control character: HTAB, which is allowed, is one of those.
constexpr std::uint64_t every_octet(std::uint8_t octet) { return 0x0101010101010101u * octet; }
constexpr std::uint64_t below(std::uint64_t word, std::uint8_t limit) {
  return (word - every_octet(limit)) & ~word & every_octet(0x80);
}
constexpr std::uint64_t suspects(std::uint64_t word) {
  return below(word, 0x20) | below(word ^ every_octet(0x7f), 1);
}

bool valid_value(std::string_view value) noexcept {
  const char* at = value.data();
  std::size_t left = value.size();
  for (; left >= 8; left -= 8, at += 8) {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    if (suspects(word) != 0) break;
  }
  for (; left > 0; --left, ++at)
    if (!is_value_character(*at)) return false;
  return true;
}

}  // namespace

field_kind kind_of_field(std::string_view name) noexcept {
  const auto is = [name](std::string_view known) { return equal_ignoring_case(name, known); };
  switch (name.size()) {
    case 2: return is("te") ? field_kind::te : field_kind::regular;
    case 4: return is("host") ? field_kind::host : field_kind::regular;
    case 6: return is("expect") ? field_kind::expect : field_kind::regular;
    case 7: return is("upgrade") || is("trailer") ? field_kind::hop_by_hop : field_kind::regular;
    case 10:
      if (is("connection")) return field_kind::connection;
      return is("keep-alive") ? field_kind::hop_by_hop : field_kind::regular;
    case 14: return is("content-length") ? field_kind::content_length : field_kind::regular;
    case 16: return is("proxy-connection") ? field_kind::hop_by_hop : field_kind::regular;
    case 17: return is("transfer-encoding") ? field_kind::transfer_encoding : field_kind::regular;
    default: return field_kind::regular;
  }
}

refusal field_section::add(std::string_view line, std::size_t at) {
  // RFC 9112 5.2: a line that begins with white space continues the one before (obs-fold), or is none.
  if (is_blank(line.front())) return {400, "a field line that begins with white space (obs-fold)"};
  std::size_t n = 0;  // of the name
  while (n < line.size() && is_token_character(line[n])) ++n;
  if (n == line.size()) return {400, "a field line without a colon"};
  if (line[n] != ':') {
    // RFC 9112 5.1
    if (is_blank(line[n])) return {400, "white space within or after a field name"};
    return {400, "a field name with a forbidden character"};
  }
  if (n == 0) return {400, "a field with an empty name"};
  const std::string_view value = trimmed(line.substr(n + 1));
  if (!valid_value(value)) return {400, "a field value with a control character"};
  lines_.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(n),
                    static_cast<std::uint32_t>(at + static_cast<std::size_t>(value.data() - line.data())),
                    static_cast<std::uint32_t>(value.size()), kind_of_field(line.substr(0, n))});
  return {};
}

}  // namespace coracle::http1
