#include "server/http/http_response_headers.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace coracle::server_internal {

void write_response_headers(transport::exchange& x, int status, const http::header_list& fields,
                            std::optional<std::uint64_t> length, const cross_origin* permission,
                            bool end_stream) {
  http::header_list more;
  if (length) more.add("content-length", std::to_string(*length));
  if (permission) {
    std::vector<std::string_view> names;
    for (const auto& field : fields) names.push_back(field.name);
    permission->add_response_fields(names, more);
  }
  const std::string code = std::to_string(status);
  if (!x.begin_headers()) return;
  x.add_field(":status", code);
  for (const auto& [name, value] : fields) x.add_field(name, value);
  for (const auto& [name, value] : more) x.add_field(name, value);
  x.add_general_fields([&](std::string_view name) { return fields.contains(name); });
  x.end_headers(end_stream);
}

}  // namespace coracle::server_internal
