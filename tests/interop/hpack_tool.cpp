// hpack_tool: our HPACK encoder and decoder behind lines of text, for other people's to be compared with.
// Bytes are hexadecimal.
//
//   new                           a connection begins
//   table BYTES                   the size limit of both tables
//   encode [POLICY:NAME:VALUE]... answers with the block; i: indexed, p: not indexed, n: never indexed
//   decode BLOCK                  answers with fields (v:NAME:VALUE, n when never indexed), or error and why
#include "hpack/decoder.hpp"
#include "hpack/encoder.hpp"

#include <cstdio>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace hpack = coracle::hpack;

std::string hex_of(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text.push_back(digits[static_cast<unsigned char>(byte) >> 4]);
    text.push_back(digits[static_cast<unsigned char>(byte) & 15]);
  }
  return text;
}

std::string bytes_of(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return bytes;
}

hpack::indexing policy_of(char letter) {
  if (letter == 'i') return hpack::indexing::index;
  return letter == 'n' ? hpack::indexing::never_index : hpack::indexing::no_index;
}

struct connection {
  hpack::encoder encoder;
  hpack::decoder decoder;
};

std::string encode(hpack::encoder& encoder, std::istream& words) {
  std::string block;
  std::vector<std::uint8_t> room(hpack::encoder::begin_bound);
  const auto keep = [&](const std::uint8_t* end) {
    block.append(room.cbegin(), room.cbegin() + (end - room.data()));
  };
  keep(encoder.begin_block(room.data()));
  for (std::string word; words >> word;) {
    const auto colon = word.find(':', 2);
    const auto name = bytes_of(std::string_view(word).substr(2, colon - 2));
    const auto value = bytes_of(std::string_view(word).substr(colon + 1));
    room.resize(hpack::encoder::bound(name.size(), value.size()));
    keep(encoder.encode(room.data(), name, value, policy_of(word[0])));
  }
  return hex_of(block);
}

std::string decode(hpack::decoder& decoder, std::string_view block) {
  decoder.start({reinterpret_cast<const std::uint8_t*>(block.data()), block.size()});
  std::string fields;
  while (decoder.next() == hpack::decoder::step::field) {
    const auto& field = decoder.current();
    fields += (field.never_index ? "n:" : "v:") + hex_of(field.name) + ':' + hex_of(field.value) + ' ';
  }
  if (decoder.error() == hpack::decode_error::none) return fields;
  return "error " + std::string(to_string(decoder.error()));
}

}  // namespace

int main() {
  auto at = std::make_unique<connection>();
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string order, word;
    words >> order;
    if (order == "new") at = std::make_unique<connection>();
    if (order == "encode") std::cout << encode(at->encoder, words) << std::endl;
    if (order != "table" && order != "decode") continue;
    words >> word;
    if (order == "decode") std::cout << decode(at->decoder, bytes_of(word)) << std::endl;
    if (order != "table") continue;
    const auto limit = static_cast<std::uint32_t>(std::stoul(word));
    at->encoder.set_peer_limit(limit);
    at->decoder.set_table_limit(limit);
  }
  return 0;
}
