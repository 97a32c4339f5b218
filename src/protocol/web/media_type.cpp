#include "protocol/web/media_type.hpp"

#include "http/field_rules.hpp"

#include <cstddef>

namespace coracle::protocol::web {

namespace {

struct media_parameter {
  std::string_view name;
  std::string_view value;  // as sent
  bool quoted = false;     // `value` is what stands between the quotes, with its escapes
};

enum class step : unsigned char { parameter, end, malformed };

// RFC 9110 5.6.4: returns the number of characters of the quoted string at the front, with both quotes, or 0.
std::size_t quoted_string_size(std::string_view text) noexcept {
  for (std::size_t i = 1; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);  // a char has no sign on ARM
    if (c == '"') return i + 1;
    if (c == '\\') ++i;
    else if ((c < 0x20 && c != '\t') || c == 0x7f) return 0;
  }
  return 0;
}

// Removes one parameter from the front of `rest`. RFC 9110 5.6.6: parameters = *( OWS ";" OWS [ parameter ]
// ), so that a ';' without a parameter is allowed.
step take_parameter(std::string_view& rest, media_parameter& out) noexcept {
  while (true) {
    rest = trim(rest);
    if (rest.empty()) return step::end;
    if (rest.front() != ';') return step::malformed;
    rest.remove_prefix(1);
    rest = trim(rest);
    if (!rest.empty() && rest.front() != ';') break;
  }
  const std::size_t equals = rest.find('=');
  if (equals == std::string_view::npos) return step::malformed;
  out.name = rest.substr(0, equals);
  rest.remove_prefix(equals + 1);
  if (!http::valid_token(out.name)) return step::malformed;
  if (!rest.empty() && rest.front() == '"') {
    const std::size_t size = quoted_string_size(rest);
    if (size == 0) return step::malformed;
    out.quoted = true;
    out.value = rest.substr(1, size - 2);
    rest.remove_prefix(size);
    return step::parameter;
  }
  const std::size_t end = rest.find_first_of(" \t;");
  out.quoted = false;
  out.value = rest.substr(0, end);
  rest.remove_prefix(out.value.size());
  return http::valid_token(out.value) ? step::parameter : step::malformed;
}

}  // namespace

std::optional<std::string> media_type::parameter(std::string_view name) const {
  std::string_view rest = parameters;
  media_parameter found;
  while (take_parameter(rest, found) == step::parameter) {
    if (!equal_ignoring_case(found.name, name)) continue;
    if (!found.quoted) return std::string(found.value);
    std::string plain;
    for (std::size_t i = 0; i < found.value.size(); ++i) {
      if (found.value[i] == '\\') ++i;
      plain.push_back(found.value[i]);
    }
    return plain;
  }
  return std::nullopt;
}

std::optional<media_type> parse_media_type(std::string_view text) noexcept {
  text = trim(text);
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  media_type m;
  m.type = text.substr(0, slash);
  text.remove_prefix(slash + 1);
  m.subtype = trim(text.substr(0, text.find(';')));
  if (!http::valid_token(m.type) || !http::valid_token(m.subtype)) return std::nullopt;
  m.parameters = text.substr(m.subtype.size());
  m.parameters = trim(m.parameters);
  std::string_view rest = m.parameters;
  media_parameter each;
  step s = step::parameter;
  while (s == step::parameter) s = take_parameter(rest, each);
  if (s == step::malformed) return std::nullopt;
  return m;
}

}  // namespace coracle::protocol::web
