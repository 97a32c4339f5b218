#include "http/field_rules.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <limits>

namespace coracle::http {

namespace {

// The characters of a token (RFC 9110 5.6.2), and those of them that RFC 9113 8.2.1 allows in a field name.
constexpr std::uint8_t token_character = 1;
constexpr std::uint8_t name_character = 2;

consteval std::array<std::uint8_t, 256> make_character_table() {
  std::array<std::uint8_t, 256> table{};
  for (const char c : std::string_view("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"))
    table[static_cast<unsigned char>(c)] = token_character | name_character;
  for (unsigned char c = 'A'; c <= 'Z'; ++c) table[c] = token_character;
  return table;
}
constexpr std::array<std::uint8_t, 256> character_table = make_character_table();

constexpr bool has_upper_case(std::string_view text) {
  for (const char c : text)
    if (c >= 'A' && c <= 'Z') return true;
  return false;
}

bool all_are(std::string_view text, std::uint8_t wanted_class) {
  std::uint8_t common = wanted_class;
  for (const char c : text) common &= character_table[static_cast<unsigned char>(c)];
  return common == wanted_class;
}

// Checks eight octets at a time. The result of zero_octets() is nonzero exactly if some octet of `word` is 0.
constexpr std::uint64_t every_octet(std::uint8_t octet) { return 0x0101010101010101u * octet; }
constexpr std::uint64_t zero_octets(std::uint64_t word) {
  return (word - every_octet(0x01)) & ~word & every_octet(0x80);
}
constexpr std::uint64_t forbidden_octets(std::uint64_t word) {
  return zero_octets(word) | zero_octets(word ^ every_octet('\r')) | zero_octets(word ^ every_octet('\n'));
}

std::uint64_t load_word(const char* from) {
  std::uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

}  // namespace

field_error check_field_name(std::string_view name) noexcept {
  if (name.empty()) return field_error::name_empty;
  if (all_are(name, name_character)) [[likely]]
    return field_error::none;
  return has_upper_case(name) ? field_error::name_upper_case : field_error::name_character;
}

bool valid_value_characters(std::string_view value) noexcept {
  const char* at = value.data();
  std::size_t left = value.size();
  if (left < 8) {
    bool bad = false;
    for (const char c : value) bad |= c == '\0' || c == '\r' || c == '\n';
    return !bad;
  }
  std::uint64_t found = 0;
  for (; left >= 8; left -= 8, at += 8) found |= forbidden_octets(load_word(at));
  // The last word overlaps octets that were checked already.
  if (left != 0) found |= forbidden_octets(load_word(at + left - 8));
  return found == 0;
}

bool valid_uri_characters(std::string_view text) noexcept {
  bool bad = false;
  for (const char c : text) bad |= c <= ' ' || c == 0x7f || (c & 0x80) != 0;
  return !bad;
}

bool valid_authority(std::string_view text) noexcept {
  return valid_uri_characters(text) && text.find('@') == std::string_view::npos;
}

bool valid_token(std::string_view text) noexcept { return !text.empty() && all_are(text, token_character); }

std::optional<std::uint64_t> parse_content_length(std::string_view value) noexcept {
  constexpr std::uint64_t max_value = std::numeric_limits<std::uint64_t>::max();
  if (value.empty()) return std::nullopt;
  std::uint64_t length = 0;
  for (const char c : value) {
    if (c < '0' || c > '9') return std::nullopt;
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (length > (max_value - digit) / 10) return std::nullopt;
    length = length * 10 + digit;
  }
  return length;
}

std::string_view to_string(field_error error) noexcept {
  switch (error) {
    case field_error::none: return "no error";
    case field_error::name_empty: return "a field has an empty name";
    case field_error::name_upper_case: return "a field name has an upper-case letter";
    case field_error::name_character: return "a field name has a forbidden character";
    case field_error::value_character: return "a field value has NUL, CR or LF";
    case field_error::value_edge_whitespace: return "a field value begins or ends with white space";
    case field_error::connection_specific: return "a connection-specific field in HTTP/2";
    case field_error::te_not_trailers: return "te has a value other than trailers";
    case field_error::content_length_value: return "content-length is not a number";
    case field_error::pseudo_unknown: return "an unknown pseudo-header";
    case field_error::method_value: return ":method is not a token";
    case field_error::scheme_value: return ":scheme is not valid";
    case field_error::path_value: return ":path is neither absolute nor *";
    case field_error::path_character: return ":path has a character that must be percent-encoded";
    case field_error::authority_value: return ":authority or host holds user information";
    case field_error::authority_character:
      return ":authority or host has a character that must be percent-encoded";
    case field_error::status_value: return ":status is not a valid code";
    case field_error::pseudo_in_wrong_message: return "a pseudo-header in the wrong kind of message";
    case field_error::pseudo_after_regular: return "a pseudo-header after a regular field";
    case field_error::pseudo_duplicate: return "a pseudo-header occurs twice";
    case field_error::content_length_duplicate: return "content-length occurs twice";
    case field_error::method_missing: return ":method is missing";
    case field_error::scheme_missing: return ":scheme is missing";
    case field_error::path_missing: return ":path is missing";
    case field_error::asterisk_without_options: return ":path * without the method OPTIONS";
    case field_error::authority_missing: return "CONNECT without :authority";
    case field_error::connect_with_scheme: return "CONNECT with :scheme";
    case field_error::connect_with_path: return "CONNECT with :path";
    case field_error::status_missing: return ":status is missing";
  }
  return "unknown";
}

}  // namespace coracle::http
