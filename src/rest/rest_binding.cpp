#include "rest/rest_binding.hpp"

#include "base/printable.hpp"
#include "base/utf8.hpp"
#include "protocol/rest/query_string.hpp"
#include "protocol/rest/route_table.hpp"
#include "rest/field_text.hpp"
#include "rpc/json_mapping.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <set>
#include <utility>

namespace coracle::rest {

namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MethodDescriptor;
using google::protobuf::OneofDescriptor;
using google::protobuf::Reflection;

constexpr std::string_view http_body_name = "google.api.HttpBody";

const FieldDescriptor* http_body_field(const Descriptor& type, int number, FieldDescriptor::Type kind) {
  const FieldDescriptor* f = type.FindFieldByNumber(number);
  return f && f->type() == kind && !f->is_repeated() ? f : nullptr;
}

// A message of that name which has its fields.
bool is_http_body(const Descriptor* type) {
  return type && type->full_name() == http_body_name &&
         http_body_field(*type, 1, FieldDescriptor::TYPE_STRING) &&
         http_body_field(*type, 2, FieldDescriptor::TYPE_BYTES);
}

bool is_singular_http_body(const FieldDescriptor* field) {
  return field && !field->is_repeated() && is_http_body(field->message_type());
}

const FieldDescriptor* by_json_name(const Descriptor& type, std::string_view name) {
  for (int i = 0; i < type.field_count(); ++i)
    if (type.field(i)->json_name() == name) return type.field(i);
  return nullptr;
}

// Splits off the first name of a path "a.b.c".
std::string first_name(std::string_view& path) {
  const std::string_view name = path.substr(0, path.find('.'));
  path.remove_prefix(std::min(name.size() + 1, path.size()));
  return std::string(name);
}

std::string dotted(const std::vector<const FieldDescriptor*>& path) {
  std::string name;
  for (const FieldDescriptor* f : path) name.append(name.empty() ? "" : ".").append(f->name());
  return name;
}

// Whether a path of names may go on below the field. It may into a message that also has a text form, such as
// a Timestamp, but into none whose fields JSON does not show.
bool has_inner_fields(const FieldDescriptor& field) {
  if (!field.message_type() || field.is_repeated()) return false;
  return field.message_type()->well_known_type() == Descriptor::WELLKNOWNTYPE_UNSPECIFIED ||
         has_text_form(field);
}

// A client that always sends a body sends an empty object.
bool is_empty_object(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  if (!text.starts_with('{')) return false;
  text.remove_prefix(1);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  return text.starts_with('}') && text.find_first_not_of(" \t\r\n", 1) == std::string_view::npos;
}

status invalid_rule(const MethodDescriptor& method, const http_rule& rule, std::string_view reason) {
  return status::invalid_argument("the HTTP rule " + rule.http_method + " " + rule.path.text() + " of " +
                                  std::string(method.full_name()) + ": " + std::string(reason));
}

// Returns why a variable cannot set the field that it names, or an empty string.
std::string resolve_variable(const Descriptor& type, std::string_view names,
                             std::vector<const FieldDescriptor*>& to) {
  const std::string whole(names);
  const Descriptor* at = &type;
  while (true) {
    const std::string name = first_name(names);
    const FieldDescriptor* f = at->FindFieldByName(name);
    if (!f) return "the message " + std::string(at->full_name()) + " has no field " + name;
    to.push_back(f);
    if (names.empty()) break;
    if (!has_inner_fields(*f))
      return "the field " + dotted(to) + " of the variable " + whole + " has no fields";
    at = f->message_type();
  }
  const FieldDescriptor& field = *to.back();
  if (field.is_repeated()) return "the field " + whole + " is repeated and cannot be a variable of the path";
  if (field.message_type() && !is_wrapper(field))
    return "the field " + whole + " is a message and cannot be a variable of the path";
  if (to.size() > rest_binding::field_depth_max)
    return "the field " + whole + " is nested deeper than " + std::to_string(rest_binding::field_depth_max);
  return {};
}

status put_http_body(Message& message, const rest_request& from) {
  // HTTP allows other bytes (RFC 9110 5.5), a string of protobuf does not.
  if (!base::is_utf8(from.content_type)) return status::invalid_argument("the content-type is not UTF-8");
  const Descriptor& type = *message.GetDescriptor();
  const Reflection& reflection = *message.GetReflection();
  reflection.SetString(&message, type.FindFieldByNumber(1), std::string(from.content_type));
  reflection.SetString(&message, type.FindFieldByNumber(2), std::string(as_text(from.body)));
  return {};
}

void take_http_body(const Message& message, rest_reply& to) {
  const Descriptor& type = *message.GetDescriptor();
  const Reflection& reflection = *message.GetReflection();
  to.content_type = reflection.GetString(message, type.FindFieldByNumber(1));
  // A type that would break the header field (RFC 9110 5.5) is none.
  if (to.content_type.empty() || base::printable(to.content_type, to.content_type.size()) != to.content_type)
    to.content_type = "application/octet-stream";
  to.body = reflection.GetString(message, type.FindFieldByNumber(2));
}

}  // namespace

result<rest_binding> rest_binding::make(const MethodDescriptor& method, http_rule rule,
                                        rest_options options) {
  rest_binding b;
  b.method_ = &method;
  b.options_ = options;
  const Descriptor& input = *method.input_type();
  const Descriptor& output = *method.output_type();
  for (const auto& v : rule.path.variables()) {
    const std::string reason = resolve_variable(input, v.field_path, b.path_fields_.emplace_back());
    if (!reason.empty()) return invalid_rule(method, rule, reason);
  }
  if (!rule.body.empty() && rule.body != "*") {
    b.body_field_ = input.FindFieldByName(rule.body);
    if (!b.body_field_)
      return invalid_rule(method, rule,
                          "the request " + std::string(input.full_name()) + " has no field " +
                              base::printable(rule.body) + ", which body names");
    for (const field_path& f : b.path_fields_)
      if (f.size() == 1 && f.front() == b.body_field_)
        return invalid_rule(method, rule, "the field " + rule.body + " is both the body and in the path");
  }
  if (!rule.response_body.empty()) {
    b.response_field_ = output.FindFieldByName(rule.response_body);
    if (!b.response_field_)
      return invalid_rule(method, rule,
                          "the response " + std::string(output.full_name()) + " has no field " +
                              base::printable(rule.response_body) + ", which response_body names");
  }
  b.raw_request_ = rule.body == "*" ? is_http_body(&input) : is_singular_http_body(b.body_field_);
  b.raw_reply_ = b.response_field_ ? is_singular_http_body(b.response_field_) : is_http_body(&output);
  b.rule_ = std::move(rule);
  return b;
}

// Reads one request.
class rest_binding::reader {
 public:
  reader(const rest_binding& b, Message& to) noexcept : binding_(b), message_(to) {}

  status read_body(const rest_request& from) {
    if (!binding_.takes_body()) {
      if (from.body.empty() || is_empty_object(as_text(from.body))) return {};
      return status::invalid_argument(binding_.rule_.http_method + " " + binding_.rule_.path.text() +
                                      " takes no body");
    }
    const FieldDescriptor* field = binding_.body_field_;
    if (binding_.raw_request_) {
      return put_http_body(field ? *message_.GetReflection()->MutableMessage(&message_, field) : message_,
                           from);
    }
    if (from.body.empty()) return {};  // no field is set
    const rpc::json_read_options options{binding_.options_.ignore_unknown_fields, from.cost};
    return field ? rpc::read_json_field(message_, *field, as_text(from.body), options)
                 : rpc::read_json(message_, as_text(from.body), options);
  }

  status read_query(std::string_view query) {
    if (query.empty()) return {};
    const auto parameters = protocol::rest::parse_query(query);
    if (!parameters.ok()) return parameters.status();
    for (const protocol::rest::query_parameter& p : *parameters)
      if (status failed = read_parameter(p); !failed.ok()) return failed;
    return {};
  }

  status read_path(std::span<const std::string_view> values) {
    const auto& variables = binding_.rule_.path.variables();
    if (values.size() != variables.size())
      return status::internal("the path has been matched by another template");
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const field_path& path = binding_.path_fields_[i];
      Message& parent = parent_of(path);
      const std::string value = protocol::rest::decode_variable(values[i], variables[i].several);
      if (status failed = set_field_text(parent, *path.back(), value, variables[i].field_path); !failed.ok())
        return failed;
    }
    return {};
  }

 private:
  static status invalid(const protocol::rest::query_parameter& p, std::string_view reason) {
    return status::invalid_argument("query parameter " + base::printable(p.name) + ": " +
                                    std::string(reason));
  }

  status read_parameter(const protocol::rest::query_parameter& p) {
    field_path path;
    const Descriptor* type = binding_.method_->input_type();
    std::string_view names = p.name;
    while (true) {
      const std::string name = first_name(names);
      const FieldDescriptor* f = type->FindFieldByName(name);
      if (!f) f = by_json_name(*type, name);
      if (!f) {
        if (binding_.options_.ignore_unknown_parameters) return {};
        return invalid(p, "the message " + std::string(type->full_name()) + " has no such field");
      }
      path.push_back(f);
      if (names.empty()) break;
      if (path.size() == field_depth_max)
        return invalid(p, "it is nested deeper than " + std::to_string(field_depth_max));
      if (!has_inner_fields(*f))
        return invalid(p, "the field " + dotted(path) + " has no fields of its own here");
      type = f->message_type();
    }
    const FieldDescriptor& field = *path.back();
    if (!has_text_form(field))
      return invalid(p, field.is_map() ? "a map cannot be a query parameter"
                                       : "a message cannot be a query parameter; name its fields");
    if (binding_.rule_.body == "*") return invalid(p, "the body holds all fields that are not in the path");
    if (path.front() == binding_.body_field_) return invalid(p, "the body holds this field");
    if (std::find(binding_.path_fields_.begin(), binding_.path_fields_.end(), path) !=
        binding_.path_fields_.end())
      return invalid(p, "the path sets this field");
    if (is_set_as_a_whole(path)) return invalid(p, "the message that holds the field is set as a whole");
    if (field.message_type() && !field.is_repeated() && holds_one_that_is_set(path))
      return invalid(p, "a field of the message is set, too");
    if (!field.is_repeated() && !singular_.insert(path).second) return invalid(p, "the field is set twice");
    if (status failed = check_oneofs(p, path); !failed.ok()) return failed;
    return set_field_text(parent_of(path), field, p.value, dotted(path));
  }

  // Whether "ts" is set, for "ts.seconds".
  [[nodiscard]] bool is_set_as_a_whole(field_path path) const {
    while (path.size() > 1) {
      path.pop_back();
      if (singular_.contains(path)) return true;
    }
    return false;
  }
  // Whether "ts.seconds" is set, for "ts".
  [[nodiscard]] bool holds_one_that_is_set(const field_path& path) const {
    return std::any_of(singular_.begin(), singular_.end(), [&](const field_path& other) {
      return other.size() > path.size() && std::equal(path.begin(), path.end(), other.begin());
    });
  }

  // A parameter does not replace what another one, or the body, has set.
  status check_oneofs(const protocol::rest::query_parameter& p, const field_path& path) const {
    const Message* at = &message_;
    for (const FieldDescriptor* f : path) {
      const Reflection& reflection = *at->GetReflection();
      if (const OneofDescriptor* oneof = f->real_containing_oneof()) {
        const FieldDescriptor* other = reflection.GetOneofFieldDescriptor(*at, oneof);
        if (other && other != f)
          return invalid(p, "the field " + std::string(other->name()) + " of the same oneof, " +
                                std::string(oneof->name()) + ", is set");
      }
      if (f == path.back() || !reflection.HasField(*at, f)) return {};
      at = &reflection.GetMessage(*at, f);
    }
    return {};
  }

  Message& parent_of(const field_path& path) {
    Message* at = &message_;
    for (std::size_t i = 0; i + 1 < path.size(); ++i) at = at->GetReflection()->MutableMessage(at, path[i]);
    return *at;
  }

  const rest_binding& binding_;
  Message& message_;
  std::set<field_path> singular_;  // set by a parameter
};

status rest_binding::read_request(const rest_request& from, Message& request) const {
  request.Clear();
  reader r(*this, request);
  if (status failed = r.read_body(from); !failed.ok()) return failed;
  if (status failed = r.read_query(from.query); !failed.ok()) return failed;
  return r.read_path(from.path_values);
}

status rest_binding::write_reply(const Message& reply, rest_reply& to) const {
  to.body.clear();
  if (raw_reply_) {
    take_http_body(response_field_ ? reply.GetReflection()->GetMessage(reply, response_field_) : reply, to);
    return {};
  }
  to.content_type = "application/json";
  const rpc::json_write_options options{options_.proto_field_names, options_.emit_defaults,
                                        options_.enums_as_numbers};
  return response_field_ ? rpc::write_json_field(reply, *response_field_, to.body, options)
                         : rpc::write_json(reply, to.body, options);
}

}  // namespace coracle::rest
