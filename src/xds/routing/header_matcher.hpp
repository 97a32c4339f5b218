// header_matcher: a condition that a route makes for one header (envoy.config.route.v3.HeaderMatcher).
#pragma once

#include "xds/routing/text_matcher.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace coracle::xds {

// The metadata of a call, for matchers.
class header_source {
 public:
  virtual ~header_source() = default;
  // All values of the header, joined by ",", or nothing if there is none. `name` is in lower case and does
  // not end with "-bin".
  [[nodiscard]] virtual std::optional<std::string> joined(std::string_view name) const = 0;
};

struct header_matcher {
  // Half open, of decimal numbers.
  struct range {
    std::int64_t begin = 0;
    std::int64_t end = 0;

    friend bool operator==(const range&, const range&) = default;
  };
  struct presence {
    bool expected = true;

    friend bool operator==(const presence&, const presence&) = default;
  };

  std::string name;  // in lower case
  std::variant<text_matcher, range, presence> condition;
  bool invert = false;

  // A header that is absent fulfils a condition of its presence alone, also one that is inverted. Headers
  // with "-bin" count as absent.
  [[nodiscard]] bool matches(const header_source& headers) const;
  // The same for the value of the header; nothing: it is absent.
  [[nodiscard]] bool matches_value(const std::optional<std::string_view>& value) const;

  friend bool operator==(const header_matcher&, const header_matcher&) = default;
};

}  // namespace coracle::xds
