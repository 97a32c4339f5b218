#include "tools/call/http_printer.hpp"

#include "tools/call/call_printer.hpp"
#include "tools/terminal_text.hpp"

#include <coracle/base/impl/base64.hpp>

#include <cstdio>
#include <new>
#include <string>
#include <string_view>

namespace coracle::tools {

namespace {

// The bytes of a -bin field in hexadecimal, if its value is base64.
std::string value_text(std::string_view name, std::string_view value) {
  std::string bytes;
  return name.ends_with("-bin") && base::base64_decode(value, bytes) ? hex_text(bytes) : terminal_line(value);
}

// HTTP/2 has pseudo-header fields where HTTP/1.1 has a first line and a Host field.
void print_fields(const char* before, const http::header_list& fields, http_version version,
                  const std::string& first_line) noexcept try {
  const bool http1 = version == http_version::http1;
  std::string text = http1 ? before + first_line + "\n" : std::string();
  for (const auto& [name, value] : fields) {
    if (http1 && name.starts_with(':') && name != ":authority") continue;
    const std::string_view shown = http1 && name == ":authority" ? std::string_view("host") : name;
    text.append(before).append(terminal_line(shown)).append(": ");
    text.append(value_text(name, value)).append("\n");
  }
  std::fputs(text.c_str(), stderr);
} catch (const std::bad_alloc&) {
  std::fputs("(no memory for the headers)\n", stderr);
}

}  // namespace

void http_printer::request_headers(const http::header_list& fields, http_version version) noexcept {
  if (!begun_) return;
  std::string line(terminal_line(fields.find(":method").value_or("")));
  line.append(" ").append(terminal_line(fields.find(":path").value_or(""))).append(" HTTP/1.1");
  print_fields("> ", fields, version, line);
}

void http_printer::response_headers(const http::header_list& fields, http_version version) noexcept {
  if (!begun_) return;
  print_fields("< ", fields, version, "HTTP/1.1 " + std::string(fields.find(":status").value_or("")));
}

}  // namespace coracle::tools
