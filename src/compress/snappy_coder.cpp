// snappy in its framing format (google/snappy framing_format.txt), which other gRPC implementations use, too.
#include "compress/coder.hpp"
#include "compress/crc32c.hpp"

#include <snappy-c.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace coracle::compress {

namespace {

constexpr std::size_t chunk_header_bytes = 4;  // a type, and the length of the rest in three bytes
constexpr std::size_t checksum_bytes = 4;
constexpr std::size_t chunk_content_max = 65'536;  // uncompressed
constexpr std::uint8_t identifier[] = {0xff, 6, 0, 0, 's', 'N', 'a', 'P', 'p', 'Y'};
enum chunk_type : std::uint8_t { compressed_chunk = 0x00, uncompressed_chunk = 0x01, first_skippable = 0x80 };

// Masks the checksum, because a checksum of data that contains checksums would be weak.
std::uint32_t checksum_of(bytes_view content) noexcept {
  const std::uint32_t c = crc32c(content);
  return ((c >> 15) | (c << 17)) + 0xa282ead8u;
}

void put_little_endian(std::uint8_t* to, std::uint32_t value, std::size_t n) noexcept {
  for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<std::uint8_t>(value >> (8 * i));
}
std::uint32_t little_endian(const std::uint8_t* from, std::size_t n) noexcept {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < n; ++i) value |= std::uint32_t{from[i]} << (8 * i);
  return value;
}
const char* text(const std::uint8_t* p) noexcept { return reinterpret_cast<const char*>(p); }
char* text(std::uint8_t* p) noexcept { return reinterpret_cast<char*>(p); }

class snappy_coder final : public coder {
 public:
  bool compress(bytes_view from, int, base::output_buffer& to) override {
    to.append(identifier);
    while (!from.empty()) {
      const bytes_view content = from.first(std::min(from.size(), chunk_content_max));
      from = from.subspan(content.size());
      std::size_t n = snappy_max_compressed_length(content.size());
      std::uint8_t* room = to.reserve(chunk_header_bytes + checksum_bytes + n);
      std::uint8_t* body = room + chunk_header_bytes + checksum_bytes;
      if (snappy_compress(text(content.data()), content.size(), text(body), &n) != SNAPPY_OK) return false;
      const bool smaller = n < content.size();
      if (!smaller) std::memcpy(body, content.data(), n = content.size());
      room[0] = smaller ? compressed_chunk : uncompressed_chunk;
      put_little_endian(room + 1, static_cast<std::uint32_t>(checksum_bytes + n), 3);
      put_little_endian(room + chunk_header_bytes, checksum_of(content), checksum_bytes);
      to.commit(chunk_header_bytes + checksum_bytes + n);
    }
    return true;
  }

  bool begin_decompress() override {
    begun_ = false;
    return true;
  }

  // Decompresses chunk by chunk.
  decompress_result decompress_step(bytes_view& from, std::size_t max_bytes, std::size_t step_bytes,
                                    base::output_buffer& to) override {
    if (!std::exchange(begun_, true)) {
      // Go's writer produces this for an empty message: not even an identifier.
      if (from.empty()) return decompress_result::done;
      if (from.size() < sizeof identifier || std::memcmp(from.data(), identifier, sizeof identifier) != 0)
        return decompress_result::broken;
    }
    std::size_t used = 0;
    while (!from.empty()) {
      if (used >= step_bytes) return decompress_result::more;
      if (from.size() < chunk_header_bytes) return decompress_result::broken;
      const std::uint8_t type = from[0];
      const std::size_t length = little_endian(from.data() + 1, 3);
      if (from.size() - chunk_header_bytes < length) return decompress_result::broken;
      const bytes_view body = from.subspan(chunk_header_bytes, length);
      from = from.subspan(chunk_header_bytes + length);
      used += chunk_header_bytes;  // a skipped chunk counts only with its header
      if (type >= first_skippable) continue;  // padding, another identifier, or a future chunk type
      const std::size_t before = to.size();
      const decompress_result result = decompress_data(type, body, max_bytes, to);
      if (result != decompress_result::done) return result;
      max_bytes -= to.size() - before;
      used += length + to.size() - before;
    }
    return decompress_result::done;
  }

 private:
  static decompress_result decompress_data(std::uint8_t type, bytes_view body, std::size_t max_bytes,
                                           base::output_buffer& to) {
    if (type > uncompressed_chunk || body.size() < checksum_bytes) return decompress_result::broken;
    const std::uint32_t sum = little_endian(body.data(), checksum_bytes);
    body = body.subspan(checksum_bytes);
    std::size_t n = body.size();
    if (type == compressed_chunk &&
        snappy_uncompressed_length(text(body.data()), body.size(), &n) != SNAPPY_OK)
      return decompress_result::broken;
    if (n > chunk_content_max) return decompress_result::broken;
    if (n > max_bytes) return decompress_result::too_large;
    std::uint8_t* room = to.reserve(n);
    if (type == uncompressed_chunk) {
      if (n) std::memcpy(room, body.data(), n);
    } else if (snappy_uncompress(text(body.data()), body.size(), text(room), &n) != SNAPPY_OK) {
      return decompress_result::broken;
    }
    if (checksum_of({room, n}) != sum) return decompress_result::broken;
    to.commit(n);
    return decompress_result::done;
  }

  bool begun_ = false;
};

}  // namespace

std::unique_ptr<coder> make_snappy() { return std::make_unique<snappy_coder>(); }

}  // namespace coracle::compress
