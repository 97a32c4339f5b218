// matchers: reads the matchers of a resource, and counts its regular expressions.
#pragma once

#include "xds/limits.hpp"
#include "xds/resource/field_path.hpp"
#include "xds/routing/header_matcher.hpp"
#include "xds/routing/text_matcher.hpp"
#include "xds/wire/core.pb.h"

#include <cstddef>

namespace coracle::xds {

// How many regular expressions there may still be, of those of a response, and conditions of its RBAC
// filters.
struct regex_allowance {
  std::size_t left;
  std::size_t conditions_left = limits::rbac_conditions_max;
};

class matcher_reader {
 public:
  explicit matcher_reader(regex_allowance& of_response) noexcept : of_response_(of_response) {}

  [[nodiscard]] regex expression(const wire::RegexMatcher& m, const field_path& at,
                                 regex::groups capture = regex::groups::ignored);
  [[nodiscard]] text_matcher text(const wire::StringMatcher& m, const field_path& at);
  // Before a condition of an RBAC filter is made.
  void count_condition(const field_path& at);
  [[nodiscard]] header_matcher header(const wire::HeaderMatcher& m, const field_path& at);

 private:
  regex_allowance& of_response_;
  std::size_t expressions_ = 0;
};

}  // namespace coracle::xds
