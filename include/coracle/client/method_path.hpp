// method_path: the path of a method, and what its .proto says about it.
#pragma once

#include "coracle/base/impl/requirements.hpp"

#include <cstdint>
#include <string_view>

namespace coracle {

/// The path of a method, "/package.Service/Method". The text must stay valid until the call ends, as a
/// literal does. Generated stubs pass it on from the .proto. A call of a path that is not is_valid() ends
/// with INTERNAL, and nothing of it is sent.
class method_path {
 public:
  /// The path `text`, which must stay valid until the call ends.
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr method_path(const char* text) noexcept
      : text_(text), size_(static_cast<std::uint32_t>(std::string_view(text).size())) {}
  /// Returns the path of a method whose .proto sets idempotency_level = NO_SIDE_EFFECTS: the Connect protocol
  /// may call it by GET requests (see channel_options::connect_get).
  [[nodiscard]] constexpr method_path without_side_effects() const noexcept {
    method_path p = *this;
    p.no_side_effects_ = true;
    return p;
  }
  /// Returns the path of a call that is not made by a generated stub: telemetry reports it as "other",
  /// because a program may take such paths from its clients (gRFC A66).
  [[nodiscard]] constexpr method_path unregistered() const noexcept {
    method_path p = *this;
    p.unregistered_ = true;
    return p;
  }
  /// Returns the path as it was passed.
  [[nodiscard]] constexpr const char* text() const noexcept { return text_; }
  /// Returns the same with its size. A zero follows it.
  [[nodiscard]] constexpr std::string_view view() const noexcept { return {text_, size_}; }
  /// Returns whether HTTP can carry the path: it begins with "/", and each character is printable ASCII other
  /// than a space and "#" (RFC 9113 8.3.1, RFC 3986).
  [[nodiscard]] constexpr bool is_valid() const noexcept {
    const std::string_view path = view();
    bool bad = !path.starts_with('/');
    for (const char c : path) bad |= c <= ' ' || c == '#' || c > '~';
    return !bad;
  }
  /// Returns true for the result of unregistered().
  [[nodiscard]] constexpr bool is_unregistered() const noexcept { return unregistered_; }
  /// Returns false for the result of without_side_effects().
  [[nodiscard]] constexpr bool has_side_effects() const noexcept { return !no_side_effects_; }

 private:
  const char* text_;
  std::uint32_t size_;
  bool no_side_effects_ = false;
  bool unregistered_ = false;
};

}  // namespace coracle
