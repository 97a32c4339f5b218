#include "framed_message.hpp"

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace conformance {

bool read_framed(std::FILE* from, google::protobuf::MessageLite& into) {
  std::array<unsigned char, 4> prefix;
  const std::size_t got = std::fread(prefix.data(), 1, prefix.size(), from);
  if (got == 0) return false;
  if (got != prefix.size()) throw std::runtime_error("the input ends within a message's length");
  std::size_t size = 0;
  for (const unsigned char byte : prefix) size = size << 8 | byte;
  std::string bytes(size, '\0');
  if (std::fread(bytes.data(), 1, size, from) != size)
    throw std::runtime_error("the input ends within a message");
  if (!into.ParseFromString(bytes))
    throw std::runtime_error("the input is no message of the conformance suite");
  return true;
}

void write_framed(std::FILE* to, const google::protobuf::MessageLite& message) {
  const std::string bytes = message.SerializeAsString();
  std::string framed;
  for (int shift = 24; shift >= 0; shift -= 8) framed.push_back(static_cast<char>(bytes.size() >> shift));
  framed += bytes;
  if (std::fwrite(framed.data(), 1, framed.size(), to) != framed.size() || std::fflush(to) != 0)
    throw std::runtime_error("the suite reads no more");
}

}  // namespace conformance
