#include "coracle/rpc/trace_context.hpp"

#include <algorithm>

namespace coracle {

namespace {

constexpr std::size_t text_bytes = 55;    // version, trace, span and flags, with three dashes
constexpr std::size_t binary_bytes = 29;  // version, then each field after its number

int digit_of(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;  // upper case is forbidden: W3C Trace Context 3.2.2
}

bool parse_hex(std::string_view text, std::uint8_t* to) noexcept {
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = digit_of(text[i]);
    const int low = digit_of(text[i + 1]);
    if (high < 0 || low < 0) return false;
    to[i / 2] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return true;
}

template <class Bytes>
void add_hex(std::string& to, const Bytes& from) {
  constexpr char digits[] = "0123456789abcdef";
  for (const std::uint8_t b : from) to.append({digits[b >> 4], digits[b & 15]});
}

template <class Bytes>
bool all_zero(const Bytes& id) noexcept {
  return std::all_of(id.begin(), id.end(), [](std::uint8_t b) { return b == 0; });
}

}  // namespace

trace_context::trace_context(const trace_id& trace, const span_id& span, bool sampled, std::string_view state)
    : trace_(trace), span_(span), sampled_(sampled), state_(state.size() > state_bytes_max ? "" : state) {}

std::optional<trace_context> trace_context::parse(std::string_view text, std::string_view state) {
  if (text.size() < text_bytes || text[2] != '-' || text[35] != '-' || text[52] != '-') return std::nullopt;
  std::uint8_t version = 0;
  std::uint8_t flags = 0;
  trace_id trace;
  span_id span;
  const bool hex = parse_hex(text.substr(0, 2), &version) && parse_hex(text.substr(3, 32), trace.data()) &&
                   parse_hex(text.substr(36, 16), span.data()) && parse_hex(text.substr(53, 2), &flags);
  if (!hex || version == 0xff || all_zero(trace) || all_zero(span)) return std::nullopt;
  if (text.size() > text_bytes && (version == 0 || text[text_bytes] != '-')) return std::nullopt;
  return trace_context(trace, span, (flags & 1) != 0, state);
}

std::optional<trace_context> trace_context::parse_binary(std::string_view bytes) {
  if (bytes.size() != binary_bytes || bytes[0] != 0 || bytes[1] != 0 || bytes[18] != 1 || bytes[27] != 2)
    return std::nullopt;
  trace_id trace;
  span_id span;
  std::copy_n(bytes.begin() + 2, trace.size(), trace.begin());
  std::copy_n(bytes.begin() + 19, span.size(), span.begin());
  if (all_zero(trace) || all_zero(span)) return std::nullopt;
  return trace_context(trace, span, (bytes[28] & 1) != 0);
}

std::string trace_context::traceparent() const {
  std::string text = "00-";
  text.reserve(text_bytes);
  add_hex(text, trace_);
  text.push_back('-');
  add_hex(text, span_);
  text.append(sampled_ ? "-01" : "-00");
  return text;
}

std::string trace_context::binary() const {
  std::string bytes(2, '\0');
  bytes.append(trace_.begin(), trace_.end()).push_back('\1');
  bytes.append(span_.begin(), span_.end()).push_back('\2');
  bytes.push_back(sampled_ ? '\1' : '\0');
  return bytes;
}

}  // namespace coracle
