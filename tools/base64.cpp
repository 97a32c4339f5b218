#include "tools/base64.hpp"

#include "tools/failure.hpp"

#include <openssl/evp.h>

#include <cstddef>
#include <cstdint>

namespace coracle::tools {

std::string to_base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // OpenSSL ends it with a zero
  const int n =
      EVP_EncodeBlock(reinterpret_cast<std::uint8_t*>(text.data()),
                      reinterpret_cast<const std::uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(n));
  return text;
}

std::string from_base64(std::string text) {
  while (text.size() % 4 != 0) text.push_back('=');
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::string bytes(text.size() / 4 * 3, '\0');
  const int n =
      EVP_DecodeBlock(reinterpret_cast<std::uint8_t*>(bytes.data()),
                      reinterpret_cast<const std::uint8_t*>(text.data()), static_cast<int>(text.size()));
  if (n < 0) throw failure("this is no base64: " + text);
  bytes.resize(static_cast<std::size_t>(n) - padding);
  return bytes;
}

}  // namespace coracle::tools
