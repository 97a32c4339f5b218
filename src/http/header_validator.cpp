#include "http/header_validator.hpp"

#include <algorithm>

namespace coracle::http {

namespace {

// The result of checking a field by itself: its class, or its error.
struct verdict {
  field_class known = field_class::unknown;
  field_error error = field_error::none;
};

constexpr bool equal_ignoring_case(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(), [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + 32) : a) == b;
  });
}

// RFC 3986 3.1.
bool valid_scheme(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto further = [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
  };
  return !text.empty() && letter(text.front()) && std::all_of(text.begin(), text.end(), further);
}

// RFC 9113 8.3.2: a three-digit code. 101 has no meaning in HTTP/2 (RFC 9113 8.6).
bool valid_status(std::string_view text) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return text.size() == 3 && std::all_of(text.begin(), text.end(), digit) && text[0] != '0' && text != "101";
}

constexpr field_error unless(bool fine, field_error error) { return fine ? field_error::none : error; }

// Checks the value of :authority and of host, which have the same meaning (RFC 9113 8.3.1).
field_error check_authority_header(std::string_view value) {
  if (!valid_uri_characters(value)) return field_error::authority_character;
  return unless(valid_authority(value), field_error::authority_value);
}

// Checks a pseudo-header (RFC 9113 8.3). The name includes its colon.
verdict check_pseudo_header(std::string_view name, std::string_view value) {
  if (name == ":path") {
    // Absolute, or "*" alone. RFC 9113 8.3.1 requires this for http and https; no other scheme is supported
    // here.
    if (!value.starts_with('/') && value != "*") return {field_class::path, field_error::path_value};
    return {value == "*" ? field_class::asterisk_path : field_class::path,
            unless(valid_uri_characters(value), field_error::path_character)};
  }
  if (name == ":method")
    return {value == "CONNECT" || value == "OPTIONS" ? field_class::special_method : field_class::method,
            unless(valid_token(value), field_error::method_value)};
  if (name == ":scheme") return {field_class::scheme, unless(valid_scheme(value), field_error::scheme_value)};
  if (name == ":authority") return {field_class::authority, check_authority_header(value)};
  if (name == ":status") return {field_class::status, unless(valid_status(value), field_error::status_value)};
  return {field_class::unknown, field_error::pseudo_unknown};
}

// Checks the fields that have rules of their own (RFC 9113 8.2.2, RFC 9110 8.6).
verdict check_regular_header(std::string_view name, std::string_view value) {
  switch (name.size()) {
    case 2:
      if (name == "te")
        return {field_class::te,
                unless(equal_ignoring_case(value, "trailers"), field_error::te_not_trailers)};
      break;
    case 4:
      if (name == "host") return {field_class::regular, check_authority_header(value)};
      break;
    case 7:
      if (name == "upgrade") return {field_class::unknown, field_error::connection_specific};
      break;
    case 10:
      if (name == "connection" || name == "keep-alive")
        return {field_class::unknown, field_error::connection_specific};
      break;
    case 14:
      if (name == "content-length")
        return {field_class::content_length,
                unless(parse_content_length(value).has_value(), field_error::content_length_value)};
      break;
    case 16:
      if (name == "proxy-connection") return {field_class::unknown, field_error::connection_specific};
      break;
    case 17:
      if (name == "transfer-encoding") return {field_class::unknown, field_error::connection_specific};
      break;
    default: break;
  }
  return {field_class::regular, field_error::none};
}

}  // namespace

field_error header_validator::check(std::string_view name, std::string_view value,
                                    field_class* found) noexcept {
  if (found) *found = field_class::unknown;
  if (error_ != field_error::none) return error_;
  const bool pseudo = name.starts_with(':');
  if (!pseudo)
    if (const field_error error = check_field_name(name); error != field_error::none) return fail(error);
  if (check_value(value) != field_error::none) return error_;
  const verdict v = pseudo ? check_pseudo_header(name, value) : check_regular_header(name, value);
  if (v.error != field_error::none) return fail(v.error);
  if (found) *found = v.known;
  return check_known(v.known, value);
}

bool header_validator::has_free_value(std::string_view name) noexcept {
  return !name.starts_with(':') && name != "te" && name != "host" && name != "content-length";
}

field_error header_validator::check_value(std::string_view value) noexcept {
  if (!valid_value_characters(value)) return fail(field_error::value_character);
  if (edges_ == edge_whitespace::reject && has_edge_whitespace(value))
    return fail(field_error::value_edge_whitespace);
  return field_error::none;
}

constinit const std::array<std::array<header_validator::step, field_class_count>, 3>
    header_validator::usual_steps = []() constexpr {
      std::array<std::array<step, field_class_count>, 3> steps{};
      const auto set = [&](header_kind k, field_class c, std::uint8_t forbids, std::uint8_t sees) {
        steps[static_cast<std::size_t>(k)][static_cast<std::size_t>(c)] = {forbids, sees};
      };
      const auto pseudo = [&](field_class c, std::uint8_t mark) {
        set(header_kind::request, c, seen_regular | mark, mark);
      };
      pseudo(field_class::method, seen_method);
      pseudo(field_class::scheme, seen_scheme);
      pseudo(field_class::path, seen_path);
      pseudo(field_class::authority, seen_authority);
      set(header_kind::request, field_class::te, 0, seen_regular);
      for (const header_kind k : {header_kind::request, header_kind::response, header_kind::trailers})
        set(k, field_class::regular, 0, seen_regular);
      return steps;
    }();

field_error header_validator::check_in_message(field_class known, std::string_view value) noexcept {
  if (error_ != field_error::none) return error_;
  switch (known) {
    case field_class::unknown:
    case field_class::regular: break;
    case field_class::te:
      // RFC 9113 8.2.2 exempts te from the connection-specific fields in requests only.
      if (kind_ != header_kind::request) return fail(field_error::connection_specific);
      break;
    case field_class::content_length:
      if (seen_ & seen_content_length) return fail(field_error::content_length_duplicate);
      seen_ |= seen_content_length;
      content_length_ = parse_content_length(value).value_or(0);
      break;
    default: return check_pseudo(known, value);
  }
  seen_ |= seen_regular;
  return field_error::none;
}

field_error header_validator::check_pseudo(field_class known, std::string_view value) noexcept {
  const header_kind owner_loop = known == field_class::status ? header_kind::response : header_kind::request;
  if (kind_ != owner_loop) return fail(field_error::pseudo_in_wrong_message);
  if (seen_ & seen_regular) return fail(field_error::pseudo_after_regular);
  std::uint8_t mark = 0;
  switch (known) {
    case field_class::special_method:
      method_ = value == "CONNECT" ? method::connect : method::options;
      [[fallthrough]];
    case field_class::method: mark = seen_method; break;
    case field_class::asterisk_path: path_ = path_form::asterisk; [[fallthrough]];
    case field_class::path: mark = seen_path; break;
    case field_class::status:
      mark = seen_status;
      if (value.size() == 3)
        status_ =
            static_cast<std::int16_t>((value[0] - '0') * 100 + (value[1] - '0') * 10 + (value[2] - '0'));
      break;
    case field_class::scheme: mark = seen_scheme; break;
    default: mark = seen_authority; break;
  }
  if (seen_ & mark) return fail(field_error::pseudo_duplicate);
  seen_ |= mark;
  return field_error::none;
}

field_error header_validator::finish() noexcept {
  if (error_ != field_error::none) return error_;
  switch (kind_) {
    case header_kind::request: return finish_request();
    case header_kind::response:
      return (seen_ & seen_status) ? field_error::none : fail(field_error::status_missing);
    case header_kind::trailers: break;
  }
  return field_error::none;
}

field_error header_validator::finish_request() noexcept {
  if (!(seen_ & seen_method)) return fail(field_error::method_missing);
  if (method_ == method::connect) {
    // RFC 9113 8.5.
    if (seen_ & seen_scheme) return fail(field_error::connect_with_scheme);
    if (seen_ & seen_path) return fail(field_error::connect_with_path);
    if (!(seen_ & seen_authority)) return fail(field_error::authority_missing);
    return field_error::none;
  }
  if (!(seen_ & seen_scheme)) return fail(field_error::scheme_missing);
  if (!(seen_ & seen_path)) return fail(field_error::path_missing);
  if (path_ == path_form::asterisk && method_ != method::options)
    return fail(field_error::asterisk_without_options);
  return field_error::none;
}

}  // namespace coracle::http
