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
    if (e.path.size() == path.size() && !path.empty() &&
        std::memcmp(e.path.data(), path.data(), path.size()) == 0) [[likely]]
      return e.routes;
    return fill(e, host, path);
  }

 private:
  static constexpr std::size_t places = 64;
  struct entry {
    std::string path;
    std::vector<std::uint32_t> routes;
  };

  static std::size_t place_of(std::string_view path) noexcept {
    constexpr std::uint64_t odd = 0x9E3779B97F4A7C15U;
    std::uint64_t hash = path.size();
    std::uint64_t word = 0;
    std::size_t i = 0;
    for (; i + sizeof word <= path.size(); i += sizeof word) {
      std::memcpy(&word, path.data() + i, sizeof word);
      hash = (hash ^ word) * odd;
    }
    word = 0;
    std::memcpy(&word, path.data() + i, path.size() - i);
    return static_cast<std::size_t>(((hash ^ word) * odd) >> 58);
  }
  static const std::vector<std::uint32_t>& fill(entry& e, const virtual_host& host, std::string_view path);

  std::array<entry, places> entries_;
};

}  // namespace coracle::xds
