#include "protocol/grpc/status_headers.hpp"

#include "base/percent.hpp"

namespace coracle::protocol::grpc {

namespace {

bool is_plain(std::string_view text, std::size_t i) noexcept {
  const char c = text[i];
  const bool edge_blank = c == ' ' && (i == 0 || i + 1 == text.size());
  return c >= 0x20 && c <= 0x7e && c != '%' && !edge_blank;
}

}  // namespace

void encode_message(std::string_view text, std::string& out) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_plain(text, i)) out.push_back(text[i]);
    else base::percent_escape(text[i], out);
  }
}

bool is_plain_message(std::string_view text) noexcept {
  for (std::size_t i = 0; i < text.size(); ++i)
    if (!is_plain(text, i)) return false;
  return true;
}

status_code from_http_status(int http_status) noexcept {
  switch (http_status) {
    case 400: return status_code::internal;
    case 401: return status_code::unauthenticated;
    case 403: return status_code::permission_denied;
    case 404: return status_code::unimplemented;
    case 429:
    case 502:
    case 503:
    case 504: return status_code::unavailable;
    // Also for 431, which gRPC's document maps to INTERNAL: the clients of the conformance suite expect
    // UNKNOWN.
    default: return status_code::unknown;
  }
}

status_code from_reset_code(std::uint32_t code) noexcept {
  switch (code) {
    case 0x7: return status_code::unavailable;         // REFUSED_STREAM
    case 0x8: return status_code::cancelled;           // CANCEL
    case 0xb: return status_code::resource_exhausted;  // ENHANCE_YOUR_CALM
    case 0xc: return status_code::permission_denied;   // INADEQUATE_SECURITY
    default: return status_code::internal;
  }
}

status_code parse_status_code(std::string_view text) noexcept {
  if (text.empty() || text.size() > 2) return status_code::unknown;
  int n = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return status_code::unknown;
    n = n * 10 + (c - '0');
  }
  return n <= 16 ? static_cast<status_code>(n) : status_code::unknown;
}

}  // namespace coracle::protocol::grpc
