#include "header_fields.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>

namespace conformance {

namespace {

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string base64_of(std::string_view bytes) {
  std::string text;
  std::uint32_t bits = 0;
  int pending = 0;  // bits that no letter stands for yet
  for (const char byte : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(byte);
    for (pending += 8; pending >= 6;) text.push_back(alphabet[bits >> (pending -= 6) & 63]);
  }
  if (pending > 0) text.push_back(alphabet[bits << (6 - pending) & 63]);
  return text;
}

std::string plain_bytes(const std::string& base64) {
  std::string bytes;
  std::uint32_t bits = 0;
  int pending = 0;
  for (const char letter : base64) {
    if (letter == '=') break;
    const auto value = alphabet.find(letter);
    if (value == alphabet.npos) return base64;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    pending += 6;
    if (pending >= 8) bytes.push_back(static_cast<char>(bits >> (pending -= 8)));
  }
  return bytes;
}

std::string lower_case(std::string name) {
  for (char& letter : name) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return name;
}

bool is_binary(std::string_view name) noexcept { return name.ends_with("-bin"); }

void tell_field(std::string_view name, std::string_view value, header_fields& into) {
  const auto found =
      std::find_if(into.begin(), into.end(), [&](const auto& field) { return field.name() == name; });
  auto& field = found == into.end() ? *into.Add() : *found;
  field.set_name(std::string(name));
  field.add_value(is_binary(name) ? base64_of(value) : std::string(value));
}

void tell_metadata(const coracle::metadata& from, header_fields& into) {
  for (const auto& one : from) tell_field(one.name, one.value, into);
}

}  // namespace conformance
