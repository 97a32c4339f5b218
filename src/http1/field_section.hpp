// field_section: the field lines of headers or trailers (RFC 9112 5).
#pragma once

#include "http1/refusal.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace coracle::http1 {

// The fields that the engine itself obeys or drops.
enum class field_kind : std::uint8_t {
  regular,
  host,
  connection,
  content_length,
  transfer_encoding,
  expect,
  te,
  hop_by_hop,  // Keep-Alive, Proxy-Connection, Trailer, Upgrade: ignored
};

[[nodiscard]] field_kind kind_of_field(std::string_view name) noexcept;  // in any case

struct field_line {
  std::uint32_t name_at;  // offsets in the octets of the section
  std::uint32_t name_bytes;
  std::uint32_t value_at;
  std::uint32_t value_bytes;
  field_kind kind;

  [[nodiscard]] std::string_view name(std::string_view section) const noexcept {
    return section.substr(name_at, name_bytes);
  }
  [[nodiscard]] std::string_view value(std::string_view section) const noexcept {
    return section.substr(value_at, value_bytes);
  }
};

// Keeps where the fields are, not their octets, so that these are copied only once it is known which of them
// the message keeps. Its memory is reused.
class field_section {
 public:
  void clear() noexcept { lines_.clear(); }
  // Reads the line that begins at `at` within the section, without its CRLF; it is not empty.
  [[nodiscard]] refusal add(std::string_view line, std::size_t at);

  [[nodiscard]] const std::vector<field_line>& lines() const noexcept { return lines_; }
  [[nodiscard]] std::size_t size() const noexcept { return lines_.size(); }
  [[nodiscard]] std::size_t memory_bytes() const noexcept { return lines_.capacity() * sizeof(field_line); }
  void release() noexcept { lines_ = {}; }

 private:
  std::vector<field_line> lines_;
};

}  // namespace coracle::http1
