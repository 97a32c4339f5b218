#include "coracle/rpc/trace_context.hpp"

#include "rpc/hex_id.hpp"

#include <algorithm>

namespace coracle {

using rpc::add_hex;
using rpc::all_zero;
using rpc::parse_hex;

namespace {

constexpr std::size_t text_bytes = 55;    // version, trace, span and flags, with three dashes
constexpr std::size_t binary_bytes = 29;  // version, then each field after its number

}  // namespace

trace_context::trace_context(const trace_id& trace, const span_id& span, bool sampled, std::string_view state)
    : trace_context(trace, span, trace_flags{.sampled = sampled}, state) {}

trace_context::trace_context(const trace_id& trace, const span_id& span, trace_flags flags,
                             std::string_view state)
    : trace_(trace), span_(span), flags_(flags), state_(state.size() > state_bytes_max ? "" : state) {}

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
  return trace_context(trace, span, trace_flags{.sampled = (flags & 1) != 0, .random = (flags & 2) != 0},
                       state);
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
  text.append("-0").push_back(static_cast<char>('0' + flags_.bits()));
  return text;
}

std::string trace_context::binary() const {
  std::string bytes(2, '\0');
  bytes.append(trace_.begin(), trace_.end()).push_back('\1');
  bytes.append(span_.begin(), span_.end()).push_back('\2');
  bytes.push_back(flags_.sampled ? '\1' : '\0');
  return bytes;
}

}  // namespace coracle
