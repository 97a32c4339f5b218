// text_body: the bodies of application/grpc-web-text: base64 that may be padded anywhere between two groups
// of four characters, because each flush ends with padding (grpc/grpc doc/PROTOCOL-WEB.md, "Text-encoded
// streams").
#pragma once

#include "coracle/base/bytes.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::protocol::grpc_web {

// Decodes a body from pieces that are cut anywhere.
class text_decoder {
 public:
  // Appends the bytes of `text` to `out`. Returns false if the text is not base64: nothing more can be
  // decoded, and what was appended before the fault is valid.
  [[nodiscard]] bool decode(std::string_view text, std::string& out);
  // At the end of the body: whether it ended after a complete group.
  [[nodiscard]] bool complete() const noexcept { return held_ == 0 && !failed_; }

 private:
  std::uint32_t bits_ = 0;   // of the group of four characters that has begun
  std::uint8_t held_ = 0;    // its characters so far, padding included
  std::uint8_t padding_ = 0;  // the '=' among them
  bool failed_ = false;
};

// Encodes a body. What was encoded before a flush is a multiple of three bytes; up to two bytes wait for more
// of them, so that a message that is written in pieces has padding at its end alone.
class text_encoder {
 public:
  // Appends the text of the bytes that fill groups of three.
  void encode(bytes_view bytes, std::string& out);
  // Appends the text of the bytes that wait, padded, so that the peer can decode everything. Appends nothing
  // if none wait.
  void flush(std::string& out);

 private:
  std::uint8_t held_[2] = {};
  std::uint8_t held_bytes_ = 0;
};

}  // namespace coracle::protocol::grpc_web
