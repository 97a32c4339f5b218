// encoding: a compression method for messages and its name in grpc-encoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace coracle {

/// A compression method for messages. The numbers are never sent. available() tells which encodings a build
/// of the library supports.
enum class encoding : std::uint8_t {
  identity,  // not compressed
  deflate,   // zlib's format (RFC 1950), as gRPC specifies; not raw deflate
  gzip,      // RFC 1952
  zstd,      // RFC 8878
  brotli,    // "br", RFC 7932
  snappy,    // snappy's framing format
  lz4,       // LZ4's frame format
};
/// The number of encodings.
inline constexpr std::size_t encoding_count = 7;

/// Returns the name in grpc-encoding, such as "gzip"; "br" for brotli.
std::string_view name_of(encoding e) noexcept;
/// Returns the encoding with that name, or nothing if there is none. The comparison is case-sensitive.
std::optional<encoding> encoding_named(std::string_view name) noexcept;
/// Returns whether this build supports the encoding. identity, deflate, gzip and zstd are always available;
/// the others if the library was built with theirs.
bool available(encoding e) noexcept;

}  // namespace coracle
