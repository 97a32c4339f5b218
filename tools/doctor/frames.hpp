// frames: the few frames of HTTP/2 that the probes send and read (RFC 9113 4.1).
#pragma once

#include "tools/doctor/probe.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::tools::doctor {

enum class frame_type : std::uint8_t { settings = 4, ping = 6, goaway = 7 };

struct frame {
  std::uint8_t type = 0;
  std::uint8_t flags = 0;
  std::string payload;
  [[nodiscard]] bool is(frame_type t) const noexcept { return type == static_cast<std::uint8_t>(t); }
  [[nodiscard]] bool is_ack() const noexcept { return (flags & 1) != 0; }
  // A number of four bytes in the payload; 0 if it is too short.
  [[nodiscard]] std::uint32_t number_at(std::size_t at) const noexcept {
    if (payload.size() < at + 4) return 0;
    std::uint32_t n = 0;
    for (std::size_t i = at; i < at + 4; ++i) n = n << 8 | static_cast<std::uint8_t>(payload[i]);
    return n;
  }
};

// The preface of a client and its empty SETTINGS (RFC 9113 3.4).
inline constexpr std::string_view client_preface("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);

inline std::string frame_bytes(frame_type type, std::uint8_t flags, std::string_view payload) {
  std::string bytes{'\0',
                    '\0',
                    static_cast<char>(payload.size()),
                    static_cast<char>(type),
                    static_cast<char>(flags),
                    '\0',
                    '\0',
                    '\0',
                    '\0'};
  return bytes.append(payload);
}

// Reads frames of stream 0 from a probe.
class frame_reader {
 public:
  // The servers' first frames are small; SETTINGS and GOAWAY of more are not worth the memory.
  static constexpr std::size_t frame_bytes_max = 16 * 1024;

  explicit frame_reader(probe& from) noexcept : from_(from) {}
  // The next frame; nothing if the connection has ended, time is up, or what arrives is not HTTP/2.
  std::optional<frame> next() {
    while (true) {
      if (bytes_.size() >= 9) {
        const auto at = [&](std::size_t i) {
          return static_cast<std::size_t>(static_cast<std::uint8_t>(bytes_[i]));
        };
        const std::size_t length = at(0) << 16 | at(1) << 8 | at(2);
        if (length > frame_bytes_max) return std::nullopt;
        if (bytes_.size() >= 9 + length) {
          frame one{static_cast<std::uint8_t>(at(3)), static_cast<std::uint8_t>(at(4)),
                    bytes_.substr(9, length)};
          bytes_.erase(0, 9 + length);
          return one;
        }
      }
      const std::string more = from_.receive();
      if (more.empty()) return std::nullopt;
      bytes_ += more;
    }
  }
  // What has arrived and is no whole frame.
  [[nodiscard]] const std::string& rest() const noexcept { return bytes_; }

 private:
  probe& from_;
  std::string bytes_;
};

}  // namespace coracle::tools::doctor
