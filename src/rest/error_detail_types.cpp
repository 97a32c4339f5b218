#include "rest/error_detail_types.hpp"

#include "coracle/base/impl/assert.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/duration.pb.h>

#include <cstdint>
#include <string>

namespace coracle::rest {

namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::DescriptorProto;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::FileDescriptorProto;

enum class detail_kind : std::uint8_t { text, texts, message, messages, text_map };

struct detail_field {
  const char* message;  // within google.rpc; fields of one message stand together
  const char* name;     // numbered from 1, in the order of this table
  detail_kind kind = detail_kind::text;
  const char* type = "";  // of a message
};

// google/rpc/error_details.proto. A nested type is named after what contains it.
constexpr detail_field detail_fields[] = {
    {"ErrorInfo", "reason"},
    {"ErrorInfo", "domain"},
    {"ErrorInfo", "metadata", detail_kind::text_map},
    {"RetryInfo", "retry_delay", detail_kind::message, ".google.protobuf.Duration"},
    {"DebugInfo", "stack_entries", detail_kind::texts},
    {"DebugInfo", "detail"},
    {"QuotaFailure", "violations", detail_kind::messages, ".google.rpc.QuotaFailure.Violation"},
    {"QuotaFailure.Violation", "subject"},
    {"QuotaFailure.Violation", "description"},
    {"PreconditionFailure", "violations", detail_kind::messages, ".google.rpc.PreconditionFailure.Violation"},
    {"PreconditionFailure.Violation", "type"},
    {"PreconditionFailure.Violation", "subject"},
    {"PreconditionFailure.Violation", "description"},
    {"BadRequest", "field_violations", detail_kind::messages, ".google.rpc.BadRequest.FieldViolation"},
    {"BadRequest.FieldViolation", "field"},
    {"BadRequest.FieldViolation", "description"},
    {"BadRequest.FieldViolation", "reason"},
    {"BadRequest.FieldViolation", "localized_message", detail_kind::message, ".google.rpc.LocalizedMessage"},
    {"RequestInfo", "request_id"},
    {"RequestInfo", "serving_data"},
    {"ResourceInfo", "resource_type"},
    {"ResourceInfo", "resource_name"},
    {"ResourceInfo", "owner"},
    {"ResourceInfo", "description"},
    {"Help", "links", detail_kind::messages, ".google.rpc.Help.Link"},
    {"Help.Link", "description"},
    {"Help.Link", "url"},
    {"LocalizedMessage", "locale"},
    {"LocalizedMessage", "message"},
};

FieldDescriptorProto& add_field(DescriptorProto& to, const std::string& name) {
  FieldDescriptorProto& f = *to.add_field();
  f.set_name(name);
  f.set_number(to.field_size());
  f.set_label(FieldDescriptorProto::LABEL_OPTIONAL);
  f.set_type(FieldDescriptorProto::TYPE_STRING);
  return f;
}

void add_text_map(DescriptorProto& to, const std::string& type, FieldDescriptorProto& field) {
  DescriptorProto& entry = *to.add_nested_type();
  entry.set_name("MetadataEntry");
  entry.mutable_options()->set_map_entry(true);
  add_field(entry, "key");
  add_field(entry, "value");
  field.set_label(FieldDescriptorProto::LABEL_REPEATED);
  field.set_type(FieldDescriptorProto::TYPE_MESSAGE);
  field.set_type_name(".google.rpc." + type + ".MetadataEntry");
}

FileDescriptorProto error_details_file() {
  FileDescriptorProto file;
  file.set_name("google/rpc/error_details.proto");
  file.set_package("google.rpc");
  file.set_syntax("proto3");
  file.add_dependency("google/protobuf/duration.proto");
  DescriptorProto* message = nullptr;
  std::string last;
  for (const detail_field& f : detail_fields) {
    const std::string type = f.message;
    if (type != last) {
      const std::size_t dot = type.find('.');
      // What a nested type is in stands before it.
      message = dot == std::string::npos
                    ? file.add_message_type()
                    : file.mutable_message_type(file.message_type_size() - 1)->add_nested_type();
      message->set_name(type.substr(dot == std::string::npos ? 0 : dot + 1));
      last = type;
    }
    FieldDescriptorProto& field = add_field(*message, f.name);
    if (f.kind == detail_kind::texts || f.kind == detail_kind::messages)
      field.set_label(FieldDescriptorProto::LABEL_REPEATED);
    if (f.kind == detail_kind::message || f.kind == detail_kind::messages) {
      field.set_type(FieldDescriptorProto::TYPE_MESSAGE);
      field.set_type_name(f.type);
    }
    if (f.kind == detail_kind::text_map) add_text_map(*message, type, field);
  }
  return file;
}

const DescriptorPool& detail_pool() {
  static const DescriptorPool& pool = *[] {  // never destroyed: calls may run while the program exits
    auto* made = new DescriptorPool;
    FileDescriptorProto duration;
    google::protobuf::Duration::descriptor()->file()->CopyTo(&duration);
    CORACLE_ASSERT(made->BuildFile(duration) && made->BuildFile(error_details_file()),
                   "the table of google.rpc's error details is not valid");
    return made;
  }();
  return pool;
}

}  // namespace

const google::protobuf::Descriptor* find_error_detail_type(std::string_view full_name) {
  return detail_pool().FindMessageTypeByName(std::string(full_name));
}

}  // namespace coracle::rest
