#include "naming/server_list.hpp"

#include "rpc/json_syntax.hpp"

#include <algorithm>

namespace coracle::naming {

status check_document(std::string_view json) {
  if (json.size() > document_bytes_max)
    return status::resource_exhausted("the document has " + std::to_string(json.size()) + " bytes, limit " +
                                      std::to_string(document_bytes_max));
  // Each value begins after one of these, or is the first. Those within strings only make the bound tighter.
  const auto values = std::ranges::count_if(json, [](char c) { return c == ',' || c == '[' || c == ':'; });
  if (static_cast<std::size_t>(values) >= document_values_max)
    return status::resource_exhausted("the document has more than " + std::to_string(document_values_max) +
                                      " values");
  return rpc::check_json(json);
}

}  // namespace coracle::naming
