// path_template: the path of a google.api.http rule: `/v1/{name=shelves/*/books/*}:move`.
#pragma once

#include "coracle/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::protocol::rest {

// The grammar (google/api/http.proto):
//
//   template = "/" [ segments ] [ ":" verb ]
//   segments = segment { "/" segment }
//   segment  = "*" | "**" | literal | variable
//   variable = "{" field { "." field } [ "=" segments ] "}"
//
// `*` matches one segment that is not empty, and `**`, which only the last segment may be, any number of
// segments. A variable without segments is `{name=*}`. Variables cannot be nested. Literals and the verb may
// contain percent-escapes, which are compared decoded.
class path_template {
 public:
  // A template is written by a programmer; these limits bound what one route costs per request.
  static constexpr std::size_t bytes_max = 2048;
  static constexpr std::size_t segments_max = 64;
  static constexpr std::size_t variables_max = segments_max;  // each has one at least

  enum class segment_kind : std::uint8_t { literal, one, rest };  // rest: `**`
  struct segment {
    segment_kind kind;
    std::string literal;  // decoded; empty for the other kinds
  };
  struct variable {
    std::string field_path;  // "book.name"
    std::uint32_t first;     // the segments first to end - 1 are the value
    std::uint32_t end;
    bool several;  // the value may contain '/': it has other segments than one `*`
  };

  // Matches "/" only.
  path_template() = default;
  // The status is INVALID_ARGUMENT and names the template, the position (in bytes, from 0) and the rule.
  [[nodiscard]] static result<path_template> parse(std::string_view text);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] const std::vector<segment>& segments() const noexcept { return segments_; }
  // In the order of the template.
  [[nodiscard]] const std::vector<variable>& variables() const noexcept { return variables_; }
  // Decoded, without ':'; empty if there is none.
  [[nodiscard]] const std::string& verb() const noexcept { return verb_; }

 private:
  class parser;

  std::string text_ = "/";
  std::vector<segment> segments_;
  std::vector<variable> variables_;
  std::string verb_;
};

}  // namespace coracle::protocol::rest
