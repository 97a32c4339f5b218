#include "rpc/json_syntax.hpp"

#include "base/printable.hpp"
#include "base/utf8.hpp"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cstdint>
#include <forward_list>
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

// What a value is read into: a message, or a field. Nothing is known of what is unknown to the message or
// has a form of its own.
struct json_target {
  const Descriptor* type = nullptr;  // of an object, or of the objects in an array
  const FieldDescriptor* field = nullptr;
  bool element = false;  // of a repeated field
};

json_target target_of(const FieldDescriptor& field) {
  return {field.is_map() ? nullptr : field.message_type(), &field};
}

// A message that JSON has a form of its own for: its keys, if any, are not its fields.
bool has_own_form(const Descriptor& type) {
  return type.well_known_type() != Descriptor::WELLKNOWNTYPE_UNSPECIFIED;
}

const FieldDescriptor* field_of(const Descriptor& type, std::string_view name) {
  const std::string key(name);
  if (const FieldDescriptor* f = type.FindFieldByName(key)) return f;
  if (const FieldDescriptor* f = type.FindFieldByCamelcaseName(key); f && f->json_name() == key) return f;
  for (int i = 0; i < type.field_count(); ++i)
    if (type.field(i)->json_name() == key) return type.field(i);
  return nullptr;
}

class json_checker {
 public:
  explicit json_checker(std::string_view text) noexcept : text_(text) {}

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

  // protobuf's parser also takes 1 for [1], and "yes" for true.
  void check_kind(json_target target) const {
    if (!target.field || peek() == 'n') return;
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
    switch (peek()) {
      case '{': return object(target, depth + 1);
      case '[': return array(target, depth + 1);
      case '"': string(); return;
      case 't': return word("true");
      case 'f': return word("false");
      case 'n': return word("null");
      default: return number();
    }
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
      } else if (const FieldDescriptor* f = type ? field_of(*type, k.name) : nullptr) {
        k.name = f->name();
        inner = target_of(*f);
      }
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
    return escaped ? unescaped_.emplace_front(unescape(content)) : content;
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

  // Resolves the escapes of characters up to U+007F, of which names consist; others stay in one canonical
  // form, which is enough to compare names.
  static std::string unescape(std::string_view content) {
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
          append_utf8(plain, code);
          break;
        }
        default: plain.push_back(content[i]); break;
      }
    }
    return plain;
  }
  static std::uint32_t four_digits(std::string_view digits) {
    return static_cast<std::uint32_t>(std::stoul(std::string(digits.substr(0, 4)), nullptr, 16));
  }
  static void append_utf8(std::string& to, std::uint32_t code) {
    const auto put = [&](std::uint32_t byte) { to.push_back(static_cast<char>(byte)); };
    const auto put_rest = [&](int bytes) {
      while (bytes-- > 0) put(0x80 | ((code >> (6 * bytes)) & 0x3f));
    };
    if (code < 0x80) return put(code);
    if (code < 0x800) return put(0xc0 | code >> 6), put_rest(1);
    if (code < 0x10000) return put(0xe0 | code >> 12), put_rest(2);
    put(0xf0 | code >> 18), put_rest(3);
  }

  void digits() {
    if (peek() < '0' || peek() > '9') fail("a value is malformed");
    while (peek() >= '0' && peek() <= '9') ++at_;
  }
  void number() {
    if (peek() == '-') ++at_;
    if (peek() == '0') ++at_;
    else digits();
    if (peek() == '.') ++at_, digits();
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      digits();
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::forward_list<std::string> unescaped_;  // allocates nothing while it is empty
};

status check(std::string_view text, json_target target) {
  try {
    json_checker(text).run(target);
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

status check_json(std::string_view text, const Descriptor* type) { return check(text, {type}); }

status check_json(std::string_view text, const FieldDescriptor& field) {
  return check(text, target_of(field));
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
