// proto_wire: protobuf's wire format, to the extent that status details and load reports need it.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::rpc {

inline void put_varint(std::string& to, std::uint64_t n) {
  for (; n >= 0x80; n >>= 7) to.push_back(static_cast<char>(n | 0x80));
  to.push_back(static_cast<char>(n));
}
// put_number() and put_text() leave out default values, as proto3 does.
inline void put_number(std::string& to, std::uint32_t field, std::uint64_t n) {
  if (n == 0) return;
  put_varint(to, field << 3);
  put_varint(to, n);
}
inline void put_text(std::string& to, std::uint32_t field, std::string_view text, bool even_empty = false) {
  if (text.empty() && !even_empty) return;
  put_varint(to, field << 3 | 2);
  put_varint(to, text.size());
  to.append(text);
}

inline void put_double(std::string& to, std::uint32_t field, double n) {
  const auto bits = std::bit_cast<std::uint64_t>(n);
  if (bits == 0) return;
  put_varint(to, field << 3 | 1);
  for (int shift = 0; shift < 64; shift += 8) to.push_back(static_cast<char>(bits >> shift));
}

// Reads the fields of a message, in order.
class proto_reader {
 public:
  explicit proto_reader(std::string_view message) noexcept : left_(message) {}
  // Returns false at the end, or if the next field is malformed.
  bool next();
  [[nodiscard]] bool ok() const noexcept { return ok_; }
  // The field that next() has read; its value is empty or 0 if it has another type. A double is the number
  // with the same bits.
  [[nodiscard]] std::uint32_t field() const noexcept { return field_; }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] std::string_view text() const noexcept { return text_; }

 private:
  bool take_varint(std::uint64_t& n);
  bool take(std::uint64_t bytes, std::string_view& out);
  bool fail() noexcept { return ok_ = false; }

  std::string_view left_;
  std::string_view text_;
  std::uint64_t number_ = 0;
  std::uint32_t field_ = 0;
  bool ok_ = true;
};

}  // namespace coracle::rpc
