#include "protocol/web/uri.hpp"

#include "base/percent.hpp"

#include <cstddef>

namespace coracle::protocol::web {

namespace {

constexpr int hex_value(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr bool unreserved(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

}  // namespace

bool decode(std::string_view text, uri_part part, std::string& out) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '+' && part == uri_part::query) {
      out.push_back(' ');
    } else if (c == '%') {
      if (text.size() - i < 3) return false;
      const int high = hex_value(text[i + 1]);
      const int low = hex_value(text[i + 2]);
      if (high < 0 || low < 0) return false;
      const char byte = static_cast<char>(high * 16 + low);
      if (byte == '/' && part == uri_part::path_segments) out.append(text, i, 3);
      else out.push_back(byte);
      i += 2;
    } else {
      out.push_back(c);
    }
  }
  return true;
}

bool has_valid_escapes(std::string_view text) noexcept {
  for (std::size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 3))
    if (text.size() - at < 3 || hex_value(text[at + 1]) < 0 || hex_value(text[at + 2]) < 0) return false;
  return true;
}

void encode_uri_component(std::string_view text, std::string& out) {
  for (const char c : text) {
    if (unreserved(c)) out.push_back(c);
    else base::percent_escape(c, out);
  }
}

bool take_query_pair(std::string_view& query, query_pair& out) noexcept {
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    out.text = pair;
    out.name = pair.substr(0, equals);
    out.value = equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1);
    return true;
  }
  return false;
}

}  // namespace coracle::protocol::web
