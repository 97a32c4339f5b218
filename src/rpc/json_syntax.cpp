#include "rpc/json_syntax.hpp"

#include "base/printable.hpp"
#include "base/utf8.hpp"
#include "coracle/rpc/impl/json_check.hpp"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <forward_list>
#include <limits>
#include <map>
#include <system_error>
#include <vector>

namespace coracle::rpc {

namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// Thrown to leave the checker; caught in check().
struct broken_json {
  std::size_t position;
  std::string reason;
};
struct costly_json {};

// What a value is read into: a message, or a field. Nothing is known of what is unknown to the message or
// has a form of its own.
struct json_target {
  const Descriptor* type = nullptr;  // of an object, or of the objects in an array
  const FieldDescriptor* field = nullptr;
  bool element = false;  // of a repeated field, or of a map
  std::size_t any_depth = 0;  // where the outermost google.protobuf.Any around it begins; 0: none
};

json_target target_of(const FieldDescriptor& field) {
  return {field.is_map() ? nullptr : field.message_type(), &field};
}

bool may_be_null(const FieldDescriptor& field) {
  const Descriptor* const type = field.message_type();
  return (type && type->well_known_type() == Descriptor::WELLKNOWNTYPE_VALUE) ||
         (field.enum_type() && field.enum_type()->full_name() == "google.protobuf.NullValue");
}

std::uint32_t four_digits(std::string_view digits) {
  return static_cast<std::uint32_t>(std::stoul(std::string(digits.substr(0, 4)), nullptr, 16));
}

class json_checker {
 public:
  json_checker(std::string_view text, json_cost* cost) noexcept : text_(text), cost_(cost) {}

  void run(json_target target) {
    const std::size_t valid = base::valid_utf8_bytes(text_);
    if (valid != text_.size()) throw broken_json{valid, "the text is not UTF-8"};
    skip_space();
    if (at_ == text_.size()) fail("a value is missing");
    value(target, 0);
    skip_space();
    if (at_ != text_.size()) fail("text follows the value");
  }

 private:
  struct key {
    std::string_view name;
    std::size_t position;
  };

  [[noreturn]] void fail(std::string reason) const { throw broken_json{at_, std::move(reason)}; }
  [[nodiscard]] char peek() const noexcept { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_space() noexcept {
    while (peek() == ' ' || peek() == '\n' || peek() == '\r' || peek() == '\t') ++at_;
  }
  void word(std::string_view expected) {
    if (text_.substr(at_, expected.size()) != expected) fail("a value is malformed");
    at_ += expected.size();
  }

  // A program has few types with names of their own: they are looked up once, because an attacker's text may
  // have many names that a large message does not have.
  const FieldDescriptor* field_of(const Descriptor& type, std::string_view name) {
    const std::string wanted(name);
    if (const FieldDescriptor* f = type.FindFieldByName(wanted)) return f;
    if (const FieldDescriptor* f = type.FindFieldByCamelcaseName(wanted); f && f->json_name() == wanted)
      return f;
    const auto [own, is_new] = own_names_.try_emplace(&type);
    if (is_new)
      for (int i = 0; i < type.field_count(); ++i)
        if (type.field(i)->json_name() != type.field(i)->camelcase_name())
          own->second.push_back(type.field(i));
    for (const FieldDescriptor* f : own->second)
      if (f->json_name() == wanted) return f;
    return nullptr;
  }

  // `times`: how often protobuf's mapping reads a value.
  void charge(std::size_t values, std::size_t times = 1) const {
    if (cost_ && !cost_->charge(values * times * json_cost::mapped_value_bytes)) throw costly_json{};
  }

  // protobuf's parser also takes 1 for [1], and "yes" for true, and ignores null in an array.
  void check_kind(json_target target) const {
    if (!target.field) return;
    if (peek() == 'n') {
      if (target.element && !may_be_null(*target.field))
        fail("null is no value of an array or a map, here of the field " +
             base::printable(target.field->name()));
      return;
    }
    const auto must = [&](const char* what) {
      fail("the field " + base::printable(target.field->name()) + " must be " + what);
    };
    if (target.field->is_map()) {
      if (peek() != '{') must("an object");
    } else if (target.field->is_repeated() && !target.element) {
      if (peek() != '[') must("an array");
    } else if (target.field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
      if (peek() != 't' && peek() != 'f') must("true or false");
    }
  }

  void value(json_target target, std::size_t depth) {
    check_kind(target);
    const auto form = target.type ? target.type->well_known_type() : Descriptor::WELLKNOWNTYPE_UNSPECIFIED;
    if (form == Descriptor::WELLKNOWNTYPE_ANY && target.any_depth == 0) target.any_depth = depth + 1;
    // protobuf keeps the content of an Any until it knows the type, and so reads it again at each level.
    charge(1, target.any_depth == 0 ? 1 : depth + 2 - target.any_depth);
    switch (peek()) {
      case '{': return object(target, depth + 1);
      case '[': return array(target, depth + 1);
      case '"': return text(form == Descriptor::WELLKNOWNTYPE_FIELDMASK, target.any_depth != 0);
      case 't': return word("true");
      case 'f': return word("false");
      case 'n': return word("null");
      default: return number();
    }
  }

  // A string. That of a FieldMask is a list of paths; in an Any, each one may be that of a FieldMask.
  void text(bool mask, bool in_any) {
    const std::size_t start = at_;
    const std::string_view content = string();
    if (!cost_ && !mask) return;
    if (!mask && !in_any) return;
    const auto paths = static_cast<std::size_t>(std::count(content.begin(), content.end(), ','));
    const auto parentheses = static_cast<std::size_t>(std::count(content.begin(), content.end(), '('));
    // protobuf 3.21 also reads "a(b,c)" as "a.b,a.c", which later versions and the mapping's definition do
    // not know. Nested, they take a time that is quadratic in the length.
    if (mask && parentheses != 0) throw broken_json{start, "a field mask has no parentheses"};
    charge(paths + content.size() / 64 + parentheses * content.size() / 1024);
  }

  void enter(std::size_t depth) {
    if (depth > json_depth_max) fail("the text is nested deeper than " + std::to_string(json_depth_max));
    ++at_;
    skip_space();
  }

  void array(json_target target, std::size_t depth) {
    enter(depth);
    if (peek() == ']') return void(++at_);
    target.element = true;
    while (true) {
      value(target, depth);
      skip_space();
      if (peek() == ']') return void(++at_);
      if (peek() != ',') fail("expected ',' or ']'");
      ++at_;
      skip_space();
    }
  }

  void object(json_target target, std::size_t depth) {
    enter(depth);
    if (peek() == '}') return void(++at_);
    std::vector<key> keys;
    const Descriptor* type = target.type && !has_own_form(*target.type) ? target.type : nullptr;
    while (true) {
      if (peek() != '"') fail("expected a name in quotes");
      key k{{}, at_};
      k.name = string();
      json_target inner;
      if (target.field && target.field->is_map()) {
        inner = target_of(*target.field->message_type()->map_value());
        inner.element = true;
        charge(1);  // the key
      } else if (!type) {
        charge(1);  // the key may be one, too
      } else if (const FieldDescriptor* f = field_of(*type, k.name)) {
        k.name = f->name();
        inner = target_of(*f);
      }
      inner.any_depth = target.any_depth;
      keys.push_back(k);
      skip_space();
      if (peek() != ':') fail("expected ':'");
      ++at_;
      skip_space();
      value(inner, depth);
      skip_space();
      if (peek() == '}') break;
      if (peek() != ',') fail("expected ',' or '}'");
      ++at_;
      skip_space();
    }
    ++at_;
    refuse_twins(keys);
  }

  // By sorting: a table could be made slow by the choice of names.
  static void refuse_twins(std::vector<key>& keys) {
    std::sort(keys.begin(), keys.end(), [](const key& a, const key& b) {
      return a.name != b.name ? a.name < b.name : a.position < b.position;
    });
    const auto twins = std::adjacent_find(keys.begin(), keys.end(),
                                          [](const key& a, const key& b) { return a.name == b.name; });
    if (twins == keys.end()) return;
    throw broken_json{(twins + 1)->position, "the field " + base::printable(twins->name) + " is set twice"};
  }

  // Returns the content, which lives as long as the checker and the text.
  std::string_view string() {
    const std::size_t start = ++at_;
    bool escaped = false;
    for (;; ++at_) {
      if (at_ == text_.size()) fail("the quote at the end of a string is missing");
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') break;
      if (c < 0x20) fail("a control character within a string must be escaped");
      if (c != '\\') continue;
      escaped = true;
      ++at_;
      if (peek() == 'u') unicode_escape();
      else if (at_ == text_.size() ||
               std::string_view("\"\\/bfnrt").find(text_[at_]) == std::string_view::npos)
        fail("an escape in a string is malformed");
    }
    const std::string_view content = text_.substr(start, at_++ - start);
    return escaped ? unescaped_.emplace_front(unescape_json(content)) : content;
  }

  // Reads "uXXXX", and the second half of a pair of surrogates; stops at the last digit.
  void unicode_escape() {
    const std::uint32_t first = hex_digits();
    if (first >= 0xdc00 && first <= 0xdfff) fail("a low surrogate without a high one");
    if (first < 0xd800 || first > 0xdbff) return;
    if (text_.substr(at_ + 1, 2) != "\\u") fail("a high surrogate without a low one");
    at_ += 2;
    const std::uint32_t second = hex_digits();
    if (second < 0xdc00 || second > 0xdfff) fail("a high surrogate without a low one");
  }
  std::uint32_t hex_digits() {
    std::uint32_t n = 0;
    for (int i = 0; i < 4; ++i) {
      ++at_;
      const char c = peek();
      if (c >= '0' && c <= '9') n = n * 16 + static_cast<std::uint32_t>(c - '0');
      else if (c >= 'a' && c <= 'f') n = n * 16 + static_cast<std::uint32_t>(c - 'a' + 10);
      else if (c >= 'A' && c <= 'F') n = n * 16 + static_cast<std::uint32_t>(c - 'A' + 10);
      else fail("'\\u' must be followed by four hexadecimal digits");
    }
    return n;
  }

  void digits() {
    if (peek() < '0' || peek() > '9') fail("a value is malformed");
    while (peek() >= '0' && peek() <= '9') ++at_;
  }
  void number() {
    const std::size_t start = at_;
    if (peek() == '-') ++at_;
    if (peek() == '0') ++at_;
    else digits();
    if (peek() == '.') ++at_, digits();
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      digits();
    } else if (at_ - start < digits10_max) {
      return;
    }
    double n = 0;
    if (std::from_chars(text_.data() + start, text_.data() + at_, n).ec == std::errc() ||
        std::isfinite(std::strtod(std::string(text_.substr(start, at_ - start)).c_str(), nullptr)))
      return;
    at_ = start;
    fail("a number is beyond the range of a double");
  }

  static constexpr std::size_t digits10_max = std::numeric_limits<double>::max_exponent10;

  std::string_view text_;
  json_cost* const cost_;
  std::size_t at_ = 0;
  std::map<const Descriptor*, std::vector<const FieldDescriptor*>> own_names_;
  std::forward_list<std::string> unescaped_;  // allocates nothing while it is empty
};

status check(std::string_view text, json_target target, json_cost* cost) {
  try {
    json_checker(text, cost).run(target);
  } catch (const costly_json&) {
    return too_costly_json(*cost);
  } catch (const broken_json& broken) {
    const std::string_view before = text.substr(0, broken.position);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t column = before.size() - (before.rfind('\n') + 1) + 1;
    return status::invalid_argument("the JSON is invalid at line " + std::to_string(line) + ", column " +
                                    std::to_string(column) + ": " + broken.reason);
  }
  return {};
}

}  // namespace

bool has_own_form(const Descriptor& type) {
  return type.well_known_type() != Descriptor::WELLKNOWNTYPE_UNSPECIFIED;
}

std::string unescape_json(std::string_view content) {
  std::string plain;
  for (std::size_t i = 0; i < content.size(); ++i) {
    if (content[i] != '\\') {
      plain.push_back(content[i]);
      continue;
    }
    switch (content[++i]) {
      case 'b': plain.push_back('\b'); break;
      case 'f': plain.push_back('\f'); break;
      case 'n': plain.push_back('\n'); break;
      case 'r': plain.push_back('\r'); break;
      case 't': plain.push_back('\t'); break;
      case 'u': {
        std::uint32_t code = four_digits(content.substr(i + 1));
        i += 4;
        if (code >= 0xd800 && code <= 0xdbff) {
          code = 0x10000 + ((code - 0xd800) << 10) + (four_digits(content.substr(i + 3)) - 0xdc00);
          i += 6;
        }
        base::append_utf8(plain, code);
        break;
      }
      default: plain.push_back(content[i]); break;
    }
  }
  return plain;
}

status too_costly_json(const json_cost& cost) {
  return status::resource_exhausted(
      "max_receive_bytes exceeded: a message in JSON has too many values, limit " +
      std::to_string(cost.max / json_cost::mapped_value_bytes) + " to " +
      std::to_string(cost.max / json_cost::plain_value_bytes) +
      ", depending on their kinds; send fewer values in one message or send protobuf's binary format, or "
      "raise the receiver's max_receive_bytes");
}

status check_json(std::string_view text, const Descriptor* type, json_cost* cost) {
  return check(text, {type}, cost);
}

status check_json(std::string_view text, const FieldDescriptor& field, json_cost* cost) {
  return check(text, target_of(field), cost);
}

status check_json_text(std::string_view text, const Descriptor& type) {
  return check(text, {&type}, nullptr);
}

void append_json_string(std::string& to, std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  to.push_back('"');
  while (!text.empty()) {
    const std::size_t valid = base::valid_utf8_bytes(text);
    for (const char c : text.substr(0, valid)) {
      if (c == '"' || c == '\\') to.append({'\\', c});
      else if (c == '\n') to.append("\\n");
      else if (static_cast<unsigned char>(c) < 0x20)
        to.append("\\u00").append({digits[static_cast<unsigned char>(c) >> 4], digits[c & 15]});
      else to.push_back(c);
    }
    text.remove_prefix(valid);
    if (text.empty()) break;
    to.append("\xef\xbf\xbd");
    text.remove_prefix(1);
  }
  to.push_back('"');
}

}  // namespace coracle::rpc
