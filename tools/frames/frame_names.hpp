// frame_names: the flags and error codes of HTTP/2 (RFC 9113 6 and 7).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::tools {

namespace frame_types {
inline constexpr std::uint8_t data = 0;
inline constexpr std::uint8_t headers = 1;
inline constexpr std::uint8_t rst_stream = 3;
inline constexpr std::uint8_t settings = 4;
inline constexpr std::uint8_t ping = 6;
inline constexpr std::uint8_t goaway = 7;
inline constexpr std::uint8_t window_update = 8;
inline constexpr std::uint8_t continuation = 9;
}  // namespace frame_types

namespace frame_flags {
inline constexpr std::uint8_t end_stream = 0x1;
inline constexpr std::uint8_t ack = 0x1;
inline constexpr std::uint8_t end_headers = 0x4;
inline constexpr std::uint8_t padded = 0x8;
inline constexpr std::uint8_t priority = 0x20;
}  // namespace frame_flags

// "END_STREAM END_HEADERS"; of a frame of this type.
std::string names_of_flags(std::uint8_t type, std::uint8_t flags);
// "CANCEL", or "code 77" (RFC 9113 7).
std::string name_of_error(std::uint32_t code);

}  // namespace coracle::tools
