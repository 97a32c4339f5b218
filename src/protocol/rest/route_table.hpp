// route_table: finds the route of an HTTP method and a path among many path templates.
#pragma once

#include "coracle/base/status.hpp"
#include "protocol/rest/path_template.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::protocol::rest {

enum class match_outcome : std::uint8_t {
  found,
  not_found,           // 404
  method_not_allowed,  // 405: other HTTP methods have this path
  malformed,           // 400: the path does not begin with '/', or has a broken percent-escape
};

// What find() returns. It borrows the path.
struct route_match {
  match_outcome outcome = match_outcome::not_found;
  std::uint32_t index = 0;  // as passed to add(); only when found
  std::uint32_t value_count = 0;
  // The values of the template's variables, in its order and still percent-encoded: see decode_variable().
  std::array<std::string_view, path_template::variables_max> values{};
  std::uint64_t allowed = 0;  // for method_not_allowed: see route_table::allow()

  [[nodiscard]] std::span<const std::string_view> raw_values() const noexcept {
    return {values.data(), value_count};
  }
};

// Decodes the value of a variable of a path that has matched. Of a variable that may contain '/', "%2F" and
// "%2f" stay as they are, so that they differ from the separators. The value may be anything, such as ".." or
// NUL.
[[nodiscard]] std::string decode_variable(std::string_view raw, bool several);

// Routes are added before the first find(); after that, threads may share the table.
//
// Templates may overlap. The most specific one wins, compared segment by segment from the left: a literal
// before `*` before `**`. A template whose verb is the end of the path wins over those without. A route of
// the method "*" serves all methods that have no route for the path.
class route_table {
 public:
  // The names of HTTP methods in one table, "*" included: one bit of route_match::allowed each.
  static constexpr std::size_t methods_max = 64;

  // `owner` names the route in errors: the full name of the method. Fails with ALREADY_EXISTS, and names
  // both routes, if another route matches the same paths for the same HTTP method; with INVALID_ARGUMENT if
  // the HTTP method is no token (RFC 9110 5.6.2), or one too many.
  status add(std::string_view http_method, const path_template& path, std::uint32_t index,
             std::string_view owner);
  // `path` is the target of the request without its query. Builds strings only for segments that contain a
  // percent-escape. Its cost is limited by the templates, whatever the path.
  [[nodiscard]] route_match find(std::string_view http_method, std::string_view path) const;
  // The value of the header field Allow (RFC 9110 10.2.1).
  [[nodiscard]] std::string allow(const route_match& m) const;
  [[nodiscard]] bool empty() const noexcept { return leaves_.empty(); }

 private:
  static constexpr std::uint32_t none = 0xffff'ffff;
  struct leaf {
    std::uint32_t method;  // index into methods_
    std::uint32_t index;
    std::uint32_t segment_count;
    std::string verb;
    std::vector<path_template::variable> variables;
    std::string description;  // for errors
  };
  struct edge {
    std::string literal;
    std::uint32_t node;
  };
  struct node {
    std::vector<edge> literals;  // in ascending order
    std::uint32_t one = none;  // the node after `*`
    std::vector<std::uint32_t> ends;  // leaves whose template ends here
    std::vector<std::uint32_t> rests;  // leaves whose template goes on with `**`
  };
  class search;

  [[nodiscard]] std::uint32_t method_index(std::string_view http_method) const noexcept;

  std::vector<node> nodes_ = std::vector<node>(1);  // the first one is the root
  std::vector<leaf> leaves_;
  std::vector<std::string> methods_;
  bool has_verbs_ = false;
};

}  // namespace coracle::protocol::rest
