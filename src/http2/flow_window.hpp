// send_window, receive_window: flow control (RFC 9113 5.2 and 6.9) for streams and connections.
#pragma once

#include "http2/settings_frame.hpp"

#include <algorithm>
#include <cstdint>

namespace coracle::http2 {

// The number of bytes that the peer permits us to send. Negative after the peer has lowered
// SETTINGS_INITIAL_WINDOW_SIZE below the number of bytes in flight (RFC 9113 6.9.2).
class send_window {
 public:
  explicit send_window(std::uint32_t bytes = default_window_bytes) noexcept
      : bytes_(static_cast<std::int32_t>(bytes)) {}

  [[nodiscard]] std::uint32_t available() const noexcept {
    return bytes_ > 0 ? static_cast<std::uint32_t>(bytes_) : 0;
  }
  [[nodiscard]] std::int32_t bytes() const noexcept { return bytes_; }
  // Requires n <= available().
  void take(std::uint32_t n) noexcept { bytes_ -= static_cast<std::int32_t>(n); }
  // Applies WINDOW_UPDATE or a change of the initial size. Returns false if the window exceeds 2^31-1 (RFC
  // 9113 6.9.1, 6.9.2), which is a FLOW_CONTROL_ERROR.
  [[nodiscard]] bool add(std::int64_t n) noexcept {
    const std::int64_t sum = bytes_ + n;
    if (sum > std::int64_t{window_bytes_max}) return false;
    bytes_ = static_cast<std::int32_t>(sum);
    return true;
  }

 private:
  std::int32_t bytes_;
};

// The number of bytes that we permit the peer to send. Returned credit is collected until it is worth a
// frame: half of the window.
//   open + credit + bytes received and not given back = size
class receive_window {
 public:
  explicit receive_window(std::uint32_t bytes = default_window_bytes) noexcept : open_(bytes), size_(bytes) {}

  // Returns false if the peer sent more than permitted, which is a FLOW_CONTROL_ERROR. An empty frame is
  // always permitted, even if the window is negative (RFC 9113 6.9.1).
  [[nodiscard]] bool take(std::uint32_t n) noexcept {
    if (!permits(n)) return false;
    open_ -= n;
    return true;
  }
  [[nodiscard]] bool permits(std::uint32_t n) const noexcept { return n == 0 || std::int64_t{n} <= open_; }
  void give_back(std::uint32_t n) noexcept { credit_ += n; }
  // Returns the increment of a WINDOW_UPDATE that is due now, or 0. Widens the window to
  // `window_target_bytes` unless little data arrives: widening for each small call would only cause needless
  // updates.
  [[nodiscard]] std::uint32_t announce(std::uint32_t window_target_bytes = 0) noexcept {
    constexpr std::uint32_t little_bytes = 64u << 10;
    if (credit_ >= std::min(size_ / 2, little_bytes)) widen(window_target_bytes);
    if (credit_ < std::max(size_ / 2, 1u)) return 0;
    const std::uint32_t n = credit_;
    credit_ = 0;
    open_ += n;
    return n;
  }
  // Applies our SETTINGS_INITIAL_WINDOW_SIZE. The window may become negative.
  void resize(std::uint32_t bytes) noexcept {
    open_ += std::int64_t{bytes} - size_;
    size_ = bytes;
  }
  // Enlarges the window to at least `bytes`; the peer learns of it with the next WINDOW_UPDATE.
  void widen(std::uint32_t bytes) noexcept {
    if (bytes <= size_) return;
    credit_ += bytes - size_;
    size_ = bytes;
  }
  [[nodiscard]] std::int64_t open_bytes() const noexcept { return open_; }
  [[nodiscard]] std::uint32_t size_bytes() const noexcept { return size_; }

 private:
  std::int64_t open_;
  std::uint32_t size_;
  std::uint32_t credit_ = 0;
};

}  // namespace coracle::http2
