#include "rpc/proto_wire.hpp"

namespace coracle::rpc {

bool proto_reader::take_varint(std::uint64_t& n) {
  n = 0;
  for (int shift = 0; shift < 64 && !left_.empty(); shift += 7) {
    const auto b = static_cast<std::uint8_t>(left_.front());
    left_.remove_prefix(1);
    n |= static_cast<std::uint64_t>(b & 0x7f) << shift;
    if (b < 0x80) return true;
  }
  return false;
}

bool proto_reader::take(std::uint64_t bytes, std::string_view& out) {
  if (bytes > left_.size()) return false;
  out = left_.substr(0, bytes);
  left_.remove_prefix(bytes);
  return true;
}

bool proto_reader::next() {
  text_ = {};
  number_ = 0;
  if (!ok_ || left_.empty()) return false;
  std::uint64_t key = 0;
  if (!take_varint(key) || key >> 3 == 0 || key >> 3 > 0x1fff'ffff) return fail();
  field_ = static_cast<std::uint32_t>(key >> 3);
  std::string_view fixed;
  switch (key & 7) {
    case 0: return take_varint(number_) || fail();
    case 1:
      if (!take(8, fixed)) return fail();
      for (int i = 8; i-- > 0;) number_ = number_ << 8 | static_cast<std::uint8_t>(fixed[i]);
      return true;
    case 2: {
      std::uint64_t size = 0;
      return (take_varint(size) && take(size, text_)) || fail();
    }
    case 5: return take(4, fixed) || fail();
    default: return fail();  // groups: none of these messages has one
  }
}

}  // namespace coracle::rpc
