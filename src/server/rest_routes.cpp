#include "server/rest_routes.hpp"

#include "rpc/rest/http_rule.hpp"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <string>
#include <utility>

namespace coracle::server_internal {

namespace {

std::string_view name_of_verb(request_info::verb v) noexcept {
  switch (v) {
    case request_info::verb::get: return "GET";
    case request_info::verb::head: return "HEAD";
    case request_info::verb::post: return "POST";
    case request_info::verb::put: return "PUT";
    case request_info::verb::patch: return "PATCH";
    case request_info::verb::remove: return "DELETE";
    case request_info::verb::options: return "OPTIONS";
    case request_info::verb::other: break;
  }
  return "(other)";
}

// "/movie.MovieService/GetMovie" as "movie.MovieService.GetMovie".
std::string full_name_of(std::string_view path) {
  std::string name(path.substr(1));
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

}  // namespace

status rest_routes::build(const router& routes, const rest_options& o) {
  rpc::rest::http_rule_file file;
  if (!o.http_rules.empty()) {
    auto parsed = rpc::rest::http_rule_file::parse(o.http_rules);
    if (!parsed) return parsed.status();
    file = *std::move(parsed);
  }
  rpc::rest::rest_options binding;
  binding.proto_field_names = o.proto_field_names;
  binding.emit_defaults = o.emit_defaults;
  binding.ignore_unknown_parameters = binding.ignore_unknown_fields = o.ignore_unknown;
  rest_routes made;
  made.options_ = o;
  const auto add = [&](const google::protobuf::MethodDescriptor& method, const served_method& row,
                       std::vector<rpc::rest::http_rule> rules) -> status {
    for (rpc::rest::http_rule& rule : rules) {
      const auto index = static_cast<std::uint32_t>(made.routes_.size());
      if (status s = made.table_.add(rule.http_method, rule.path, index, std::string(method.full_name()));
          !s.ok())
        return s;
      auto b = rpc::rest::rest_binding::make(method, std::move(rule), binding);
      if (!b) return b.status();
      made.routes_.push_back({*std::move(b), &row});
    }
    return {};
  };
  std::size_t used = 0;
  for (std::uint32_t i = 0; i < routes.size(); ++i) {
    const served_method& row = routes.at(i);
    const std::string name = full_name_of(row.definition->path);
    const auto* const method = google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(name);
    if (!method) continue;
    if (const auto* const of_file = file.find(name)) {
      ++used;
      if (status s = add(*method, row, *of_file); !s.ok()) return s;
      continue;
    }
    auto rules = rpc::rest::http_rules_of(*method);
    if (!rules) return rules.status();
    if (status s = add(*method, row, *std::move(rules)); !s.ok()) return s;
  }
  if (used != file.methods().size())
    for (const auto& [name, rules] : file.methods())
      if (!routes.find_route("/" + std::string(name).replace(name.rfind('.'), 1, "/")))
        return status::invalid_argument("rest_options::http_rules selects " + name +
                                        ", which no service of the server has");
  *this = std::move(made);
  return {};
}

protocol::rest::route_match rest_routes::find(request_info::verb method, std::string_view path) const {
  return table_.find(name_of_verb(method), path);
}

}  // namespace coracle::server_internal
