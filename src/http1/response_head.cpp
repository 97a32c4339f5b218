#include "http1/response_head.hpp"

#include "http1/text.hpp"

namespace coracle::http1 {

std::optional<response_line> read_response_line(std::string_view head) noexcept {
  const std::string_view line = head.substr(0, head.find(line_end));
  // "HTTP/1.1 200 OK"; the reason is optional.
  response_line found{};
  if (!line.starts_with("HTTP/1.") || line.size() < 12 || line[8] != ' ' ||
      !read_number(line.substr(9, 3), found.code) || found.code < 100)
    return {};
  found.is_1_0 = line[7] == '0';
  found.reason = trimmed(line.substr(12));
  return found;
}

std::size_t missing_bytes(std::string_view head) noexcept {
  for (std::size_t n = head_end.size(); n > 0; --n)
    if (head.ends_with(head_end.substr(0, n))) return head_end.size() - n;
  return head_end.size();
}

}  // namespace coracle::http1
