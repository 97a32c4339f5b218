#include "rest/client_request.hpp"

#include "base/percent.hpp"
#include "base/printable.hpp"
#include "rest/field_text.hpp"
#include "rpc/json_document.hpp"
#include "rpc/json_mapping.hpp"

#include <nlohmann/json.hpp>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace coracle::rest {

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using protocol::rest::path_template;

// RFC 3986 2.3; everything else is escaped.
bool is_unreserved(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

void append_escaped(std::string& to, std::string_view text) {
  for (const char c : text) {
    if (is_unreserved(c)) to.push_back(c);
    else base::percent_escape(c, to);
  }
}

// Appends a segment of a variable with several. "%2F" is what decode_variable() leaves of an escaped '/'.
void append_segment(std::string& to, std::string_view text) {
  for (; !text.empty(); text.remove_prefix(1)) {
    if (text.starts_with("%2F") || text.starts_with("%2f")) {
      to.append("%2F");
      text.remove_prefix(2);
    } else {
      append_escaped(to, text.substr(0, 1));
    }
  }
}

// The values of a field, as JSON has them but without quotes: one, or those of a repeated field.
result<std::vector<std::string>> texts_of(const Message& message, const FieldDescriptor& field) {
  std::string text;
  if (const status failed = rpc::write_json_field(message, field, text); !failed.ok())
    return status::invalid_argument(failed.message());
  const rpc::json_document document(text);
  const nlohmann::json& value = document.whole();
  std::vector<std::string> texts;
  const auto add = [&](const nlohmann::json& one) {
    texts.push_back(one.is_string() ? one.get<std::string>() : one.dump());
  };
  if (value.is_array()) std::for_each(value.begin(), value.end(), add);
  else add(value);
  return texts;
}

// Whether the field has a value, or an element, that differs from what the receiver has without it.
bool has_value(const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  return field.is_repeated() ? reflection.FieldSize(message, &field) > 0
                             : reflection.HasField(message, &field);
}

class request_writer {
 public:
  request_writer(const rest_binding& binding, const Message& request)
      : binding_(binding), left_(request.New()) {
    left_->CopyFrom(request);
  }

  result<client_request> write() {
    const http_rule& rule = binding_.rule();
    made_.method = rule.http_method != "*" ? rule.http_method : rule.body.empty() ? "GET" : "POST";
    if (status failed = write_path(); !failed.ok()) return failed;
    if (status failed = write_body(); !failed.ok()) return failed;
    if (rule.body != "*")
      if (status failed = write_query(*left_, {}); !failed.ok()) return failed;
    return std::move(made_);
  }

 private:
  [[nodiscard]] status invalid(std::string_view field, std::string_view reason) const {
    return status::invalid_argument("the field " + std::string(field) + " " + std::string(reason) + " of " +
                                    binding_.rule().http_method + " " + binding_.rule().path.text());
  }

  // Writes the template with the values of its variables, which leave the message.
  status write_path() {
    const path_template& path = binding_.rule().path;
    std::size_t next = 0;  // segment
    for (std::size_t i = 0; i < path.variables().size(); ++i) {
      const path_template::variable& v = path.variables()[i];
      while (next < v.first) write_literal(path.segments()[next++]);
      if (status failed = write_variable(v, binding_.path_fields()[i]); !failed.ok()) return failed;
      next = v.end;
    }
    while (next < path.segments().size()) write_literal(path.segments()[next++]);
    if (made_.target.empty()) made_.target = "/";
    if (!path.verb().empty()) append_escaped(made_.target.append(":"), path.verb());
    return {};
  }

  void write_literal(const path_template::segment& segment) {
    made_.target.push_back('/');
    // A wildcard without a variable matches anything.
    append_escaped(made_.target,
                   segment.kind == path_template::segment_kind::literal ? segment.literal : std::string("-"));
  }

  status write_variable(const path_template::variable& v, const std::vector<const FieldDescriptor*>& field) {
    Message* parent = left_.get();
    std::vector<Message*> parents{parent};
    bool present = true;
    for (std::size_t i = 0; i + 1 < field.size(); ++i) {
      present = present && parent->GetReflection()->HasField(*parent, field[i]);
      parent = parent->GetReflection()->MutableMessage(parent, field[i]);
      parents.push_back(parent);
    }
    const FieldDescriptor& last = *field.back();
    const bool is_set = last.has_presence() ? parent->GetReflection()->HasField(*parent, &last) : present;
    std::string value;
    if (is_set || !last.message_type()) {
      const auto texts = texts_of(*parent, last);
      if (!texts.ok()) return invalid(v.field_path, texts.status().message());
      value = texts->front();
    }
    if (status failed = append_variable(v, value); !failed.ok()) return failed;
    parent->GetReflection()->ClearField(parent, &last);
    // A message that has nothing but what the path has is not sent.
    for (std::size_t i = field.size() - 1; i-- > 0;)
      if (parents[i + 1]->ByteSizeLong() == 0) parents[i]->GetReflection()->ClearField(parents[i], field[i]);
    return {};
  }

  status append_variable(const path_template::variable& v, std::string_view value) {
    const auto& segments = binding_.rule().path.segments();
    if (!v.several) {
      if (value.empty()) return invalid(v.field_path, "is empty, but in the path");
      append_escaped(made_.target.append("/"), value);
      return {};
    }
    std::string_view left = value;
    bool matches = true;
    bool more = true;
    for (std::uint32_t i = v.first; i < v.end && matches; ++i) {
      if (segments[i].kind == path_template::segment_kind::rest) {
        if (more && !(i == v.first && value.empty())) {
          made_.target.push_back('/');
          for (std::size_t slash; (slash = left.find('/')) != left.npos; left.remove_prefix(slash + 1)) {
            append_segment(made_.target, left.substr(0, slash));
            made_.target.push_back('/');
          }
          append_segment(made_.target, left);
        }
        return {};
      }
      const std::string_view one = left.substr(0, left.find('/'));
      matches = more && !one.empty() &&
                (segments[i].kind != path_template::segment_kind::literal || segments[i].literal == one);
      append_segment(made_.target.append("/"), one);
      more = one.size() < left.size();
      left.remove_prefix(one.size() + (more ? 1 : 0));
    }
    if (matches && !more) return {};
    return invalid(v.field_path, "is '" + base::printable(value) + "', which does not match the path");
  }

  status write_body() {
    if (!binding_.takes_body()) return {};
    const FieldDescriptor* const field = binding_.body_field();
    const Reflection& reflection = *left_->GetReflection();
    if (binding_.has_raw_request()) {
      const Message& raw = field ? reflection.GetMessage(*left_, field) : *left_;
      const Reflection& of_raw = *raw.GetReflection();
      made_.content_type = of_raw.GetString(raw, raw.GetDescriptor()->FindFieldByNumber(1));
      if (made_.content_type.empty()) made_.content_type = "application/octet-stream";
      made_.body = of_raw.GetString(raw, raw.GetDescriptor()->FindFieldByNumber(2));
    } else if (!field || has_value(*left_, *field)) {
      made_.content_type = "application/json";
      const status failed =
          field ? rpc::write_json_field(*left_, *field, made_.body) : rpc::write_json(*left_, made_.body);
      if (!failed.ok()) return status::invalid_argument(failed.message());
    }
    if (field) reflection.ClearField(left_.get(), field);
    return {};
  }

  status write_query(const Message& message, const std::string& above) {
    std::vector<const FieldDescriptor*> fields;
    message.GetReflection()->ListFields(message, &fields);
    for (const FieldDescriptor* const field : fields) {
      const std::string name = above + std::string(field->json_name());
      if (has_text_form(*field)) {
        const auto texts = texts_of(message, *field);
        if (!texts.ok()) return invalid(name, texts.status().message());
        for (const std::string& text : *texts) {
          made_.target.push_back(std::exchange(has_query_, true) ? '&' : '?');
          append_escaped(made_.target, name);
          append_escaped(made_.target.append("="), text);
        }
      } else if (!field->message_type() || field->is_repeated() ||
                 field->message_type()->well_known_type() !=
                     google::protobuf::Descriptor::WELLKNOWNTYPE_UNSPECIFIED) {
        return invalid(name, "has no form for the query");
      } else if (status failed = write_query(message.GetReflection()->GetMessage(message, field), name + ".");
                 !failed.ok()) {
        return failed;
      }
    }
    return {};
  }

  const rest_binding& binding_;
  const std::unique_ptr<Message> left_;  // what is not written yet
  client_request made_;
  bool has_query_ = false;
};

}  // namespace

result<client_request> write_client_request(const rest_binding& binding, const Message& request) {
  return request_writer(binding, request).write();
}

status read_client_reply(const rest_binding& binding, std::string_view content_type, bytes_view body,
                         Message& reply) {
  reply.Clear();
  const FieldDescriptor* const field = binding.response_field();
  const Reflection& reflection = *reply.GetReflection();
  if (binding.has_raw_reply()) {
    Message& raw = field ? *reflection.MutableMessage(&reply, field) : reply;
    const google::protobuf::Descriptor& type = *raw.GetDescriptor();
    raw.GetReflection()->SetString(&raw, type.FindFieldByNumber(1), std::string(content_type));
    raw.GetReflection()->SetString(&raw, type.FindFieldByNumber(2), std::string(as_text(body)));
    return {};
  }
  const rpc::json_read_options options{true};
  const status failed = field ? rpc::read_json_field(reply, *field, as_text(body), options)
                              : rpc::read_json(reply, as_text(body), options);
  return failed.ok()
             ? failed
             : status::internal("the response is not " + std::string(reply.GetDescriptor()->full_name()) +
                                ": " + std::string(failed.message()));
}

}  // namespace coracle::rest
