#include "protocol/connect/error.hpp"

#include "coracle/base/impl/base64.hpp"
#include "http/field_rules.hpp"
#include "protocol/connect/code.hpp"
#include "protocol/connect/header_names.hpp"
#include "protocol/grpc/wire_metadata.hpp"
#include "protocol/web/ascii.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace coracle::protocol::connect {

namespace {

using nlohmann::json;

// Checks the syntax and the limits without storing anything, so that the document that is built afterwards is
// small.
class limit_checker final : public nlohmann::json_sax<json> {
 public:
  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool key(string_t&) override { return value(); }
  bool start_object(std::size_t) override { return value() && ++depth_ <= json_depth_max; }
  bool start_array(std::size_t) override { return value() && ++depth_ <= json_depth_max; }
  bool end_object() override { return --depth_, true; }
  bool end_array() override { return --depth_, true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  bool value() noexcept { return ++values_ <= json_values_max; }
  std::size_t depth_ = 0;
  std::size_t values_ = 0;
};

// Returns a discarded value if the text is not JSON or exceeds a limit.
json parse(std::string_view text) {
  limit_checker checker;
  if (text.size() > json_bytes_max || !json::sax_parse(text, &checker)) return json(json::value_t::discarded);
  return json::parse(text, nullptr, false);
}

// Returns null if the member is absent or null.
const json* find(const json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

// Appends `text` as a JSON string.
void append_string(std::string_view text, std::string& out) {
  out += json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

bool read_detail(const json& from, error_detail& out) {
  if (!from.is_object()) return false;
  const json* type = find(from, "type");
  const json* value = find(from, "value");
  if (!type || !type->is_string() || !value || !value->is_string()) return false;
  out.type = type->get_ref<const std::string&>();
  // Some servers write the URL of google.protobuf.Any.
  out.type.erase(0, out.type.rfind('/') + 1);
  return base::base64_decode(value->get_ref<const std::string&>(), out.value);
}

// Reads the members that are valid. Returns false if the object is malformed; out.code is then `otherwise`.
bool read_members(const json& from, status_code otherwise, error& out) {
  out.code = otherwise;
  if (!from.is_object()) return false;
  bool valid = true;
  if (const json* message = find(from, "message")) {
    if (message->is_string()) out.message = message->get_ref<const std::string&>();
    else valid = false;
  }
  if (const json* details = find(from, "details")) {
    valid = valid && details->is_array();
    if (details->is_array()) {
      for (const json& each : *details) {
        error_detail d;
        if (read_detail(each, d)) out.details.push_back(std::move(d));
        else valid = false;
      }
    }
  }
  const json* code = find(from, "code");
  if (code && !code->is_string()) valid = false;
  if (valid && code) out.code = code_named(code->get_ref<const std::string&>()).value_or(otherwise);
  return valid;
}

bool read_metadata(const json& from, http::header_list& out) {
  if (!from.is_object()) return false;
  for (const auto& [key, values] : from.items()) {
    std::string name;
    for (const char c : key) name.push_back(web::lower(c));
    if (http::check_field_name(name) != http::field_error::none) return false;
    if (values.is_null()) continue;
    if (!values.is_array()) return false;
    for (const json& value : values) {
      if (!value.is_string()) return false;
      const auto& text = value.get_ref<const std::string&>();
      if (!http::valid_value_characters(text)) return false;
      if (is_reserved_key(name)) continue;
      (void)grpc::read_wire_field(name, text, [&](std::string_view n, std::string_view v) { out.add(n, v); });
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
    json grouped;
    for (const auto field : metadata) grouped[std::string(field.name)].push_back(field.value);
    if (error) out += ',';
    out += R"("metadata":)";
    out += grouped.dump(-1, ' ', false, json::error_handler_t::replace);
  }
  return out += '}';
}

std::optional<end_stream> read_end_stream(std::string_view text) {
  const json document = parse(text);
  if (!document.is_object()) return std::nullopt;
  end_stream out;
  if (const json* e = find(document, "error"))
    if (!read_members(*e, status_code::unknown, out.error.emplace())) return std::nullopt;
  if (const json* m = find(document, "metadata"))
    if (!read_metadata(*m, out.metadata)) return std::nullopt;
  return out;
}

}  // namespace coracle::protocol::connect
