// frame_cutter: finds the frames of HTTP/2 in the bytes of one direction of a connection (RFC 9113 4.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::tools::chaos {

enum class frame_type : std::uint8_t {
  data = 0,
  headers = 1,
  rst_stream = 3,
  goaway = 7,
  window_update = 8,
  continuation = 9,
};

[[nodiscard]] std::string u32(std::uint32_t value);
[[nodiscard]] std::string frame_of(frame_type type, std::uint32_t stream, std::string_view payload);

// Knows nothing of what the frames mean: bytes that are no frames are cut in some way, too.
class frame_cutter {
 public:
  static constexpr std::size_t header_bytes = 9;

  // A frame's header, a part of its payload, or both.
  struct part {
    std::string_view header;   // empty if it came before; valid until the next take()
    std::string_view payload;  // what there is of it
    bool ends = false;         // the frame
  };
  // Takes a part of `bytes`, which loses what was taken. Returns false if more bytes are needed.
  bool take(std::string_view& bytes, part& out);

  // Returns the bytes of a header that is not complete, and forgets them.
  [[nodiscard]] std::string give_back();

  // Of the frame whose header was taken last.
  [[nodiscard]] bool is(frame_type t) const noexcept { return byte(3) == static_cast<std::uint8_t>(t); }
  [[nodiscard]] bool ends_stream() const noexcept { return (byte(4) & 1) != 0; }
  [[nodiscard]] bool ends_headers() const noexcept { return (byte(4) & 4) != 0; }
  [[nodiscard]] std::uint32_t length() const noexcept {
    return static_cast<std::uint32_t>(byte(0)) << 16 | static_cast<std::uint32_t>(byte(1)) << 8 | byte(2);
  }
  [[nodiscard]] std::uint32_t stream() const noexcept {
    return (static_cast<std::uint32_t>(byte(5)) << 24 | static_cast<std::uint32_t>(byte(6)) << 16 |
            static_cast<std::uint32_t>(byte(7)) << 8 | byte(8)) &
           0x7fffffff;
  }
  // Whether another frame may stand here: between frames, and not within a header block.
  [[nodiscard]] bool is_between() const noexcept {
    return left_ == 0 && (header_.empty() || header_.size() == header_bytes) && !in_block_;
  }

 private:
  [[nodiscard]] std::uint8_t byte(std::size_t i) const noexcept {
    return i < header_.size() ? static_cast<std::uint8_t>(header_[i]) : std::uint8_t{0};
  }
  std::string header_;
  std::uint32_t left_ = 0;  // of the payload
  bool in_block_ = false;
};

}  // namespace coracle::tools::chaos
