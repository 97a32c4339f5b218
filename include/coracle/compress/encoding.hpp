// encoding: a way to compress messages, by the name that it has in grpc-encoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace coracle {

// The numbers travel nowhere. Which of them a build of the library can do: available().
enum class encoding : std::uint8_t {
  identity,  // not compressed
  deflate,   // zlib's format (RFC 1950), as gRPC has it; not the raw one
  gzip,      // RFC 1952
  zstd,      // RFC 8878
  brotli,    // "br", RFC 7932
  snappy,    // in snappy's framing format
  lz4,       // in LZ4's frame format
};
inline constexpr std::size_t encoding_count = 7;

// "gzip"; "br" for brotli.
std::string_view name_of(encoding e) noexcept;
// Nothing for a name that is not one of the above. Names are compared as they are.
std::optional<encoding> encoding_named(std::string_view name) noexcept;
// identity, deflate, gzip and zstd always; the others when the library was built with theirs.
bool available(encoding e) noexcept;

}  // namespace coracle
