// path_cache: which routes of a virtual host fit a path, for the paths of one loop.
#pragma once

#include "xds/resource/route_configuration.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::xds {

// A program calls few methods, and a route's path fits each of them or not, whatever else it asks for.
class path_cache {
 public:
  // The routes of `host` whose paths fit, in order, up to the first one that asks for nothing else. Valid
  // until the next call. All calls are for one host. Throws std::bad_alloc.
  [[nodiscard]] const std::vector<std::uint32_t>& fitting(const virtual_host& host, std::string_view path) {
    entry& e = entries_[place_of(path)];
    if (e.path.size() == path.size() && is_same(e.path.data(), path.data(), path.size())) [[likely]]
      return e.routes;
    return fill(e, host, path);
  }

 private:
  static constexpr std::size_t places = 64;
  struct entry {
    std::string path;
    std::vector<std::uint32_t> routes;
  };

  // Of paths with at least one word, which is what methods have. Cheaper than a call of memcmp().
  static bool is_same(const char* a, const char* b, std::size_t size) noexcept {
    if (size < sizeof(std::uint64_t)) return size > 0 && std::memcmp(a, b, size) == 0;
    const auto differ = [a, b](std::size_t at) {
      std::uint64_t x = 0;
      std::uint64_t y = 0;
      std::memcpy(&x, a + at, sizeof x);
      std::memcpy(&y, b + at, sizeof y);
      return x ^ y;
    };
    const std::size_t last = size - sizeof(std::uint64_t);
    for (std::size_t at = 0; at < last; at += sizeof(std::uint64_t))
      if (differ(at) != 0) return false;
    return differ(last) == 0;
  }
  // Methods differ at their ends, and those of services that are alike in the middle.
  static std::size_t place_of(std::string_view path) noexcept {
    std::uint64_t last = 0;
    std::uint64_t middle = 0;
    if (path.size() >= sizeof last) {
      std::memcpy(&last, path.data() + path.size() - sizeof last, sizeof last);
      std::memcpy(&middle, path.data() + (path.size() - sizeof middle) / 2, sizeof middle);
    }
    return static_cast<std::size_t>(((last + 3 * middle + path.size()) * 0x9E3779B97F4A7C15U) >> 58);
  }
  static const std::vector<std::uint32_t>& fill(entry& e, const virtual_host& host, std::string_view path);

  std::array<entry, places> entries_;
};

}  // namespace coracle::xds
