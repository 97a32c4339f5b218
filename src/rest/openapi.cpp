#include "coracle/rpc/openapi.hpp"

#include "rest/field_text.hpp"
#include "rest/http_rule.hpp"
#include "rest/openapi_schemas.hpp"
#include "rest/rest_binding.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/descriptor_database.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace coracle::rest {

namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;
using protocol::rest::path_template;

// Fields of fields in the query. A message may contain itself, and deeper ones are hardly ever parameters.
constexpr std::size_t query_levels_max = 4;

// The HTTP methods that OpenAPI 3.1 has a member for (OpenAPI 3.1.0 4.8.9.1).
constexpr std::array<std::string_view, 8> openapi_methods{"GET",     "PUT",  "POST",  "DELETE",
                                                          "OPTIONS", "HEAD", "PATCH", "TRACE"};

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

std::string dotted_name(const std::vector<const FieldDescriptor*>& path, const openapi_schemas& schemas) {
  std::string name;
  for (const FieldDescriptor* f : path) name.append(name.empty() ? "" : ".").append(schemas.name_of(*f));
  return name;
}

// A path of OpenAPI, whose parameters are single segments.
struct openapi_path {
  std::string text;   // "/v1/shelves/{name_1}/books/{name_2}"
  std::string shape;  // "/v1/shelves/{}/books/{}"
  struct parameter {
    std::string name;
    std::string field;  // of the request, as the .proto names it; empty for a wildcard without a variable
    bool whole;         // the parameter is the field, not one segment of it
    bool rest;
  };
  std::vector<parameter> parameters;
};

openapi_path path_of(const path_template& path) {
  openapi_path out;
  const auto& segments = path.segments();
  std::size_t unnamed = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    out.text.push_back('/');
    out.shape.push_back('/');
    if (segments[i].kind == path_template::segment_kind::literal) {
      out.text.append(segments[i].literal);
      out.shape.append(segments[i].literal);
      continue;
    }
    openapi_path::parameter p{{}, {}, false, segments[i].kind == path_template::segment_kind::rest};
    for (const auto& v : path.variables()) {
      if (i < v.first || i >= v.end) continue;
      p.field = v.field_path;
      p.whole = v.end - v.first == 1;
      p.name = v.field_path;
      std::replace(p.name.begin(), p.name.end(), '.', '_');  // generators make identifiers of it
      if (!p.whole) {
        const auto before =
            std::count_if(segments.begin() + v.first, segments.begin() + static_cast<std::ptrdiff_t>(i),
                          [](const auto& s) { return s.kind != path_template::segment_kind::literal; });
        p.name += "_" + std::to_string(before + 1);
      }
    }
    if (p.name.empty()) p.name = "segment_" + std::to_string(++unnamed);
    const auto is_taken = [&](const std::string& name) {
      return std::any_of(out.parameters.begin(), out.parameters.end(),
                         [&](const openapi_path::parameter& other) { return other.name == name; });
    };
    while (is_taken(p.name)) p.name.push_back('_');  // "a.b" beside "a_b"
    out.text.append("{").append(p.name).append("}");
    out.shape.append("{}");
    out.parameters.push_back(std::move(p));
  }
  if (out.text.empty()) out.text = out.shape = "/";
  if (!path.verb().empty()) {
    out.text.append(":").append(path.verb());
    out.shape.append(":").append(path.verb());
  }
  return out;
}

class openapi_writer {
 public:
  openapi_writer(const openapi_options& options, const invalid_rule_handler& on_invalid)
      : options_(options), on_invalid_(on_invalid), schemas_(options.proto_field_names) {}

  status add(const ServiceDescriptor& service, const http_rule_file* rules) {
    json_node tag{{"name", std::string(service.full_name())}};
    if (std::string comment = comment_of(service); !comment.empty()) tag["description"] = std::move(comment);
    tags_.push_back(std::move(tag));
    for (int i = 0; i < service.method_count(); ++i) {
      const MethodDescriptor& method = *service.method(i);
      if (options_.rest)
        if (status failed = add_rest(method, rules); !failed.ok()) return failed;
      if (options_.json_methods) add_json(method);
    }
    return {};
  }

  [[nodiscard]] json_node take() {
    json_node document{{"openapi", "3.1.0"},
                       {"info", {{"title", options_.title}, {"version", options_.version}}}};
    if (!options_.description.empty()) document["info"]["description"] = options_.description;
    for (const std::string& url : options_.servers) document["servers"].push_back(json_node{{"url", url}});
    if (options_.servers.empty()) document["servers"].push_back(json_node{{"url", "/"}});  // of the document
    document["security"] = json_node::array();  // what callers need is not known here
    if (!tags_.empty()) document["tags"] = std::move(tags_);
    document["paths"] = std::move(paths_);
    document["components"]["schemas"] = schemas_.take();
    return document;
  }

 private:
  status add_rest(const MethodDescriptor& method, const http_rule_file* file) {
    std::vector<http_rule> rules;
    if (const auto* replaced = file ? file->find(std::string(method.full_name())) : nullptr) {
      rules = *replaced;
    } else {
      auto own = http_rules_of(method, on_invalid_);
      if (!own.ok()) return own.status();
      rules = *std::move(own);
    }
    for (http_rule& rule : rules) {
      const auto binding = rest_binding::make(method, std::move(rule));
      if (binding.ok()) add_binding(*binding);
      else if (on_invalid_) on_invalid_(binding.status());
      else return binding.status();
    }
    return {};
  }

  void add_binding(const rest_binding& binding) {
    const http_rule& rule = binding.rule();
    if (std::find(openapi_methods.begin(), openapi_methods.end(), rule.http_method) == openapi_methods.end())
      return;
    const MethodDescriptor& method = binding.method();
    openapi_path path = path_of(rule.path);
    // Paths that differ in the names of their parameters only are one (OpenAPI 3.1.0 4.8.8.2): the first
    // one's names are used.
    const auto& first = path_shapes_.try_emplace(path.shape, path).first->second;
    for (std::size_t i = 0; i < path.parameters.size(); ++i)
      path.parameters[i].name = first.parameters[i].name;
    json_node& item = paths_[first.text];
    const std::string member = lower_case(rule.http_method);
    if (item.contains(member)) return;  // `*` and a literal of another shape may differ for a router only

    json_node operation = operation_of(method, "");
    json_node parameters = json_node::array();
    for (const openapi_path::parameter& p : path.parameters) parameters.push_back(path_parameter(method, p));
    if (rule.body != "*") add_query(*method.input_type(), rule, {}, parameters);
    if (!parameters.empty()) operation["parameters"] = std::move(parameters);
    if (!rule.body.empty()) {
      const FieldDescriptor* field =
          rule.body == "*" ? nullptr : method.input_type()->FindFieldByName(rule.body);
      operation["requestBody"] = {
          {"required", rule.body == "*" || !field},
          {"content", binding.has_raw_request()
                          ? raw_content()
                          : content_of(field ? schemas_.of(*field) : schemas_.of(*method.input_type()),
                                       method.client_streaming(), false)}};
    }
    const FieldDescriptor* reply =
        rule.response_body.empty() ? nullptr : method.output_type()->FindFieldByName(rule.response_body);
    operation["responses"]["200"] = {
        {"description", "The response."},
        {"content", binding.has_raw_reply()
                        ? raw_content()
                        : content_of(reply ? schemas_.of(*reply) : schemas_.of(*method.output_type()),
                                     method.server_streaming(), true)}};
    operation["responses"]["default"] = error_response(schemas_.rest_error());
    item[member] = std::move(operation);
  }

  // Connect's form: messages as they are, or in envelopes if they are streamed.
  void add_json(const MethodDescriptor& method) {
    const bool streams = method.client_streaming() || method.server_streaming();
    const char* type = streams ? "application/connect+json" : "application/json";
    json_node operation = operation_of(method, "_json");
    if (streams) {
      std::string description = operation.value("description", comment_of(method));
      description.append(description.empty() ? "" : "\n\n");
      operation["description"] = description + "Each message stands in an envelope of the Connect protocol.";
    }
    json_node request = content(type, schemas_.of(*method.input_type()));
    json_node reply = content(type, schemas_.of(*method.output_type()));
    operation["requestBody"] = {{"required", true}, {"content", std::move(request)}};
    operation["responses"]["200"] = {{"description", "The response."}, {"content", std::move(reply)}};
    operation["responses"]["default"] = error_response(schemas_.connect_error());
    const std::string path =
        "/" + std::string(method.service()->full_name()) + "/" + std::string(method.name());
    paths_[path]["post"] = std::move(operation);
  }

  json_node operation_of(const MethodDescriptor& method, std::string_view suffix) {
    json_node operation{{"tags", json_node::array({std::string(method.service()->full_name())})}};
    const std::string comment = comment_of(method);
    operation["summary"] =
        comment.empty() ? std::string(method.name()) : comment.substr(0, comment.find('\n'));
    if (comment.find('\n') != std::string::npos) operation["description"] = comment;
    const std::string id =
        std::string(method.service()->name()) + "_" + std::string(method.name()) + std::string(suffix);
    std::string unique = id;
    for (int n = 2; !operation_ids_.insert(unique).second; ++n) unique = id + "_" + std::to_string(n);
    operation["operationId"] = std::move(unique);
    if (method.options().deprecated()) operation["deprecated"] = true;
    return operation;
  }

  json_node path_parameter(const MethodDescriptor& method, const openapi_path::parameter& p) {
    json_node schema{{"type", "string"}};
    std::string description;
    if (const FieldDescriptor* field = field_at(*method.input_type(), p.field)) {
      if (p.whole && !p.rest) schema = schemas_.of(*field);
      description = comment_of(*field);
      if (!p.whole)
        description.append(description.empty() ? "" : "\n\n")
            .append("A part of the field `")
            .append(p.field)
            .append("`.");
    }
    if (p.rest) description.append(description.empty() ? "" : "\n\n").append("May contain `/`.");
    json_node parameter{{"name", p.name}, {"in", "path"}, {"required", true}};
    if (!description.empty()) parameter["description"] = description;
    parameter["schema"] = std::move(schema);
    return parameter;
  }

  static const FieldDescriptor* field_at(const Descriptor& type, std::string_view names) {
    const Descriptor* at = &type;
    const FieldDescriptor* field = nullptr;
    while (!names.empty() && at) {
      const std::string_view name = names.substr(0, names.find('.'));
      names.remove_prefix(std::min(name.size() + 1, names.size()));
      field = at->FindFieldByName(std::string(name));
      at = field ? field->message_type() : nullptr;
    }
    return field;
  }

  // All fields that can be parameters, and are neither in the path nor the body.
  void add_query(const Descriptor& type, const http_rule& rule, std::vector<const FieldDescriptor*> above,
                 json_node& to) {
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      if (above.empty() && rule.body == field.name()) continue;
      std::vector<const FieldDescriptor*> path = above;
      path.push_back(&field);
      if (has_text_form(field)) {
        std::string proto_name;
        for (const FieldDescriptor* f : path)
          proto_name.append(proto_name.empty() ? "" : ".").append(f->name());
        const auto& variables = rule.path.variables();
        if (std::any_of(variables.begin(), variables.end(),
                        [&](const auto& v) { return v.field_path == proto_name; }))
          continue;
        json_node parameter{{"name", dotted_name(path, schemas_)}, {"in", "query"}};
        if (std::string comment = comment_of(field); !comment.empty())
          parameter["description"] = std::move(comment);
        if (field.options().deprecated()) parameter["deprecated"] = true;
        parameter["schema"] = schemas_.of(field);
        to.push_back(std::move(parameter));
      } else if (!field.is_repeated() && path.size() < query_levels_max &&
                 field.message_type()->well_known_type() == Descriptor::WELLKNOWNTYPE_UNSPECIFIED &&
                 std::none_of(
                     above.begin(), above.end(),
                     [&](const FieldDescriptor* f) { return f->message_type() == field.message_type(); }) &&
                 field.message_type() != field.containing_type()) {
        add_query(*field.message_type(), rule, path, to);
      }
    }
  }

  static json_node content(const char* type, json_node schema) {
    json_node out = json_node::object();
    out[type]["schema"] = std::move(schema);
    return out;
  }
  // A body of any type.
  static json_node raw_content() { return content("*/*", json_node::object()); }
  // One message, or a stream of them as JSON lines, an array or, in a response, events.
  static json_node content_of(json_node schema, bool stream, bool response) {
    if (!stream) return content("application/json", std::move(schema));
    json_node out = content("application/x-ndjson", schema);
    out["application/json"]["schema"] = {{"type", "array"}, {"items", schema}};
    if (response) out["text/event-stream"]["schema"] = json_node{{"type", "string"}};
    return out;
  }
  static json_node error_response(json_node schema) {
    json_node out{{"description", "An error."}};
    out["content"] = content("application/json", std::move(schema));
    return out;
  }

  const openapi_options& options_;
  const invalid_rule_handler& on_invalid_;
  openapi_schemas schemas_;
  json_node tags_ = json_node::array();
  json_node paths_ = json_node::object();
  std::map<std::string, openapi_path> path_shapes_;
  std::set<std::string> operation_ids_;
};

// YAML 1.2 in block style. Strings are in the quotes of JSON, which are also YAML's.
void write_yaml(const json_node& node, std::size_t indent, std::string& to) {
  const auto scalar = [](const json_node& value) {
    return value.dump(-1, ' ', false, json_node::error_handler_t::replace);
  };
  const auto nested = [&](const json_node& value, bool in_list) {
    if (!value.is_structured() || value.empty()) {
      to.append(" ").append(scalar(value)).append("\n");
    } else if (in_list) {
      // The first line follows the dash.
      std::string block;
      write_yaml(value, indent + 2, block);
      to.append(" ").append(block, indent + 2);
    } else {
      to.append("\n");
      write_yaml(value, indent + 2, to);
    }
  };
  if (node.is_object() && !node.empty()) {
    for (const auto& [name, value] : node.items()) {
      to.append(indent, ' ').append(scalar(name)).append(":");
      nested(value, false);
    }
  } else if (node.is_array() && !node.empty()) {
    for (const json_node& value : node) {
      to.append(indent, ' ').append("-");
      nested(value, true);
    }
  } else {
    to.append(indent, ' ').append(scalar(node)).append("\n");
  }
}

}  // namespace

}  // namespace coracle::rest

namespace coracle {

result<std::string> openapi_document(std::span<const google::protobuf::ServiceDescriptor* const> services,
                                     const openapi_options& options) {
  rest::invalid_rule_handler on_invalid;
  if (options.on_invalid_rule)
    on_invalid = [&](const status& s) { options.on_invalid_rule(std::string(s.message())); };
  std::optional<rest::http_rule_file> rules;
  if (!options.http_rules.empty()) {
    auto parsed = rest::http_rule_file::parse(options.http_rules, on_invalid);
    if (!parsed.ok()) return parsed.status();
    rules = *std::move(parsed);
  }
  google::protobuf::FileDescriptorSet set;
  if (!set.ParseFromString(options.descriptor_set))
    return status::invalid_argument(
        "openapi_options::descriptor_set is not a descriptor set; protoc --include_imports "
        "--include_source_info --descriptor_set_out=FILE writes one");
  google::protobuf::SimpleDescriptorDatabase files;
  std::set<std::string> added;  // sets may have the same imports
  for (const auto& file : set.file())
    if (added.insert(file.name()).second) files.Add(file);
  google::protobuf::DescriptorPool commented(&files);
  rest::openapi_writer writer(options, on_invalid);
  for (const auto* service : services) {
    const auto* const same = commented.FindServiceByName(std::string(service->full_name()));
    if (status failed = writer.add(same ? *same : *service, rules ? &*rules : nullptr); !failed.ok())
      return failed;
  }
  const rest::json_node document = writer.take();
  if (options.format == openapi_format::yaml) {
    std::string yaml;
    rest::write_yaml(document, 0, yaml);
    return yaml;
  }
  return document.dump(2, ' ', false, rest::json_node::error_handler_t::replace) + "\n";
}

}  // namespace coracle
