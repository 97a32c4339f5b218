// text_matcher: what routes, certificates and policies compare texts with
// (envoy.type.matcher.v3.StringMatcher).
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

// NOLINTNEXTLINE(modernize-concat-nested-namespaces)
namespace re2 {
class RE2;
}

namespace coracle::xds {

// A regular expression of RE2, whose time is linear in the text. A value; copies share the automaton, which
// is safe for threads.
class regex {
 public:
  // Whether a substitution may name groups. To ignore them makes matching cheaper.
  enum class groups : bool { ignored, captured };

  // Nothing if it is invalid, longer than limits::regex_bytes_max, or needs more than
  // limits::regex_memory_bytes_max.
  static std::optional<regex> compile(std::string_view pattern, groups capture = groups::ignored);

  // Whether it matches the whole of the text.
  [[nodiscard]] bool matches(std::string_view text) const;
  // Whether the substitution is valid and names groups of this pattern alone, which must capture.
  [[nodiscard]] bool can_substitute(std::string_view substitution) const;
  // With the substitution in place of each match; "\\1" in it is what the first group has matched.
  [[nodiscard]] std::string replaced(std::string_view text, std::string_view substitution) const;
  [[nodiscard]] const std::string& pattern() const noexcept;

  friend bool operator==(const regex& a, const regex& b) noexcept { return a.pattern() == b.pattern(); }

 private:
  explicit regex(std::shared_ptr<const re2::RE2> compiled) noexcept : compiled_(std::move(compiled)) {}

  std::shared_ptr<const re2::RE2> compiled_;
};

struct text_matcher {
  enum class kind : unsigned char { exact, prefix, suffix, contains, expression };

  kind how = kind::exact;
  bool ignore_case = false;  // of ASCII; not for an expression
  std::string text;  // in lower case if ignore_case
  std::optional<regex> expression;

  // A call looks at many routes: most of them differ in the last byte or in the length.
  [[nodiscard]] bool matches(std::string_view value) const {
    if (ignore_case || (how != kind::exact && how != kind::prefix)) return matches_otherwise(value);
    const std::size_t n = text.size();
    if (n == 0) return how == kind::prefix || value.empty();
    if (value.size() < n || (how == kind::exact && value.size() > n)) return false;
    return value[n - 1] == text[n - 1] && std::memcmp(value.data(), text.data(), n - 1) == 0;
  }
  [[nodiscard]] bool matches_otherwise(std::string_view value) const;

  friend bool operator==(const text_matcher&, const text_matcher&) = default;
};

// ASCII alone.
[[nodiscard]] std::string lower_case(std::string_view text);

}  // namespace coracle::xds
