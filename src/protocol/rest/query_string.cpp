#include "protocol/rest/query_string.hpp"

#include "base/percent.hpp"
#include "base/printable.hpp"
#include "protocol/rest/escapes.hpp"

#include <algorithm>
#include <utility>

namespace coracle::protocol::rest {

namespace {

std::string decode_form(std::string_view text) {
  if (text.find('+') == std::string_view::npos) return base::percent_decode(text);
  std::string spaced(text);
  std::replace(spaced.begin(), spaced.end(), '+', ' ');  // before the escapes: %2B is a plus
  return base::percent_decode(spaced);
}

}  // namespace

result<std::vector<query_parameter>> parse_query(std::string_view query) {
  std::vector<query_parameter> parameters;
  while (!query.empty()) {
    const std::string_view one = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(one.size() + 1, query.size()));
    if (one.empty()) continue;
    if (parameters.size() == query_parameters_max)
      return status::invalid_argument("the query has more than " + std::to_string(query_parameters_max) +
                                      " parameters");
    if (!has_valid_escapes(one))
      return status::invalid_argument("the query parameter '" + base::printable(one) +
                                      "' has a '%' without two hexadecimal digits");
    const std::size_t equals = one.find('=');
    query_parameter p{decode_form(one.substr(0, equals)), {}};
    if (equals != std::string_view::npos) p.value = decode_form(one.substr(equals + 1));
    if (p.name.empty())
      return status::invalid_argument("the query parameter '" + base::printable(one) + "' has no name");
    parameters.push_back(std::move(p));
  }
  return parameters;
}

}  // namespace coracle::protocol::rest
