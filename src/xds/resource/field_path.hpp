// field_path: where in a message a parser is, for the text of a NACK.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::xds {

// Thrown to leave the parser of a resource; caught by the function that began it.
struct invalid_resource {
  std::string text;
};

// A field below another one, whose path it refers to: a path that has a name must not be made of one that has
// none.
class field_path {
 public:
  field_path() = default;  // the message itself

  [[nodiscard]] field_path at(std::string_view name) const noexcept { return {this, name, none, {}}; }
  [[nodiscard]] field_path at(std::string_view name, std::size_t index) const noexcept {
    return {this, name, index, {}};
  }
  [[nodiscard]] field_path at(std::string_view name, std::string_view key) const noexcept {
    return {this, name, none, key};
  }

  // Throws invalid_resource: "virtual_hosts[0].routes[2].match has no path specifier".
  [[noreturn]] void refuse(std::string_view reason) const;

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  field_path(const field_path* parent, std::string_view name, std::size_t index,
             std::string_view key) noexcept
      : parent_(parent), name_(name), index_(index), key_(key) {}
  void write(std::string& to) const;

  const field_path* parent_ = nullptr;
  std::string_view name_;
  std::size_t index_ = none;
  std::string_view key_;
};

}  // namespace coracle::xds
