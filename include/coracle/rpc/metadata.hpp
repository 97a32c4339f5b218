// metadata: the key-value pairs that travel with a call beside its messages.
#pragma once

#include "coracle/http/header_list.hpp"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle {

/// The metadata of a call (grpc/grpc doc/PROTOCOL-HTTP2.md).
///
/// A key consists of lower-case ASCII letters, digits, '-', '_' and '.'. The value of a key that ends in
/// "-bin" is any bytes (base64 on the wire, decoded here). Other values are printable ASCII (0x20 to 0x7E).
/// The order of values under one key is preserved. Access is not synchronized: two threads must not use one
/// object at the same time.
class metadata {
 public:
  /// No pairs.
  metadata() noexcept = default;
  /// @cond  For the library: takes received fields without checking them.
  explicit metadata(http::header_list received) noexcept : fields_(std::move(received)) {}
  /// @endcond

  /// Adds a pair. Returns false, and adds nothing, if the key or the value breaks the rules above, or if the
  /// protocol reserves the key (grpc-..., :..., content-type, te, and HTTP's connection fields).
  bool add(std::string_view key, std::string_view value);

  /// Adds the pairs of another call, such as those that a proxy received. Skips pairs that add() would
  /// reject, such as keys that the protocol reserves.
  void add_all(const metadata& from) {
    for (const auto field : from.fields_) add(field.name, field.value);
  }

  /// Returns the first value of `key`; valid until the metadata changes.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view key) const noexcept {
    return fields_.find(key);
  }
  /// Returns all values of `key` in their order; valid until the metadata changes.
  [[nodiscard]] std::vector<std::string_view> find_all(std::string_view key) const;
  /// Returns the number of pairs.
  [[nodiscard]] std::size_t size() const noexcept { return fields_.size(); }
  /// Returns whether there are no pairs.
  [[nodiscard]] bool empty() const noexcept { return fields_.empty(); }
  /// @{
  /// Iterates over the pairs: `for (const auto& [key, value] : metadata)`, where both are std::string_view.
  /// They are valid until the metadata changes.
  [[nodiscard]] auto begin() const noexcept { return fields_.begin(); }
  [[nodiscard]] auto end() const noexcept { return fields_.end(); }
  /// @}
  /// Removes all pairs and keeps the memory.
  void clear() noexcept { fields_.clear(); }
  /// Returns the number of bytes allocated on the heap.
  [[nodiscard]] std::size_t capacity_bytes() const noexcept { return fields_.capacity_bytes(); }

  /// @cond  For the library: adds a received pair without checking it.
  void add_received(std::string_view key, std::string_view value) { fields_.add(key, value); }
  /// @endcond

  friend bool operator==(const metadata&, const metadata&) = default;

 private:
  http::header_list fields_;
};

}  // namespace coracle
