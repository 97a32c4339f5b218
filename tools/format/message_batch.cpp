#include "tools/format/message_batch.hpp"

#include <cstdint>

namespace coracle::tools {

namespace {
constexpr char tag = 1 << 3 | 2;  // field 1, length-delimited
}

void message_batch::add(std::string_view message) {
  bytes_ += tag;
  std::size_t left = message.size();
  for (; left >= 0x80; left >>= 7) bytes_ += static_cast<char>(left | 0x80);
  bytes_ += static_cast<char>(left);
  bytes_ += message;
  ++count_;
}

void message_batch::clear() noexcept {
  bytes_.clear();
  count_ = 0;
}

std::optional<std::string_view> message_batch::next(std::size_t& at) const noexcept {
  if (at >= bytes_.size() || bytes_[at] != tag) return std::nullopt;
  std::uint64_t size = 0;
  std::size_t here = at + 1;
  for (int shift = 0;; shift += 7) {
    if (here == bytes_.size() || shift > 63) return std::nullopt;
    const auto byte = static_cast<unsigned char>(bytes_[here++]);
    size |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  if (size > bytes_.size() - here) return std::nullopt;
  at = here + size;
  return std::string_view(bytes_).substr(here, size);
}

bool message_batch::assign(std::string bytes, std::size_t count) {
  bytes_ = std::move(bytes);
  count_ = 0;
  std::size_t at = 0;
  while (next(at)) ++count_;
  if (at == bytes_.size() && count_ == count) return true;
  clear();
  return false;
}

}  // namespace coracle::tools
