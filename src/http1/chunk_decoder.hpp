// chunk_decoder: the lines between the chunks of a body (RFC 9112 7.1).
#pragma once

#include "coracle/base/bytes.hpp"
#include "http1/limits.hpp"
#include "http1/refusal.hpp"

#include <cstddef>
#include <cstdint>

namespace coracle::http1 {

// Reads one octet after another and keeps none of them, so that neither the division of the input into pieces
// nor the size of an extension matters.
class chunk_decoder {
 public:
  enum class step : std::uint8_t { starved, data, last, refused };

  void start() noexcept { *this = {}; }
  // Consumes octets of `in`. `data`: `piece` is the next piece of the body. `last`: the trailers follow.
  step next(bytes_view& in, bytes_view& piece, const limits& l) noexcept;
  [[nodiscard]] const refusal& reason() const noexcept { return refused_; }

 private:
  // The extensions are *( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] ).
  enum class part : std::uint8_t {
    first_digit,
    size,
    before_semicolon,  // after white space
    before_name,
    name,
    before_equals,  // after white space that follows a name
    before_value,
    token,
    quoted,
    escaped,
    after_value,  // of a quoted value
    line_feed,
    data,
    data_return,  // the CRLF after the data
    data_feed,
  };
  bool take(char c, const limits& l) noexcept;
  bool take_extension(char c) noexcept;
  bool end_line(const limits& l) noexcept;
  bool refuse(int status, std::string_view reason) noexcept {
    refused_ = {status, reason};
    return false;
  }

  std::uint64_t left_ = 0;  // of the chunk
  std::uint64_t total_ = 0;  // of the body, including this chunk
  std::uint32_t line_ = 0;  // octets of the line so far
  std::uint32_t digits_ = 0;
  std::uint64_t extensions_ = 0;  // octets of all lines beyond the digits and the CRLF
  part at_ = part::first_digit;
  bool last_ = false;
  refusal refused_{};
};

}  // namespace coracle::http1
