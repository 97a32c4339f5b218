#include "tools/format/unknown_anys.hpp"

#include "tools/failure.hpp"
#include "tools/schema/schema.hpp"

#include <google/protobuf/any.pb.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message.h>

#include <memory>
#include <string_view>
#include <vector>

namespace coracle::tools {

namespace {

namespace pb = google::protobuf;

// A few kilobytes can contain thousands of nested Anys, and each level takes stack.
constexpr int any_depth_max = 16;

// Makes a message of a type of the schema, or of one that is linked into this program; null if the type is
// unknown.
std::unique_ptr<pb::Message> message_named(const std::string& url, schema& types) {
  const std::string name = url.substr(url.find_last_of('/') + 1);
  try {
    if (const auto* const type = types.find_message(name)) return types.make(*type);
  } catch (const failure&) {
    // The server's reflection does not answer, so the type is unknown.
  }
  const auto* const type = pb::DescriptorPool::generated_pool()->FindMessageTypeByName(name);
  if (!type) return nullptr;
  return std::unique_ptr<pb::Message>(pb::MessageFactory::generated_factory()->GetPrototype(type)->New());
}

// Calls visit(any, url, value) for each Any; nested ones of a known type come before the enclosing Any.
template <class Visit>
void each_any(pb::Message& message, Visit& visit) {
  const pb::Descriptor& type = *message.GetDescriptor();
  const pb::Reflection& reflection = *message.GetReflection();
  if (type.full_name() == pb::Any::descriptor()->full_name()) return visit(message);
  std::vector<const pb::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const pb::FieldDescriptor* const field : fields) {
    if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      each_any(*reflection.MutableMessage(&message, field), visit);
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i)
      each_any(*reflection.MutableRepeatedMessage(&message, field, i), visit);
  }
}

const pb::FieldDescriptor* url_field(const pb::Message& any) {
  return any.GetDescriptor()->FindFieldByNumber(pb::Any::kTypeUrlFieldNumber);
}
const pb::FieldDescriptor* value_field(const pb::Message& any) {
  return any.GetDescriptor()->FindFieldByNumber(pb::Any::kValueFieldNumber);
}

// protobuf's mapping rejects a value without a type.
std::string url_of(const pb::Message& any) {
  const std::string url = any.GetReflection()->GetString(any, url_field(any));
  return url.empty() ? "(none)" : url;
}

std::string with_fields(const std::string& error, const std::string& value) {
  std::string bytes;
  pb::io::StringOutputStream stream(&bytes);
  pb::io::CodedOutputStream out(&stream);
  for (const auto& [number, content] : {std::pair{any_error_field, &error}, {any_value_field, &value}}) {
    out.WriteTag(static_cast<std::uint32_t>(number) << 3 | 2);  // length-delimited
    out.WriteVarint32(static_cast<std::uint32_t>(content->size()));
    out.WriteString(*content);
  }
  out.Trim();
  return bytes;
}

struct finder {
  schema& types;
  any_errors found;
  int depth = 0;

  void operator()(pb::Message& any) {
    const pb::Reflection& reflection = *any.GetReflection();
    const std::string url = url_of(any);
    const std::string value = reflection.GetString(any, value_field(any));
    if (value.empty() || found.contains(url)) return;  // an Any without a value is printed unchanged
    const std::unique_ptr<pb::Message> inner = message_named(url, types);
    if (!inner) found[url] = "the type is not known; @value is the message's bytes in base64";
    else if (!inner->ParsePartialFromString(value))
      found[url] = "the bytes are not a message of this type; @value is the bytes in base64";
    else if (depth == any_depth_max)
      found[url] = "messages of this type are nested too deeply; @value is the message's bytes in base64";
    else ++depth, each_any(*inner, *this), --depth;
  }
};

struct replacer {
  schema& types;
  const any_errors& errors;

  void operator()(pb::Message& any) {
    const pb::Reflection& reflection = *any.GetReflection();
    const std::string url = url_of(any);
    std::string value = reflection.GetString(any, value_field(any));
    if (value.empty()) return;
    if (const auto error = errors.find(url); error != errors.end()) {
      value = with_fields(error->second, value);
      reflection.SetString(&any, url_field(any), url);
    } else {
      const std::unique_ptr<pb::Message> inner = message_named(url, types);
      if (!inner || !inner->ParsePartialFromString(value)) return;
      each_any(*inner, *this);
      value = inner->SerializePartialAsString();
    }
    reflection.SetString(&any, value_field(any), value);
  }
};

}  // namespace

any_errors find_unknown_anys(pb::Message& message, schema& types) {
  finder find{types, {}};
  each_any(message, find);
  return std::move(find.found);
}

void replace_unknown_anys(pb::Message& message, schema& types, const any_errors& errors) {
  replacer replace{types, errors};
  each_any(message, replace);
}

}  // namespace coracle::tools
