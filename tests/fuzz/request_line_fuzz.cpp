// The recogniser of HTTP/1.x request lines, byte by byte, against a description of the line as a whole.
#include "http2/request_line.hpp"

#include "coracle/base/bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

using coracle::http2::request_line;
using verdict = request_line::verdict;

namespace {

void require(bool fine) {
  if (!fine) std::abort();
}

bool all(std::string_view text, bool (*fits)(unsigned char)) {
  for (const char c : text)
    if (!fits(static_cast<unsigned char>(c))) return false;
  return true;
}

// RFC 9112 3, a method of capital letters only, and a version of HTTP/1: a line without its line feed.
bool is_request_line(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  const std::size_t target = line.find(' ') + 1, version = line.find(' ', target) + 1;
  if (target == 0 || version == 0) return false;
  const std::string_view method_text = line.substr(0, target - 1);
  const std::string_view target_text = line.substr(target, version - 1 - target);
  const std::string_view version_text = line.substr(version);
  return !method_text.empty() && method_text.size() <= 32 && !target_text.empty() &&
         all(method_text, [](unsigned char c) { return c >= 'A' && c <= 'Z'; }) &&
         all(target_text, [](unsigned char c) { return c > ' ' && c != 0x7f; }) && version_text.size() == 8 &&
         version_text.starts_with("HTTP/1.") && version_text[7] >= '0' && version_text[7] <= '9';
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = coracle::as_text({data, size});
  const std::string_view line = text.substr(0, text.find('\n'));
  const bool whole = line.size() < text.size();
  request_line recogniser;
  verdict v = verdict::more;
  std::size_t taken = 0;
  for (; taken < text.size() && v == verdict::more; ++taken) v = recogniser.take(text[taken]);
  require(recogniser.begun() == !text.empty());

  const bool expected = whole && line.size() < 8000 && is_request_line(line);
  require((v == verdict::yes) == expected);
  if (v == verdict::yes) {
    require(taken == line.size() + 1);
    require(recogniser.is_head() == line.starts_with("HEAD "));
  }
  // A rejected prefix does not become a request line by any bytes that follow, and no longer line is read.
  if (v == verdict::more) require(!whole && text.size() <= 8000);
  return 0;
}
