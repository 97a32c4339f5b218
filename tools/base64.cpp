#include "tools/base64.hpp"

#include "tools/failure.hpp"

#include <openssl/evp.h>

#include <cstddef>
#include <cstdint>

namespace coracle::tools {

std::string to_base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // OpenSSL appends a zero byte
  const int n =
      EVP_EncodeBlock(reinterpret_cast<std::uint8_t*>(text.data()),
                      reinterpret_cast<const std::uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(n));
  return text;
}

std::string from_base64(std::string_view text) {
  std::string_view digits = text;
  for (int i = 0; i < 2 && digits.ends_with('=') && text.size() % 4 == 0; ++i) digits.remove_suffix(1);
  constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (digits.find_first_not_of(alphabet) != digits.npos || digits.size() % 4 == 1)
    throw failure("'" + std::string(text) + "' is not base64");
  std::string padded(digits);
  padded.resize((digits.size() + 3) / 4 * 4, '=');
  std::string bytes(padded.size() / 4 * 3, '\0');
  EVP_DecodeBlock(reinterpret_cast<std::uint8_t*>(bytes.data()),
                  reinterpret_cast<const std::uint8_t*>(padded.data()), static_cast<int>(padded.size()));
  bytes.resize(digits.size() * 3 / 4);
  return bytes;
}

}  // namespace coracle::tools
