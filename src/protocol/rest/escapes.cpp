#include "protocol/rest/escapes.hpp"

#include "base/percent.hpp"

#include <cstddef>

namespace coracle::protocol::rest {

namespace {

bool is_hex(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

}  // namespace

bool has_valid_escapes(std::string_view text) noexcept {
  for (std::size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 3))
    if (text.size() - at < 3 || !is_hex(text[at + 1]) || !is_hex(text[at + 2])) return false;
  return true;
}

std::string decode_variable(std::string_view raw, bool several) {
  if (!several) return base::percent_decode(raw);
  std::string value;
  while (true) {
    std::size_t slash = raw.find("%2");
    while (slash != std::string_view::npos &&
           (slash + 2 == raw.size() || (raw[slash + 2] != 'F' && raw[slash + 2] != 'f')))
      slash = raw.find("%2", slash + 2);
    value += base::percent_decode(raw.substr(0, slash));
    if (slash == std::string_view::npos) return value;
    value.append(raw.substr(slash, 3));
    raw.remove_prefix(slash + 3);
  }
}

}  // namespace coracle::protocol::rest
