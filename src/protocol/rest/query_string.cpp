#include "protocol/rest/query_string.hpp"

#include "base/printable.hpp"
#include "protocol/web/uri.hpp"

#include <utility>

namespace coracle::protocol::rest {

result<std::vector<query_parameter>> parse_query(std::string_view query) {
  std::vector<query_parameter> parameters;
  web::query_pair pair;
  while (web::take_query_pair(query, pair)) {
    if (parameters.size() == query_parameters_max)
      return status::invalid_argument("the query has more than " + std::to_string(query_parameters_max) +
                                      " parameters");
    query_parameter p;
    if (!web::decode(pair.name, web::uri_part::query, p.name) ||
        !web::decode(pair.value, web::uri_part::query, p.value))
      return status::invalid_argument("the query parameter '" + base::printable(pair.text) +
                                      "' has a '%' without two hexadecimal digits");
    if (p.name.empty())
      return status::invalid_argument("the query parameter '" + base::printable(pair.text) + "' has no name");
    parameters.push_back(std::move(p));
  }
  return parameters;
}

}  // namespace coracle::protocol::rest
