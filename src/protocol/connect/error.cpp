#include "protocol/connect/error.hpp"

#include "coracle/base/impl/base64.hpp"
#include "http/field_rules.hpp"
#include "protocol/connect/code.hpp"
#include "protocol/connect/header_names.hpp"
#include "protocol/grpc/wire_metadata.hpp"
#include "protocol/web/ascii.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace coracle::protocol::connect {

namespace {

using nlohmann::json;

// A value of a document. Unlike nlohmann's, its destructor allocates nothing, so that it cannot fail.
struct json_value {
  enum class kind : std::uint8_t { null, text, array, object, other };
  // Returns null if the object has no such member or it is null. Of two members the last one counts.
  [[nodiscard]] const json_value* find(std::string_view member) const noexcept {
    const auto found = std::find_if(elements.rbegin(), elements.rend(),
                                    [&](const json_value& v) { return v.name == member; });
    return found == elements.rend() || found->type == kind::null ? nullptr : &*found;
  }
  [[nodiscard]] bool is_text() const noexcept { return type == kind::text; }
  [[nodiscard]] bool is_array() const noexcept { return type == kind::array; }
  [[nodiscard]] bool is_object() const noexcept { return type == kind::object; }

  kind type = kind::null;
  std::string name;  // of a member
  std::string text;
  std::vector<json_value> elements;  // or members
};

// Builds the document, and stops at a limit.
class document_builder final : public nlohmann::json_sax<json> {
 public:
  explicit document_builder(json_value& to) noexcept : document_(to) {}
  bool null() override { return add(json_value::kind::null) != nullptr; }
  bool boolean(bool) override { return add_other(); }
  bool number_integer(number_integer_t) override { return add_other(); }
  bool number_unsigned(number_unsigned_t) override { return add_other(); }
  bool number_float(number_float_t, const string_t&) override { return add_other(); }
  bool binary(binary_t&) override { return add_other(); }
  bool string(string_t& text) override {
    json_value* const v = add(json_value::kind::text);
    if (v) v->text = std::move(text);
    return v != nullptr;
  }
  bool key(string_t& name) override {
    name_ = std::move(name);
    return count();
  }
  bool start_object(std::size_t) override { return open(json_value::kind::object); }
  bool start_array(std::size_t) override { return open(json_value::kind::array); }
  bool end_object() override { return open_.pop_back(), true; }
  bool end_array() override { return open_.pop_back(), true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  bool count() noexcept { return ++values_ <= json_values_max; }
  json_value* add(json_value::kind type) {
    if (!count()) return nullptr;
    json_value& v = open_.empty() ? document_ : open_.back()->elements.emplace_back();
    v.type = type;
    v.name = std::exchange(name_, {});
    return &v;
  }
  bool add_other() { return add(json_value::kind::other) != nullptr; }
  bool open(json_value::kind type) {
    json_value* const v = open_.size() < json_depth_max ? add(type) : nullptr;
    if (v) open_.push_back(v);
    return v != nullptr;
  }

  json_value& document_;
  // The elements of an open value do not move: only those of the last one grow.
  std::vector<json_value*> open_;
  std::string name_;
  std::size_t values_ = 0;
};

// Returns null if the text is not JSON or exceeds a limit.
json_value parse(std::string_view text) {
  json_value document;
  document_builder builder(document);
  if (text.size() > json_bytes_max || !json::sax_parse(text, &builder)) return {};
  return document;
}

// Appends `text` as a JSON string.
void append_string(std::string_view text, std::string& out) {
  out += json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

bool read_detail(const json_value& from, error_detail& out) {
  if (!from.is_object()) return false;
  const json_value* type = from.find("type");
  const json_value* value = from.find("value");
  if (!type || !type->is_text() || !value || !value->is_text()) return false;
  out.type = type->text;
  // Some servers write the URL of google.protobuf.Any.
  out.type.erase(0, out.type.rfind('/') + 1);
  return base::base64_decode(value->text, out.value);
}

// Reads the members that are valid. Returns false if the object is malformed; out.code is then `otherwise`.
bool read_members(const json_value& from, status_code otherwise, error& out) {
  out.code = otherwise;
  if (!from.is_object()) return false;
  bool valid = true;
  if (const json_value* message = from.find("message")) {
    if (message->is_text()) out.message = message->text;
    else valid = false;
  }
  if (const json_value* details = from.find("details")) {
    valid = valid && details->is_array();
    if (details->is_array()) {
      for (const json_value& each : details->elements) {
        error_detail d;
        if (read_detail(each, d)) out.details.push_back(std::move(d));
        else valid = false;
      }
    }
  }
  const json_value* code = from.find("code");
  if (code && !code->is_text()) valid = false;
  if (valid && code) out.code = code_named(code->text).value_or(otherwise);
  return valid;
}

bool read_metadata(const json_value& from, http::header_list& out) {
  if (!from.is_object()) return false;
  for (const json_value& values : from.elements) {
    std::string name;
    for (const char c : values.name) name.push_back(web::lower(c));
    if (http::check_field_name(name) != http::field_error::none) return false;
    if (values.type == json_value::kind::null) continue;
    if (!values.is_array()) return false;
    for (const json_value& value : values.elements) {
      if (!value.is_text() || !http::valid_value_characters(value.text)) return false;
      if (is_reserved_key(name)) continue;
      (void)grpc::read_wire_field(name, value.text,
                                  [&](std::string_view n, std::string_view v) { out.add(n, v); });
    }
  }
  return true;
}

}  // namespace

std::string write_error(status_code code, std::string_view message, std::span<const error_detail> details) {
  std::string out = R"({"code":")";
  out += code_name(code == status_code::ok ? status_code::unknown : code);
  out += '"';
  if (!message.empty()) {
    out += R"(,"message":)";
    append_string(message, out);
  }
  const char* separator = R"(,"details":[)";
  for (const error_detail& d : details) {
    out += std::exchange(separator, ",");
    out += R"({"type":)";
    append_string(d.type, out);
    out += R"(,"value":")";
    base::base64_encode(d.value, out);
    out += R"("})";
  }
  if (!details.empty()) out += ']';
  return out += '}';
}

error read_error(std::string_view text, int http_status) {
  error out;
  (void)read_members(parse(text), code_from_http_status(http_status), out);
  return out;
}

std::string write_end_stream(const error* error, const http::header_list& metadata) {
  std::string out = "{";
  if (error) {
    out += R"("error":)";
    out += write_error(error->code, error->message, error->details);
  }
  if (!metadata.empty()) {
    std::map<std::string_view, std::vector<std::string_view>> grouped;
    for (const auto field : metadata) grouped[field.name].push_back(field.value);
    if (error) out += ',';
    out += R"("metadata":)";
    const char* before_name = "{";
    for (const auto& [name, values] : grouped) {
      out += std::exchange(before_name, ",");
      append_string(name, out);
      const char* before_value = ":[";
      for (const std::string_view value : values) {
        out += std::exchange(before_value, ",");
        append_string(value, out);
      }
      out += ']';
    }
    out += '}';
  }
  return out += '}';
}

std::optional<end_stream> read_end_stream(std::string_view text) {
  const json_value document = parse(text);
  if (!document.is_object()) return std::nullopt;
  end_stream out;
  if (const json_value* e = document.find("error"))
    if (!read_members(*e, status_code::unknown, out.error.emplace())) return std::nullopt;
  if (const json_value* m = document.find("metadata"))
    if (!read_metadata(*m, out.metadata)) return std::nullopt;
  return out;
}

}  // namespace coracle::protocol::connect
