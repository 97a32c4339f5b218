// trailers: the last frame of a gRPC-Web response body, which carries what HTTP/2 sends as trailers
// (grpc/grpc doc/PROTOCOL-WEB.md, "Message framing"): lines "name: value" that end with CRLF.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/http/header_list.hpp"
#include "protocol/envelope.hpp"
#include "protocol/web/ascii.hpp"
#include "protocol/web/body_reader.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::protocol::grpc_web {

// The flag of the trailer frame; with compressed_flag, its content is compressed as grpc-encoding says.
inline constexpr std::uint8_t trailer_flag = 0x80;
inline constexpr std::uint8_t compressed_flag = 0x01;

// Limits of what a client accepts: as much as of the end of a Connect stream. Each field also costs memory
// beyond its bytes.
inline constexpr std::uint32_t trailer_bytes_max = 1u << 20;
inline constexpr std::size_t trailer_fields_max = 8192;

// Builds the trailer frame. It has the function that grpc::add_status() and grpc::for_each_wire_field()
// write to.
class trailer_block {
 public:
  trailer_block() : frame_(envelope_prefix_bytes, '\0') {}

  // Adds a line; the name is written in lower case. CR, LF and NUL in a value are written as spaces (RFC 9110
  // 5.5), so that no value can forge a line.
  void add(std::string_view name, std::string_view value);

  // The lines alone, to compress them. The frame then consists of a prefix with both flags and the result.
  [[nodiscard]] std::string_view lines() const noexcept {
    return std::string_view(frame_).substr(envelope_prefix_bytes);
  }
  // Returns the uncompressed frame. The block is then empty.
  [[nodiscard]] std::string take_frame();

 private:
  std::string frame_;
};

enum class trailer_error : std::uint8_t {
  none,
  no_colon,
  bad_name,  // not a token; also a continuation line (RFC 9112 5.2), which has no name
  bad_value,  // contains NUL or CR
  line_after_end,  // an empty line ends the block
  too_many_fields,  // more than trailer_fields_max
};
// Returns a short sentence for a status, in static storage.
[[nodiscard]] std::string_view to_string(trailer_error error) noexcept;

// Reads the content of a trailer frame, after its decompression. It has the function of a
// transport::header_source that grpc::response_headers::read() reads from. Names may have any case and are
// passed on in lower case; whitespace around names and values is ignored. Lines may end with LF alone, and
// the last one without.
class trailer_lines {
 public:
  // The bytes must live until the fields have been read.
  explicit trailer_lines(std::string_view content) noexcept : rest_(content) {}

  // Reads the next line; the views are valid until the next call. Returns false at the end, or at an error.
  bool next(http::header_view& out);
  // The reason why next() returned false.
  [[nodiscard]] trailer_error error() const noexcept { return error_; }

  // Calls f(0, text) for each field, where text() returns the field; 0 means that no slot was stored (see
  // http/field_slot.hpp). Returns false if a line is malformed; what was read must then be ignored.
  template <class F>
  [[nodiscard]] bool read(F&& f) {
    http::header_view field;
    while (next(field)) f(std::uint32_t{0}, [&field] { return field; });
    return error_ == trailer_error::none;
  }

 private:
  bool fail(trailer_error error) noexcept {
    error_ = error;
    return false;
  }
  std::string_view rest_;
  std::string name_;
  std::size_t fields_ = 0;
  trailer_error error_ = trailer_error::none;
};

// Splits a response body into messages and the trailer frame.
class body_reader : public web::body_reader {
 public:
  explicit body_reader(std::uint32_t bytes_max = trailer_bytes_max) noexcept
      : web::body_reader(trailer_flag, bytes_max) {}
};

}  // namespace coracle::protocol::grpc_web
