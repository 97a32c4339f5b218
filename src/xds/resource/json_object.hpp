// json_object: an object of JSON that is written member by member.
#pragma once

#include "rpc/json_syntax.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::xds {

// nlohmann's values end the process without memory: see rpc/json_document.hpp.
class json_object {
 public:
  // value: JSON.
  json_object& add(std::string_view name, std::string_view value) {
    text_ += text_.size() > 1 ? "," : "";
    rpc::append_json_string(text_, name);
    text_.append(":").append(value);
    return *this;
  }
  [[nodiscard]] std::string text() const { return text_ + "}"; }

 private:
  std::string text_ = "{";
};

[[nodiscard]] inline std::string json_of(bool value) { return value ? "true" : "false"; }
[[nodiscard]] inline std::string json_of(std::uint64_t value) { return std::to_string(value); }
// Null if it is infinite or no number, as in other JSON.
[[nodiscard]] inline std::string json_of(double value) {
  if (!std::isfinite(value)) return "null";
  char digits[32];
  return {digits, std::to_chars(std::begin(digits), std::end(digits), value).ptr};
}
// Bytes that are not UTF-8 are replaced.
[[nodiscard]] inline std::string json_of(std::string_view value) {
  std::string text;
  rpc::append_json_string(text, value);
  return text;
}

}  // namespace coracle::xds
