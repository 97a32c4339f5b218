#include "protocol/web/body_reader.hpp"

#include <algorithm>

namespace coracle::protocol::web {

body_reader::state body_reader::fail(state error) noexcept {
  phase_ = phase::failed;
  return error_ = error;
}

body_reader::state body_reader::next(bytes_view& rest) {
  if (rest.empty()) return state::need_more;
  if (phase_ == phase::failed) return error_;
  if (phase_ == phase::done) return fail(state::bytes_after_last);
  began_ = true;
  if (phase_ == phase::last) return read_last(rest);
  if (phase_ == phase::prefix) {
    const std::uint8_t flags = filled_ == 0 ? rest.front() : prefix_[0];
    if ((flags & last_flag_) != 0) return read_last(rest);
  }
  return read_messages(rest);
}

body_reader::state body_reader::read_last(bytes_view& rest) {
  if (phase_ == phase::prefix) {
    const std::size_t n = std::min(rest.size(), envelope_prefix_bytes - filled_);
    std::copy_n(rest.begin(), n, prefix_ + filled_);
    filled_ = static_cast<std::uint8_t>(filled_ + n);
    if ((prefix_[0] & ~(last_flag_ | compressed_flag)) != 0) return fail(state::bad_last_flag);
    rest = rest.subspan(n);
    if (filled_ < envelope_prefix_bytes) return state::need_more;
    const envelope_prefix p = read_envelope_prefix(prefix_);
    if (p.length_bytes > last_bytes_max_) return fail(state::last_too_large);
    flags_ = p.flags;
    left_ = p.length_bytes;
    filled_ = 0;
    phase_ = phase::last;
  }
  const std::size_t n = std::min<std::size_t>(rest.size(), left_);
  last_.append(as_text(rest.first(n)));
  rest = rest.subspan(n);
  left_ -= static_cast<std::uint32_t>(n);
  if (left_ != 0) return state::need_more;
  phase_ = phase::done;
  return state::last;
}

// Takes bytes until the prefix of the last frame, or the end.
body_reader::state body_reader::read_messages(bytes_view& rest) noexcept {
  std::size_t taken = 0;
  while (taken < rest.size()) {
    if (phase_ == phase::message) {
      const std::size_t n = std::min<std::size_t>(rest.size() - taken, left_);
      taken += n;
      left_ -= static_cast<std::uint32_t>(n);
      if (left_ == 0) phase_ = phase::prefix;
      continue;
    }
    if (filled_ == 0 && (rest[taken] & last_flag_) != 0) break;
    prefix_[filled_++] = rest[taken++];
    if (filled_ < envelope_prefix_bytes) continue;
    filled_ = 0;
    left_ = read_envelope_prefix(prefix_).length_bytes;
    if (left_ != 0) phase_ = phase::message;
  }
  messages_ = rest.first(taken);
  rest = rest.subspan(taken);
  return state::messages;
}

}  // namespace coracle::protocol::web
