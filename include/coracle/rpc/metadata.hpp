// metadata: the key-value pairs that travel beside a call's messages.
#pragma once

#include "coracle/http/header_list.hpp"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle {

// Keys are lower-case ASCII letters, digits, '-', '_' and '.'; grpc/grpc doc/PROTOCOL-HTTP2.md.
// Values of keys that end in "-bin" are any bytes (base64 on the wire, plain here); other values are
// printable ASCII (0x20 to 0x7E). The order of values under one key is kept. Not for two threads at once.
class metadata {
 public:
  metadata() noexcept = default;
  // What arrived, unchecked: for the library.
  explicit metadata(http::header_list received) noexcept : fields_(std::move(received)) {}

  // False, and nothing is added, when the key or value breaks the rules above, or the key is one that the
  // protocol keeps for itself (grpc-..., :..., content-type, te, and HTTP's connection fields).
  bool add(std::string_view key, std::string_view value);

  // Adds those pairs of another call that a call may have, such as what a proxy received; the protocol's own are
  // passed over.
  void add_all(const metadata& from) {
    for (const auto field : from.fields_) add(field.name, field.value);
  }

  // The first value. Borrowed until the metadata changes.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view key) const noexcept {
    return fields_.find(key);
  }
  [[nodiscard]] std::vector<std::string_view> find_all(std::string_view key) const;
  [[nodiscard]] std::size_t size() const noexcept { return fields_.size(); }
  [[nodiscard]] bool empty() const noexcept { return fields_.empty(); }
  // for (const auto& [key, value] : metadata), where both are std::string_view: borrowed until the metadata changes.
  [[nodiscard]] auto begin() const noexcept { return fields_.begin(); }
  [[nodiscard]] auto end() const noexcept { return fields_.end(); }
  void clear() noexcept { fields_.clear(); }
  // Memory held on the heap.
  [[nodiscard]] std::size_t capacity_bytes() const noexcept { return fields_.capacity_bytes(); }

  // What arrived, unchecked: for the library.
  void add_received(std::string_view key, std::string_view value) { fields_.add(key, value); }

  friend bool operator==(const metadata&, const metadata&) = default;

 private:
  http::header_list fields_;
};

}  // namespace coracle
