#include "tools/chaos/frame_cutter.hpp"

#include <algorithm>
#include <utility>

namespace coracle::tools::chaos {

std::string u32(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

std::string frame_of(frame_type type, std::uint32_t stream, std::string_view payload) {
  std::string bytes = u32(static_cast<std::uint32_t>(payload.size())).substr(1);
  bytes += static_cast<char>(type);
  bytes += '\0';
  return bytes.append(u32(stream)).append(payload);
}

std::string frame_cutter::give_back() {
  return left_ == 0 && header_.size() < header_bytes ? std::exchange(header_, {}) : std::string();
}

bool frame_cutter::take(std::string_view& bytes, part& out) {
  out = {};
  if (left_ == 0) {
    if (header_.size() == header_bytes) header_.clear();
    const std::size_t n = std::min(header_bytes - header_.size(), bytes.size());
    header_.append(bytes.substr(0, n));
    bytes.remove_prefix(n);
    if (header_.size() < header_bytes) return false;
    out.header = header_;
    left_ = length();
  } else if (bytes.empty()) {
    return false;
  }
  const std::size_t n = std::min<std::size_t>(left_, bytes.size());
  out.payload = bytes.substr(0, n);
  bytes.remove_prefix(n);
  left_ -= static_cast<std::uint32_t>(n);
  out.ends = left_ == 0;
  if (out.ends && (is(frame_type::headers) || is(frame_type::continuation))) in_block_ = !ends_headers();
  return true;
}

}  // namespace coracle::tools::chaos
