// query_string: the parameters of a URL, `name=value&name=value`.
#pragma once

#include "coracle/base/result.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::protocol::rest {

// More parameters than a request message can use; each of them costs more memory than its bytes.
inline constexpr std::size_t query_parameters_max = 1000;

struct query_parameter {
  std::string name;
  std::string value;
};

// Parses what follows '?', in order, as forms encode it (WHATWG URL 5.1): '+' is a space, a parameter
// without '=' has an empty value, empty parameters are skipped. The status is INVALID_ARGUMENT: a broken
// percent-escape, a parameter without a name, or more than query_parameters_max parameters.
[[nodiscard]] result<std::vector<query_parameter>> parse_query(std::string_view query);

}  // namespace coracle::protocol::rest
