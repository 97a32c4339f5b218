#include "hpack/static_table.hpp"

#include <cstddef>

namespace coracle::hpack {

namespace {

// RFC 7541 Appendix A. Entries with the same name are adjacent; find_static() relies on it.
constexpr std::array<field, static_entry_count + 1> entries = {{
    {"", ""},
    {":authority", ""},
    {":method", "GET"},
    {":method", "POST"},
    {":path", "/"},
    {":path", "/index.html"},
    {":scheme", "http"},
    {":scheme", "https"},
    {":status", "200"},
    {":status", "204"},
    {":status", "206"},
    {":status", "304"},
    {":status", "400"},
    {":status", "404"},
    {":status", "500"},
    {"accept-charset", ""},
    {"accept-encoding", "gzip, deflate"},
    {"accept-language", ""},
    {"accept-ranges", ""},
    {"accept", ""},
    {"access-control-allow-origin", ""},
    {"age", ""},
    {"allow", ""},
    {"authorization", ""},
    {"cache-control", ""},
    {"content-disposition", ""},
    {"content-encoding", ""},
    {"content-language", ""},
    {"content-length", ""},
    {"content-location", ""},
    {"content-range", ""},
    {"content-type", ""},
    {"cookie", ""},
    {"date", ""},
    {"etag", ""},
    {"expect", ""},
    {"expires", ""},
    {"from", ""},
    {"host", ""},
    {"if-match", ""},
    {"if-modified-since", ""},
    {"if-none-match", ""},
    {"if-range", ""},
    {"if-unmodified-since", ""},
    {"last-modified", ""},
    {"link", ""},
    {"location", ""},
    {"max-forwards", ""},
    {"proxy-authenticate", ""},
    {"proxy-authorization", ""},
    {"range", ""},
    {"referer", ""},
    {"refresh", ""},
    {"retry-after", ""},
    {"server", ""},
    {"set-cookie", ""},
    {"strict-transport-security", ""},
    {"transfer-encoding", ""},
    {"user-agent", ""},
    {"vary", ""},
    {"via", ""},
    {"www-authenticate", ""},
}};

// A perfect hash of the 52 names: length, first, middle and last character, multiplied by a number that was
// found by trial. The static_assert below verifies it.
constexpr std::uint32_t multiplier = 0x19207c37;
constexpr unsigned bucket_bits = 7;

constexpr std::uint32_t bucket_of(std::string_view name) noexcept {
  const auto octet = [name](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(name[i]));
  };
  const std::uint32_t key = (static_cast<std::uint32_t>(name.size()) & 0xff) | octet(0) << 8 |
                            octet(name.size() - 1) << 16 | octet(name.size() / 2) << 24;
  return key * multiplier >> (32 - bucket_bits);
}

struct run {
  std::uint8_t first = 0;  // index of the first entry with a name, 0 for an empty bucket
  std::uint8_t count = 0;  // entries with that name
};
using bucket_array = std::array<run, std::size_t{1} << bucket_bits>;

consteval bucket_array make_buckets() {
  bucket_array buckets{};
  for (std::uint8_t i = 1; i <= static_entry_count; ++i) {
    run& bucket = buckets[bucket_of(entries[i].name)];
    if (bucket.first == 0) bucket.first = i;
    ++bucket.count;
  }
  return buckets;
}
constexpr bucket_array buckets = make_buckets();

consteval bool hash_is_perfect() {
  for (const run& bucket : buckets)
    for (std::size_t i = 0; i < bucket.count; ++i)
      if (entries[bucket.first + i].name != entries[bucket.first].name) return false;
  return true;
}
static_assert(hash_is_perfect(), "two static names share a bucket: find another multiplier");

}  // namespace

constinit const std::array<field, static_entry_count + 1> static_table = entries;

static_match find_static(std::string_view name, std::string_view value) noexcept {
  if (name.empty()) return {};
  const run bucket = buckets[bucket_of(name)];
  if (bucket.first == 0 || entries[bucket.first].name != name) return {};
  for (std::uint8_t i = bucket.first; i < bucket.first + bucket.count; ++i)
    if (entries[i].value == value) return {bucket.first, i};
  return {bucket.first, 0};
}

}  // namespace coracle::hpack
