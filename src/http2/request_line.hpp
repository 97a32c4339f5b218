// request_line: recognizes an HTTP/1.x request line (RFC 9112 3) in place of a connection preface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace coracle::http2 {

// Takes a connection's first bytes in pieces and stores none of them.
class request_line {
 public:
  enum class verdict : std::uint8_t { more, yes, no };

  verdict take(char c) noexcept {
    if (++length_ > length_max) return verdict::no;
    switch (part_) {
      case part::method:
        if (c == ' ' && at_ != 0) {
          head_ = head_ && at_ == head.size();
          return begin(part::target);
        }
        if (c < 'A' || c > 'Z' || at_ == method_max) return verdict::no;
        head_ = head_ && at_ < head.size() && c == head[at_];
        ++at_;
        return verdict::more;
      case part::target:
        if (c == ' ' && at_ != 0) return begin(part::version);
        if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f) return verdict::no;
        at_ = 1;
        return verdict::more;
      case part::version:
        if (at_ == version.size()) return c >= '0' && c <= '9' ? begin(part::end) : verdict::no;
        return c == version[at_++] ? verdict::more : verdict::no;
      case part::end: return c == '\r' && at_++ == 0 ? verdict::more : c == '\n' ? verdict::yes : verdict::no;
    }
    return verdict::no;
  }
  [[nodiscard]] bool begun() const noexcept { return length_ != 0; }
  // Whether the method is HEAD: the response has no content.
  [[nodiscard]] bool is_head() const noexcept { return head_ && part_ != part::method; }

 private:
  enum class part : std::uint8_t { method, target, version, end };
  static constexpr std::string_view version = "HTTP/1.";
  static constexpr std::string_view head = "HEAD";
  static constexpr std::uint8_t method_max = 32;
  static constexpr std::uint16_t length_max = 8000;  // RFC 9112 3 recommends at least this

  verdict begin(part next) noexcept {
    part_ = next;
    at_ = 0;
    return verdict::more;
  }
  std::uint16_t length_ = 0;
  std::uint8_t at_ = 0;  // position within the part; 1 within a target that is not empty
  part part_ = part::method;
  bool head_ = true;
};

}  // namespace coracle::http2
