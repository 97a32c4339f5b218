// metadata_map: metadata that was received.
#pragma once

#include <grpcpp/support/string_ref.h>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace grpc::internal {

// Owns its text. Filled by the library; the map is made when the program asks for it.
class metadata_map {
 public:
  using map_type = std::multimap<string_ref, string_ref>;
  metadata_map() = default;
  metadata_map(const metadata_map&) = delete;
  metadata_map& operator=(const metadata_map&) = delete;

  void add(std::string_view key, std::string_view value) {
    text_.append(key).append(value);
    sizes_.push_back({key.size(), value.size()});
    map_.clear();
  }
  const map_type& map() const {
    if (map_.empty() && !sizes_.empty()) fill();
    return map_;
  }
  map_type& changeable_map() {
    map();
    return map_;
  }
  void clear() {
    map_.clear();
    sizes_.clear();
    text_.clear();
  }

 private:
  void fill() const {
    const char* at = text_.data();
    for (const auto& [key, value] : sizes_) {
      map_.emplace(string_ref(at, key), string_ref(at + key, value));
      at += key + value;
    }
  }
  struct sizes {
    std::size_t key;
    std::size_t value;
  };
  std::string text_;
  std::vector<sizes> sizes_;
  mutable map_type map_;
};

}  // namespace grpc::internal
