#include "rest/field_text.hpp"

#include "base/printable.hpp"
#include "base/utf8.hpp"
#include "coracle/base/impl/base64.hpp"
#include "rpc/json_mapping.hpp"
#include "rpc/json_syntax.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>

namespace coracle::rest {

namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Sets or adds through the two functions of Reflection.
template <class Set, class Add, class Value>
void put(Message& message, const FieldDescriptor& field, Set set, Add add, Value&& value) {
  const Reflection& reflection = *message.GetReflection();
  if (field.is_repeated()) (reflection.*add)(&message, &field, std::forward<Value>(value));
  else (reflection.*set)(&message, &field, std::forward<Value>(value));
}

Message& sub_message(Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  return *(field.is_repeated() ? reflection.AddMessage(&message, &field)
                               : reflection.MutableMessage(&message, &field));
}

class text_reader {
 public:
  text_reader(std::string_view text, std::string_view name) noexcept : text_(text), name_(name) {}

  status set(Message& message, const FieldDescriptor& field) const {
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32: {
        std::int32_t n = 0;
        if (status failed = number("int32", n); !failed.ok()) return failed;
        put(message, field, &Reflection::SetInt32, &Reflection::AddInt32, n);
        return {};
      }
      case FieldDescriptor::CPPTYPE_INT64: {
        std::int64_t n = 0;
        if (status failed = number("int64", n); !failed.ok()) return failed;
        put(message, field, &Reflection::SetInt64, &Reflection::AddInt64, n);
        return {};
      }
      case FieldDescriptor::CPPTYPE_UINT32: {
        std::uint32_t n = 0;
        if (status failed = number("uint32", n); !failed.ok()) return failed;
        put(message, field, &Reflection::SetUInt32, &Reflection::AddUInt32, n);
        return {};
      }
      case FieldDescriptor::CPPTYPE_UINT64: {
        std::uint64_t n = 0;
        if (status failed = number("uint64", n); !failed.ok()) return failed;
        put(message, field, &Reflection::SetUInt64, &Reflection::AddUInt64, n);
        return {};
      }
      case FieldDescriptor::CPPTYPE_DOUBLE: {
        double n = 0;
        if (status failed = real("double", std::numeric_limits<double>::max(), n); !failed.ok())
          return failed;
        put(message, field, &Reflection::SetDouble, &Reflection::AddDouble, n);
        return {};
      }
      case FieldDescriptor::CPPTYPE_FLOAT: {
        double n = 0;
        if (status failed = real("float", std::numeric_limits<float>::max(), n); !failed.ok()) return failed;
        put(message, field, &Reflection::SetFloat, &Reflection::AddFloat, static_cast<float>(n));
        return {};
      }
      case FieldDescriptor::CPPTYPE_BOOL: return set_bool(message, field);
      case FieldDescriptor::CPPTYPE_ENUM: return set_enum(message, field);
      case FieldDescriptor::CPPTYPE_STRING: return set_string(message, field);
      case FieldDescriptor::CPPTYPE_MESSAGE: break;
    }
    return set_message(message, field);
  }

 private:
  [[nodiscard]] status invalid(std::string_view reason) const {
    return status::invalid_argument("field " + base::printable(name_) + ": '" + base::printable(text_) +
                                    "' " + std::string(reason));
  }
  [[nodiscard]] status is_no(std::string_view type) const { return invalid("is no " + std::string(type)); }

  // Also the other words that grpc-gateway reads.
  status set_bool(Message& message, const FieldDescriptor& field) const {
    static constexpr std::string_view yes[] = {"true", "1", "t", "T", "TRUE", "True"};
    static constexpr std::string_view no[] = {"false", "0", "f", "F", "FALSE", "False"};
    const bool is_true = std::find(std::begin(yes), std::end(yes), text_) != std::end(yes);
    if (!is_true && std::find(std::begin(no), std::end(no), text_) == std::end(no))
      return is_no("bool, which is true or false");
    put(message, field, &Reflection::SetBool, &Reflection::AddBool, is_true);
    return {};
  }

  template <class Number>
  status number(std::string_view type, Number& n) const {
    // from_chars() reads no '+', which a signed number may begin with.
    const bool plus = std::is_signed_v<Number> && text_.size() > 1 && text_[0] == '+' && text_[1] != '-';
    const auto [end, error] = std::from_chars(text_.data() + plus, text_.data() + text_.size(), n);
    if (error == std::errc::result_out_of_range && end == text_.data() + text_.size())
      return invalid("is out of the range of " + std::string(type));
    // from_chars() reads no sign for unsigned numbers.
    if (std::is_unsigned_v<Number> && text_.starts_with('-')) {
      std::int64_t negative = 0;
      if (number(type, negative).ok()) return invalid("is out of the range of " + std::string(type));
    }
    if (error != std::errc() || end != text_.data() + text_.size()) return is_no(type);
    return {};
  }

  status real(std::string_view type, double max, double& n) const {
    if (text_ == "NaN") n = std::numeric_limits<double>::quiet_NaN();
    else if (text_ == "Infinity") n = std::numeric_limits<double>::infinity();
    else if (text_ == "-Infinity") n = -std::numeric_limits<double>::infinity();
    else {
      // from_chars() also reads "inf" and "nan", which JSON has no such names for.
      if (text_.find_first_not_of("0123456789+-.eE") != std::string_view::npos) return is_no(type);
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), n);
      if (end != text_.data() + text_.size() || error == std::errc::invalid_argument) return is_no(type);
      if (error == std::errc::result_out_of_range || std::abs(n) > max)
        return invalid("is out of the range of " + std::string(type));
    }
    return {};
  }

  status set_enum(Message& message, const FieldDescriptor& field) const {
    const EnumDescriptor& type = *field.enum_type();
    if (const EnumValueDescriptor* value = type.FindValueByName(std::string(text_))) {
      put(message, field, &Reflection::SetEnumValue, &Reflection::AddEnumValue, value->number());
      return {};
    }
    std::int32_t n = 0;
    const std::string name(type.name());
    if (status failed = number("value of " + name, n); !failed.ok()) return failed;
    // A closed enum has no values but those of its definition; an open one keeps others.
    const std::unique_ptr<Message> probe(message.New());
    put(*probe, field, &Reflection::SetEnumValue, &Reflection::AddEnumValue, n);
    const Reflection& reflection = *probe->GetReflection();
    if (!type.FindValueByNumber(n) && !reflection.GetUnknownFields(*probe).empty())
      return is_no("value of " + name);
    put(message, field, &Reflection::SetEnumValue, &Reflection::AddEnumValue, n);
    return {};
  }

  status set_string(Message& message, const FieldDescriptor& field) const {
    std::string value(text_);
    if (field.type() == FieldDescriptor::TYPE_BYTES) {
      std::replace(value.begin(), value.end(), '-', '+');  // RFC 4648 5, the alphabet for URLs
      std::replace(value.begin(), value.end(), '_', '/');
      std::string bytes;
      if (!base::base64_decode(value, bytes)) return is_no("base64");
      value = std::move(bytes);
    } else if (!base::is_utf8(value)) {
      return invalid("is not UTF-8");
    }
    const Reflection& reflection = *message.GetReflection();
    if (field.is_repeated()) reflection.AddString(&message, &field, std::move(value));
    else reflection.SetString(&message, &field, std::move(value));
    return {};
  }

  status set_message(Message& message, const FieldDescriptor& field) const {
    const Descriptor& type = *field.message_type();
    Message& value = sub_message(message, field);
    if (is_wrapper(field)) return set(value, *type.FindFieldByNumber(1));
    if (!base::is_utf8(text_)) return invalid("is not UTF-8");
    if (type.well_known_type() == Descriptor::WELLKNOWNTYPE_FIELDMASK) {
      set_field_mask(value, *type.FindFieldByNumber(1));
      return {};
    }
    std::string quoted;
    rpc::append_json_string(quoted, text_);
    return rpc::read_json(value, quoted).ok() ? status() : is_no(std::string(type.full_name()));
  }

  // Unlike in JSON, paths may also be written as the .proto does.
  void set_field_mask(Message& mask, const FieldDescriptor& paths) const {
    const Reflection& reflection = *mask.GetReflection();
    std::string_view left = text_;
    while (!left.empty()) {
      const std::string_view one = left.substr(0, left.find(','));
      left.remove_prefix(std::min(one.size() + 1, left.size()));
      std::string path;
      for (const char c : one) {
        if (c >= 'A' && c <= 'Z') path.append({'_', static_cast<char>(c - 'A' + 'a')});
        else path.push_back(c);
      }
      if (!path.empty()) reflection.AddString(&mask, &paths, std::move(path));
    }
  }

  std::string_view text_;
  std::string_view name_;
};

}  // namespace

bool is_wrapper(const FieldDescriptor& field) {
  if (!field.message_type()) return false;
  switch (field.message_type()->well_known_type()) {
    case Descriptor::WELLKNOWNTYPE_DOUBLEVALUE:
    case Descriptor::WELLKNOWNTYPE_FLOATVALUE:
    case Descriptor::WELLKNOWNTYPE_INT64VALUE:
    case Descriptor::WELLKNOWNTYPE_UINT64VALUE:
    case Descriptor::WELLKNOWNTYPE_INT32VALUE:
    case Descriptor::WELLKNOWNTYPE_UINT32VALUE:
    case Descriptor::WELLKNOWNTYPE_STRINGVALUE:
    case Descriptor::WELLKNOWNTYPE_BYTESVALUE:
    case Descriptor::WELLKNOWNTYPE_BOOLVALUE: return true;
    default: return false;
  }
}

bool has_text_form(const FieldDescriptor& field) {
  if (!field.message_type()) return true;
  if (field.is_map() || field.type() == FieldDescriptor::TYPE_GROUP) return false;
  const auto type = field.message_type()->well_known_type();
  return is_wrapper(field) || type == Descriptor::WELLKNOWNTYPE_TIMESTAMP ||
         type == Descriptor::WELLKNOWNTYPE_DURATION || type == Descriptor::WELLKNOWNTYPE_FIELDMASK;
}

status set_field_text(Message& message, const FieldDescriptor& field, std::string_view text,
                      std::string_view name) {
  return text_reader(text, name).set(message, field);
}

}  // namespace coracle::rest
