#include "telemetry/otlp/encode_spans.hpp"

#include "coracle/base/bytes.hpp"
#include "telemetry/otlp/wire.hpp"

#include <algorithm>
#include <variant>

namespace coracle::telemetry_internal {

namespace {

// Of Span.flags and Link.flags, beside the trace flags of W3C.
constexpr std::uint32_t knows_whether_remote = 0x100;
constexpr std::uint32_t is_remote = 0x200;

std::uint32_t flags_of(std::uint8_t trace_flags, bool remote) noexcept {
  return trace_flags | knows_whether_remote | (remote ? is_remote : 0);
}

std::uint64_t kind_of(span_kind k) noexcept {
  switch (k) {
    case span_kind::internal: return 1;
    case span_kind::server: return 2;
    case span_kind::client: return 3;
    case span_kind::producer: return 4;
    case span_kind::consumer: break;
  }
  return 5;
}

std::string encode_event(const span_event& e) {
  std::string m;
  put_time(m, 1, e.time);
  put_string(m, 2, e.name);
  put_attributes(m, 3, e.attributes);
  put_number(m, 4, e.dropped_attributes);
  return m;
}

std::string encode_link(const span_link& l) {
  std::string m;
  put_text(m, 1, as_text(l.trace));
  put_text(m, 2, as_text(l.span));
  put_string(m, 3, l.state);
  put_attributes(m, 4, l.attributes);
  put_number(m, 5, l.dropped_attributes);
  put_fixed32(m, 6, flags_of(l.flags, l.remote));
  return m;
}

std::string encode_status(const finished_span& s) {
  std::string m;
  put_string(m, 2, s.description);
  put_number(m, 3, s.outcome == span_outcome::success ? 1 : s.outcome == span_outcome::error ? 2 : 0);
  return m;
}

std::string encode_span(const finished_span& s) {
  std::string m;
  put_text(m, 1, as_text(s.trace));
  put_text(m, 2, as_text(s.span));
  put_string(m, 3, s.state);
  const bool is_root = std::ranges::all_of(s.parent, [](std::uint8_t b) { return b == 0; });
  if (!is_root) put_text(m, 4, as_text(s.parent));
  put_string(m, 5, s.name);
  put_number(m, 6, kind_of(s.kind));
  put_time(m, 7, s.start);
  put_time(m, 8, s.end);
  put_attributes(m, 9, s.attributes);
  put_number(m, 10, s.dropped_attributes);
  for (const span_event& e : s.events) put_text(m, 11, encode_event(e), true);
  put_number(m, 12, s.dropped_events);
  for (const span_link& l : s.links) put_text(m, 13, encode_link(l), true);
  put_number(m, 14, s.dropped_links);
  put_text(m, 15, encode_status(s));
  put_fixed32(m, 16, flags_of(s.flags, s.parent_is_remote));
  return m;
}

struct any_writer {
  std::string& to;
  void operator()(const std::string& v) const { put_string(to, 1, v, true); }
  void operator()(bool v) const { put_oneof_number(to, 2, v); }
  void operator()(std::int64_t v) const { put_oneof_number(to, 3, static_cast<std::uint64_t>(v)); }
  void operator()(double v) const { put_double(to, 4, v); }
  void operator()(const std::vector<std::string>& all) const {
    std::string array;
    for (const std::string& v : all) {
      std::string any;
      put_string(any, 1, v, true);
      put_text(array, 1, any, true);
    }
    put_text(to, 5, array, true);
  }
};

}  // namespace

std::string encode_any(const attribute_value& value) {
  std::string any;
  std::visit(any_writer{any}, value);
  return any;
}

void put_attributes(std::string& to, std::uint32_t field, const attribute_list& attributes) {
  for (const auto& [key, value] : attributes) {
    std::string pair;
    put_string(pair, 1, key);
    put_text(pair, 2, encode_any(value));
    put_text(to, field, pair);
  }
}

encoded_batch encode_spans(std::span<const finished_span> spans, std::string_view resource,
                           std::size_t request_bytes_max) {
  encoded_batch batch;
  request_builder requests(resource, request_bytes_max);
  for (const finished_span& s : spans)
    if (!requests.add(encode_span(s))) ++batch.too_large;
  batch.requests = std::move(requests).take();
  return batch;
}

}  // namespace coracle::telemetry_internal
