#include "hpack/literal_cache.hpp"

#include "hpack/hash.hpp"

#include <cstring>
#include <new>

namespace coracle::hpack {

namespace {
std::uint32_t hash_of(bytes_view raw) noexcept {
  return static_cast<std::uint32_t>(hash_bytes(raw.data(), raw.size(), 0) >> 32);
}
}  // namespace

literal_cache::entry* literal_cache::find(bytes_view raw) noexcept {
  if (!entries_ || raw.empty() || raw.size() > raw_bytes_max) return nullptr;
  const std::uint32_t hash = hash_of(raw);
  entry& e = entries_[hash % entry_count];
  if (e.hash != hash || e.raw_bytes != raw.size()) return nullptr;
  return std::memcmp(e.raw.data(), raw.data(), raw.size()) == 0 ? &e : nullptr;
}

literal_cache::entry* literal_cache::store(bytes_view raw, std::string_view name, std::string_view value,
                                           bool static_name) {
  const std::size_t name_bytes = static_name ? 0 : name.size();
  if (raw.empty() || raw.size() > raw_bytes_max || name_bytes + value.size() > text_bytes_max) return nullptr;
  if (!entries_) entries_.reset(new (std::nothrow) entry[entry_count]());
  if (!entries_) return nullptr;  // the cache is optional
  const std::uint32_t hash = hash_of(raw);
  entry& e = entries_[hash % entry_count];
  std::memcpy(e.raw.data(), raw.data(), raw.size());
  e.raw_bytes = static_cast<std::uint8_t>(raw.size());
  e.hash = hash;
  if (name_bytes != 0) std::memcpy(e.text.data(), name.data(), name_bytes);
  if (!value.empty()) std::memcpy(e.text.data() + name_bytes, value.data(), value.size());
  e.name = static_name ? name : std::string_view(e.text.data(), name_bytes);
  e.value = {e.text.data() + name_bytes, value.size()};
  e.mark = 0;
  return &e;
}

}  // namespace coracle::hpack
