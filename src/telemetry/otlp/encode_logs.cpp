#include "telemetry/otlp/encode_logs.hpp"

#include "base/log_line.hpp"
#include "coracle/base/bytes.hpp"
#include "coracle/base/impl/log_parts.hpp"
#include "telemetry/otlp/wire.hpp"

#include <limits>
#include <variant>

namespace coracle::telemetry_internal {

namespace {

// A text field of at most `bytes_max` bytes, which ends with "..." if it was cut.
void put_cut(std::string& to, std::uint32_t field, std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return put_string(to, field, text, true);
  constexpr std::string_view cut = "...";
  std::size_t end = bytes_max - cut.size();
  while (end != 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // a whole character
  put_string(to, field, std::string(text.substr(0, end)).append(cut), true);
}

// AnyValue.
struct value_writer {
  std::string& to;
  void operator()(std::string_view v) const { put_cut(to, 1, v, base::log_value_bytes_max); }
  void operator()(bool v) const { put_oneof_number(to, 2, v); }
  void operator()(long long v) const { put_oneof_number(to, 3, static_cast<std::uint64_t>(v)); }
  void operator()(unsigned long long v) const {
    // OTLP's integers have a sign.
    if (v > static_cast<unsigned long long>(std::numeric_limits<std::int64_t>::max()))
      return put_text(to, 1, std::to_string(v));
    put_oneof_number(to, 3, v);
  }
  void operator()(double v) const { put_double(to, 4, v); }
  // As in the other formats of the log: "1.5s".
  void operator()(duration v) const {
    char text[32];
    const std::size_t n = base::write_duration(v, text);
    put_text(to, 1, {text, n});
  }
};

std::string encode_field(const log_field& f) {
  std::string any;
  std::visit(value_writer{any}, f.value().get());
  std::string pair;
  put_cut(pair, 1, f.key(), base::log_key_bytes_max);
  put_text(pair, 2, any, true);
  return pair;
}

}  // namespace

std::string encode_log_record(const log_record& line) {
  std::string m;
  put_time(m, 1, line.time);
  put_number(m, 2, static_cast<std::uint64_t>(severity_number(line.level)));
  put_text(m, 3, to_string(line.level));
  std::string body;
  put_cut(body, 1, line.text, base::log_text_bytes_max);
  put_text(m, 5, body, true);
  put_attribute(m, 6, "coracle.room", to_string(line.room));
  std::uint64_t dropped = 0;
  for (const log_field& f : line.fields) {
    if (f.key().empty()) continue;
    const std::string pair = encode_field(f);
    if (m.size() + pair.size() > base::log_line_bytes_max) ++dropped;
    else put_text(m, 6, pair);
  }
  put_number(m, 7, dropped);
  if (line.trace) {
    put_fixed32(m, 8, line.trace->flags);
    put_text(m, 9, as_text(line.trace->trace));
    put_text(m, 10, as_text(line.trace->span));
  }
  put_time(m, 11, line.time);  // observed when it was written
  return m;
}

encoded_batch encode_logs(std::span<const std::string> records, std::string_view resource,
                          std::size_t request_bytes_max) {
  encoded_batch batch;
  request_builder requests(resource, request_bytes_max);
  for (const std::string& r : records)
    if (!requests.add(r)) ++batch.too_large;
  batch.requests = std::move(requests).take();
  return batch;
}

}  // namespace coracle::telemetry_internal
