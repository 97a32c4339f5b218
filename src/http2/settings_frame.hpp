// settings_frame: SETTINGS (RFC 9113 6.5): reading, validation and writing.
#pragma once

#include "coracle/base/bytes.hpp"
#include "http2/error_code.hpp"
#include "http2/limits.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace coracle::http2 {

enum class setting : std::uint16_t {
  header_table_size = 1,
  enable_push = 2,
  max_concurrent_streams = 3,
  initial_window_size = 4,
  max_frame_size = 5,
  max_header_list_size = 6,
};

inline constexpr std::uint32_t default_window_bytes = 65535;  // RFC 9113 6.9.2
inline constexpr std::uint32_t window_bytes_max = 0x7fffffff;
inline constexpr std::uint32_t unlimited = ~std::uint32_t{0};

// The parameters of one side, initialized to the initial values of RFC 9113 6.5.2.
struct settings_values {
  std::uint32_t header_table_bytes = 4096;
  std::uint32_t max_concurrent_streams = unlimited;
  std::uint32_t initial_window_bytes = default_window_bytes;
  std::uint32_t max_frame_bytes = 1u << 14;
  std::uint32_t header_list_bytes = unlimited;
  // The lowest header_table_bytes of the last frame read: RFC 7541 4.2 requires that it is respected, too.
  std::uint32_t header_table_bytes_lowest = 4096;
};

// A connection error; no_error if there is none.
struct settings_fault {
  error_code code = error_code::no_error;
  std::string_view reason{};
};

// Applies the payload of a SETTINGS frame without ACK to `values`. If a parameter occurs several times, the
// last value applies, and all are validated. Unknown parameters are ignored. After an error `values` is
// partly changed.
[[nodiscard]] settings_fault read_settings(bytes_view payload, bool sent_by_server,
                                           settings_values& values) noexcept;

// Writes a SETTINGS frame with the parameters of `l` that differ from the initial values. Returns its end.
inline constexpr std::size_t settings_frame_bytes_max = 9 + 6 * 6;
[[nodiscard]] std::uint8_t* write_settings(std::uint8_t* to, const limits& l, bool server) noexcept;

}  // namespace coracle::http2
