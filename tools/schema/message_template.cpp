#include "tools/schema/message_template.hpp"

#include "tools/format/message_json.hpp"

#include <google/protobuf/message.h>

#include <set>

namespace coracle::tools {

namespace {

namespace pb = google::protobuf;

class template_writer {
 public:
  explicit template_writer(std::vector<std::string>& notes) : notes_(notes) {}

  void fill(pb::Message& message) {
    const pb::Descriptor& type = *message.GetDescriptor();
    if (!above_.insert(&type).second) return;
    for (int i = 0; i < type.field_count(); ++i) {
      const pb::FieldDescriptor& field = *type.field(i);
      const pb::OneofDescriptor* const choice = field.real_containing_oneof();
      if (choice && choice->field(0) != &field) continue;
      if (choice && choice->field_count() > 1) note(*choice);
      add(message, field);
    }
    above_.erase(&type);
  }

 private:
  void note(const pb::OneofDescriptor& choice) {
    std::string names;
    for (int i = 0; i < choice.field_count(); ++i)
      names += (i > 0 ? ", " : "") + std::string(choice.field(i)->json_name());
    const std::string text = std::string(choice.containing_type()->full_name()) + ": at most one of " + names;
    if (noted_.insert(text).second) notes_.push_back(text);
  }

  void add(pb::Message& to, const pb::FieldDescriptor& field) {
    const pb::Reflection& access = *to.GetReflection();
    if (const pb::Descriptor* const part = field.message_type()) {
      // An Any needs a type, and a template cannot know which.
      if (part->full_name() == "google.protobuf.Any" || above_.count(part) > 0) return;
      pb::Message& inner =
          *(field.is_repeated() ? access.AddMessage(&to, &field) : access.MutableMessage(&to, &field));
      const bool known = part->full_name().compare(0, 16, "google.protobuf.") == 0;
      if (part->full_name() == "google.protobuf.Value")
        set_default(inner, *part->FindFieldByName("null_value"));
      else if (!known) fill(inner);
      return;
    }
    set_default(to, field);
  }

  // Sets a field that has no message type; adds one element if it is repeated.
  static void set_default(pb::Message& to, const pb::FieldDescriptor& f) {
    const pb::Reflection& access = *to.GetReflection();
    const bool many = f.is_repeated();
    switch (f.cpp_type()) {
      case pb::FieldDescriptor::CPPTYPE_INT32:
        return many ? access.AddInt32(&to, &f, 0) : access.SetInt32(&to, &f, f.default_value_int32());
      case pb::FieldDescriptor::CPPTYPE_INT64:
        return many ? access.AddInt64(&to, &f, 0) : access.SetInt64(&to, &f, f.default_value_int64());
      case pb::FieldDescriptor::CPPTYPE_UINT32:
        return many ? access.AddUInt32(&to, &f, 0) : access.SetUInt32(&to, &f, f.default_value_uint32());
      case pb::FieldDescriptor::CPPTYPE_UINT64:
        return many ? access.AddUInt64(&to, &f, 0) : access.SetUInt64(&to, &f, f.default_value_uint64());
      case pb::FieldDescriptor::CPPTYPE_DOUBLE:
        return many ? access.AddDouble(&to, &f, 0) : access.SetDouble(&to, &f, f.default_value_double());
      case pb::FieldDescriptor::CPPTYPE_FLOAT:
        return many ? access.AddFloat(&to, &f, 0) : access.SetFloat(&to, &f, f.default_value_float());
      case pb::FieldDescriptor::CPPTYPE_BOOL:
        return many ? access.AddBool(&to, &f, false) : access.SetBool(&to, &f, f.default_value_bool());
      case pb::FieldDescriptor::CPPTYPE_ENUM:
        return many ? access.AddEnum(&to, &f, f.default_value_enum())
                    : access.SetEnum(&to, &f, f.default_value_enum());
      case pb::FieldDescriptor::CPPTYPE_STRING:
        return many ? access.AddString(&to, &f, "")
                    : access.SetString(&to, &f, std::string(f.default_value_string()));
      case pb::FieldDescriptor::CPPTYPE_MESSAGE: break;
    }
  }

  std::vector<std::string>& notes_;
  std::set<std::string> noted_;
  std::set<const pb::Descriptor*> above_;  // the types around the message that is being filled
};

}  // namespace

message_template template_of(schema& types, const pb::Descriptor& type) {
  message_template made;
  const auto message = types.make(type);
  template_writer(made.notes).fill(*message);
  message_json json(types, type, {.write_absent_fields = true});
  made.json = json.text(message->SerializePartialAsString(), true);
  return made;
}

}  // namespace coracle::tools
