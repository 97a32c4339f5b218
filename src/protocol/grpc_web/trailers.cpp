#include "protocol/grpc_web/trailers.hpp"

#include "http/field_rules.hpp"

#include <utility>

namespace coracle::protocol::grpc_web {

void trailer_block::add(std::string_view name, std::string_view value) {
  for (const char c : name) frame_.push_back(web::lower(c));
  frame_.append(": ");
  for (const char c : value) frame_.push_back(c == '\r' || c == '\n' || c == '\0' ? ' ' : c);
  frame_.append("\r\n");
}

std::string trailer_block::take_frame() {
  write_envelope_prefix(reinterpret_cast<std::uint8_t*>(frame_.data()), trailer_flag,
                        static_cast<std::uint32_t>(frame_.size() - envelope_prefix_bytes));
  return std::exchange(frame_, std::string(envelope_prefix_bytes, '\0'));
}

std::string_view to_string(trailer_error error) noexcept {
  switch (error) {
    case trailer_error::none: return "no error";
    case trailer_error::no_colon: return "a line of the trailers has no colon";
    case trailer_error::bad_name: return "a line of the trailers has no valid name";
    case trailer_error::bad_value: return "a value of the trailers contains a control character";
    case trailer_error::line_after_end: return "the trailers continue after an empty line";
    case trailer_error::too_many_fields: return "the trailers have more than 8192 fields";
  }
  return "";
}

bool trailer_lines::next(http::header_view& out) {
  if (error_ != trailer_error::none || rest_.empty()) return false;
  const std::size_t end = rest_.find('\n');
  std::string_view line = rest_.substr(0, end);
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (line.empty()) {
    // PROTOCOL-WEB.md omits the empty line that ends a block of HTTP/1.1, but some servers write it.
    return rest_.empty() ? false : fail(trailer_error::line_after_end);
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return fail(trailer_error::no_colon);
  if (++fields_ > trailer_fields_max) return fail(trailer_error::too_many_fields);
  std::string_view name = line.substr(0, colon);
  while (!name.empty() && (name.back() == ' ' || name.back() == '\t')) name.remove_suffix(1);
  if (!http::valid_token(name)) return fail(trailer_error::bad_name);
  name_.clear();
  for (const char c : name) name_.push_back(web::lower(c));
  out.name = name_;
  out.value = web::trim(line.substr(colon + 1));
  return http::valid_value_characters(out.value) ? true : fail(trailer_error::bad_value);
}

}  // namespace coracle::protocol::grpc_web
