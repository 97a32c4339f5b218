#include "server/http/http_routes.hpp"

#include "coracle/base/usage_error.hpp"
#include "protocol/web/media_type.hpp"
#include "rest/http_rule.hpp"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace coracle::server_internal {

std::string_view name_of(request_info::verb v) noexcept {
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

namespace {

// "/movie.MovieService/GetMovie" as "movie.MovieService.GetMovie".
std::string full_name_of(std::string_view path) {
  std::string name(path.substr(1));
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

constexpr std::string_view owner_of_plain_routes = "server::add_http()";

// A request of another HTTP method is not told from others of its kind.
status check_method(const rest::http_rule& rule, const google::protobuf::MethodDescriptor& method) {
  using http_method = request_info::verb;
  for (const http_method v : {http_method::get, http_method::head, http_method::post, http_method::put,
                              http_method::patch, http_method::remove, http_method::options})
    if (rule.http_method == name_of(v)) return {};
  if (rule.http_method == "*") return {};
  return status::invalid_argument(
      "the HTTP rule " + rule.http_method + " " + rule.path.text() + " of " +
      std::string(method.full_name()) +
      ": a server serves GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS and *; replace the rule with "
      "rest_options::http_rules");
}

[[noreturn]] void fail(std::string_view reason) {
  throw usage_error("server::add_http(): " + std::string(reason));
}

[[noreturn]] void fail_for_method_path(std::string_view path) {
  fail("the route " + std::string(path) + " has the path of a method; change the path of the route");
}

}  // namespace

status http_routes::build_rest(const router& routes, const rest_options& o) {
  rest::http_rule_file file;
  if (!o.http_rules.empty()) {
    auto parsed = rest::http_rule_file::parse(o.http_rules);
    if (!parsed) return parsed.status();
    file = *std::move(parsed);
  }
  rest::rest_options binding;
  binding.proto_field_names = o.proto_field_names;
  binding.emit_defaults = o.emit_defaults;
  binding.ignore_unknown_parameters = binding.ignore_unknown_fields = o.ignore_unknown;
  protocol::rest::route_table table;
  std::vector<rest_route> made;
  for (std::uint32_t i = 0; i < plain_.size(); ++i)
    if (status s =
            table.add(plain_[i].definition.method, plain_[i].path, i | plain_bit, owner_of_plain_routes);
        !s.ok())
      return s;
  const auto add = [&](const google::protobuf::MethodDescriptor& method, const served_method& row,
                       std::vector<rest::http_rule> rules) -> status {
    for (rest::http_rule& rule : rules) {
      if (status s = check_method(rule, method); !s.ok()) return s;
      const auto index = static_cast<std::uint32_t>(made.size());
      if (status s = table.add(rule.http_method, rule.path, index, std::string(method.full_name())); !s.ok())
        return s;
      auto b = rest::rest_binding::make(method, std::move(rule), binding);
      if (!b) return b.status();
      made.push_back({*std::move(b), &row});
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
    auto rules = rest::http_rules_of(*method);
    if (!rules) return rules.status();
    if (status s = add(*method, row, *std::move(rules)); !s.ok()) return s;
  }
  if (used != file.methods().size())
    for (const auto& [name, rules] : file.methods())
      if (!routes.find_route("/" + std::string(name).replace(name.rfind('.'), 1, "/")))
        return status::invalid_argument("rest_options::http_rules selects " + name +
                                        ", which no service of the server has");
  table_ = std::move(table);
  rest_ = std::move(made);
  options_ = o;
  return {};
}

void http_routes::add(http_route r, const router& routes) {
  constexpr std::string_view methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
  if (std::find(std::begin(methods), std::end(methods), r.method) == std::end(methods))
    fail("the method '" + r.method +
         "' is not GET, POST, PUT, PATCH or DELETE (the server answers HEAD and OPTIONS by itself)");
  if (!r.handler) fail("the route " + r.method + " " + r.path + " has no handler");
  for (const std::string& type : r.content_types)
    if (!protocol::web::parse_media_type(type))
      fail("'" + type + "' in http_route::content_types is not a media type such as \"application/json\"");
  auto path = protocol::rest::path_template::parse(r.path);
  if (!path) fail(path.status().message());
  if (routes.find_route(r.path)) fail_for_method_path(r.path);
  const auto index = static_cast<std::uint32_t>(plain_.size()) | plain_bit;
  if (const status s = table_.add(r.method, *path, index, owner_of_plain_routes); !s.ok()) fail(s.message());
  plain_.push_back({std::move(r), *std::move(path)});
}

void http_routes::check(service& s) const {
  for (const coracle::method& m : s.methods())
    for (const plain_route& r : plain_)
      if (r.definition.path == m.path) fail_for_method_path(m.path);
}

protocol::rest::route_match http_routes::find(request_info::verb method, std::string_view path) const {
  protocol::rest::route_match m = table_.find(name_of(method), path);
  if (method == request_info::verb::head && m.outcome == protocol::rest::match_outcome::method_not_allowed)
    if (auto get = table_.find(name_of(request_info::verb::get), path);
        get.outcome == protocol::rest::match_outcome::found)
      return get;
  return m;
}

bool http_routes::serves_many_paths(std::string_view path, const protocol::rest::route_match& m) const {
  if (table_.allow(m) != name_of(request_info::verb::get)) return false;
  const auto get = table_.find(name_of(request_info::verb::get), path);
  const plain_route* const route =
      get.outcome == protocol::rest::match_outcome::found ? plain_at(get.index) : nullptr;
  if (!route || route->path.segments().empty()) return false;
  return route->path.segments().back().kind == protocol::rest::path_template::segment_kind::rest;
}

std::string http_routes::allow(const protocol::rest::route_match& m) const {
  std::string list = table_.allow(m);
  const auto has = [&](std::string_view method) {
    return (", " + list + ",").find(", " + std::string(method) + ",") != std::string::npos;
  };
  if (has("GET") && !has("HEAD")) list.append(", HEAD");
  if (!has("OPTIONS")) list.append(", OPTIONS");
  return list;
}

}  // namespace coracle::server_internal
