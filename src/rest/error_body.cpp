#include "rest/error_body.hpp"

#include "coracle/base/impl/base64.hpp"
#include "coracle/rpc/status_details.hpp"
#include "rest/error_detail_types.hpp"
#include "rpc/json_document.hpp"
#include "rpc/json_mapping.hpp"
#include "rpc/json_syntax.hpp"
#include "rpc/proto_wire.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <memory>
#include <optional>

namespace coracle::rest {

namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::Message;

constexpr std::string_view error_type_prefix = "type.googleapis.com/";

const Descriptor* detail_type(std::string_view name, const DescriptorPool& pool) {
  const Descriptor* type = pool.FindMessageTypeByName(std::string(name));
  return type ? type : find_error_detail_type(name);
}

// An empty message of a type. Must not outlive the factory.
std::unique_ptr<Message> made(const Descriptor& type, google::protobuf::DynamicMessageFactory& factory) {
  const Message* prototype = nullptr;
  if (type.file()->pool() == DescriptorPool::generated_pool())
    prototype = google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type);
  if (!prototype) prototype = factory.GetPrototype(&type);
  return std::unique_ptr<Message>(prototype->New());
}

// Returns the message as JSON, or nothing if the bytes are not one, or it has no JSON.
std::optional<std::string> detail_json(const Descriptor& type, std::string_view bytes) {
  google::protobuf::DynamicMessageFactory factory;
  const std::unique_ptr<Message> message = made(type, factory);
  std::string json;
  if (!message->ParsePartialFromString(std::string(bytes)) || !rpc::write_json(*message, json).ok())
    return std::nullopt;
  return json;
}

void append_detail(std::string& to, std::string_view type_url, std::string_view bytes,
                   const DescriptorPool& pool) {
  const std::string_view name = type_url.substr(type_url.rfind('/') + 1);
  to.append("{\"@type\":");
  rpc::append_json_string(to, std::string(error_type_prefix).append(name));
  const Descriptor* type = detail_type(name, pool);
  if (const auto json = type ? detail_json(*type, bytes) : std::nullopt) {
    // As google.protobuf.Any is in JSON: a type with a form of its own stands in "value".
    if (type->well_known_type() != Descriptor::WELLKNOWNTYPE_UNSPECIFIED)
      to.append(",\"value\":").append(*json).append("}");
    else if (*json == "{}") to.push_back('}');
    else to.append(",").append(*json, 1);
    return;
  }
  to.append(",\"value\":\"").append(base::padded_base64(bytes)).append("\"}");
}

using json = nlohmann::json;

// Returns the bytes of a detail, or nothing if they are not known.
std::optional<std::string> detail_bytes(const json& detail, std::string_view name,
                                        const DescriptorPool& pool) {
  // Copies of nlohmann's values would need memory for their end.
  std::string fields = "{";
  for (const auto& [key, value] : detail.items()) {
    if (key == "@type") continue;
    if (fields.size() > 1) fields.push_back(',');
    rpc::append_json_string(fields, key);
    fields.append(":").append(value.dump());
  }
  fields.push_back('}');
  const auto only_value = detail.size() == 2 ? detail.find("value") : detail.end();
  const bool has_only_value = only_value != detail.end();
  if (const Descriptor* const type = detail_type(name, pool)) {
    google::protobuf::DynamicMessageFactory factory;
    const std::unique_ptr<Message> message = made(*type, factory);
    const bool wrapped = type->well_known_type() != Descriptor::WELLKNOWNTYPE_UNSPECIFIED && has_only_value;
    if (rpc::read_json(*message, wrapped ? only_value->dump() : fields, {true}).ok())
      return message->SerializePartialAsString();
  }
  std::string bytes;
  if (has_only_value && only_value->is_string() &&
      base::base64_decode(only_value->get_ref<const std::string&>(), bytes))
    return bytes;
  return std::nullopt;
}

}  // namespace

std::optional<status> read_error_body(std::string_view body, const DescriptorPool* pool) {
  if (!rpc::check_json(body).ok()) return std::nullopt;  // bounds its depth
  const rpc::json_document document(body);
  const json& all = document.whole();
  if (!all.is_object() || !all.contains("code") || !all["code"].is_number_integer()) return std::nullopt;
  const auto number = all["code"].get<std::int64_t>();
  const auto code = number >= 0 && number <= 16 ? static_cast<status_code>(number) : status_code::unknown;
  const auto message = all.find("message");
  status s(code, message != all.end() && message->is_string() ? message->get<std::string>() : std::string());
  const auto details = all.find("details");
  if (s.ok() || details == all.end() || !details->is_array()) return s;
  for (const json& one : *details) {
    if (!one.is_object() || !one.contains("@type") || !one["@type"].is_string()) continue;
    const std::string url = one["@type"].get<std::string>();
    const std::string name = url.substr(url.rfind('/') + 1);
    if (const auto bytes = detail_bytes(one, name, pool ? *pool : *DescriptorPool::generated_pool()))
      s = rpc::add_detail(s, name, *bytes);
  }
  return s;
}

void write_error_body(const status& s, std::string& to, const DescriptorPool* pool) {
  to.append("{\"code\":").append(std::to_string(static_cast<int>(s.code()))).append(",\"message\":");
  rpc::append_json_string(to, s.message());
  to.append(",\"details\":[");
  bool first = true;
  rpc::proto_reader in(s.details());
  while (in.next()) {
    if (in.field() != 3) continue;
    std::string_view type_url;
    std::string_view bytes;
    rpc::proto_reader any(in.text());
    while (any.next()) {
      if (any.field() == 1) type_url = any.text();
      if (any.field() == 2) bytes = any.text();
    }
    if (!any.ok()) continue;
    if (!first) to.push_back(',');
    first = false;
    append_detail(to, type_url, bytes, pool ? *pool : *DescriptorPool::generated_pool());
  }
  to.append("]}");
}

}  // namespace coracle::rest
