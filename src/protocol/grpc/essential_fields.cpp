#include "protocol/grpc/essential_fields.hpp"

#include "protocol/grpc/header_names.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace coracle::protocol::grpc {

namespace {

constexpr std::array essential_names{status_header,
                                     message_header,
                                     retry_pushback_header,
                                     encoding_header,
                                     std::string_view("content-type"),
                                     std::string_view("content-encoding"),
                                     std::string_view("content-length"),
                                     std::string_view("connect-content-encoding")};
// Longer values of these fields are not valid. A grpc-message is shortened to this size.
constexpr std::size_t value_bytes_max = shortened_message_bytes;

// Whether a cut in front of text[at] is within a character: whether it is followed by a continuation byte of
// UTF-8, as it is or escaped.
bool continues_character(std::string_view text, std::size_t at) noexcept {
  auto next = static_cast<unsigned char>(text[at]);
  if (next == '%' && text.size() - at > 2)
    std::from_chars(text.data() + at + 1, text.data() + at + 3, next, 16);
  return (next & 0xc0) == 0x80;
}

bool is_within_escape(std::string_view text, std::size_t at) noexcept {
  return (at > 0 && text[at - 1] == '%') || (at > 1 && text[at - 2] == '%');
}

}  // namespace

bool essential_fields::take(std::string_view name, std::string_view& value) noexcept {
  const auto found = std::find(essential_names.begin(), essential_names.end(), name);
  if (found == essential_names.end()) return false;
  const unsigned bit = 1u << (found - essential_names.begin());
  if ((taken_ & bit) != 0) return false;
  if (name == message_header) value = shortened_message(value);
  if (value.size() > value_bytes_max) return false;
  taken_ |= bit;
  return true;
}

std::string_view shortened_message(std::string_view encoded, std::size_t bytes_max) noexcept {
  if (encoded.size() <= bytes_max) return encoded;
  std::size_t at = bytes_max;
  while (at > 0 && (is_within_escape(encoded, at) || continues_character(encoded, at))) --at;
  return encoded.substr(0, at);
}

}  // namespace coracle::protocol::grpc
