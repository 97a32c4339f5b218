#include "telemetry/otlp/answer.hpp"

#include "base/printable.hpp"
#include "coracle/rpc/status_details.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace coracle::telemetry_internal {

namespace {

using kind = export_answer::kind;

// The collector's texts are for the log: longer ones are cut.
constexpr std::size_t shown_bytes_max = 300;

// Whether a failed call may succeed later. RESOURCE_EXHAUSTED does only if the collector says when.
bool is_retryable(const status& s, bool has_retry_info) noexcept {
  switch (s.code()) {
    case status_code::cancelled:
    case status_code::deadline_exceeded:
    case status_code::aborted:
    case status_code::out_of_range:
    case status_code::unavailable:
    case status_code::data_loss: return true;
    case status_code::resource_exhausted: return has_retry_info;
    default: return false;
  }
}

// Reads a response: of all signals, field 1 is ExportPartialSuccess with the number of rejected items and a
// text.
export_answer read_response(std::string_view message) {
  export_answer a;
  a.type = kind::delivered;
  rpc::proto_reader fields(message);
  while (fields.next()) {
    if (fields.field() != 1) continue;
    rpc::proto_reader partial(fields.text());
    while (partial.next()) {
      if (partial.field() == 1) {
        // int64: a negative number makes no sense.
        constexpr std::uint64_t max = std::numeric_limits<std::int64_t>::max();
        a.rejected = partial.number() <= max ? partial.number() : 0;
      } else if (partial.field() == 2) {
        a.reason = base::printable(partial.text(), shown_bytes_max);
      }
    }
  }
  return a;
}

export_answer failure(const status& s) {
  export_answer a;
  a.reason = base::printable(s.to_string(), shown_bytes_max);
  return a;
}

std::optional<int> number(std::string_view text) {
  int n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || n < 0) return std::nullopt;
  return n;
}

// "Sun, 06 Nov 1994 08:49:37 GMT"
std::optional<wall_time> parse_date(std::string_view text) {
  constexpr std::array<std::string_view, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                    "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (text.size() != 29 || !text.ends_with(" GMT")) return std::nullopt;
  const auto day = number(text.substr(5, 2));
  const auto month = std::ranges::find(months, text.substr(8, 3));
  const auto year = number(text.substr(12, 4));
  const auto hours = number(text.substr(17, 2));
  const auto minutes = number(text.substr(20, 2));
  const auto seconds = number(text.substr(23, 2));
  // Later years exceed what a time point holds.
  constexpr int year_max = 2200;
  if (!day || month == months.end() || !year || *year > year_max || !hours || !minutes || !seconds)
    return std::nullopt;
  const std::chrono::year_month_day date{
      std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(month - months.begin()) + 1),
      std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(*hours) + std::chrono::minutes(*minutes) +
         std::chrono::seconds(*seconds);
}

}  // namespace

export_answer read_grpc_answer(const result<bytes_message>& reply) {
  if (reply.ok()) return read_response(reply->bytes());
  export_answer a = failure(reply.status());
  if (const auto info = find_detail<retry_info>(reply.status()))
    a.pause = std::max(info->delay(), duration::zero());
  a.type = is_retryable(reply.status(), a.pause.has_value()) ? kind::retry : kind::refused;
  return a;
}

export_answer read_http_answer(const result<bytes_message>& reply, int http_status,
                               std::string_view retry_after, wall_time now) {
  // A collector that answers with 2xx has taken the request, whatever became of the body.
  if (http_status >= 200 && http_status < 300) return read_response(reply.ok() ? reply->bytes() : "");
  export_answer a = failure(reply.status());
  switch (http_status) {
    case 0: a.type = is_retryable(reply.status(), false) ? kind::retry : kind::refused; break;
    case 429:
    case 502:
    case 503:
    case 504:
      a.type = kind::retry;
      a.pause = parse_retry_after(retry_after, now);
      break;
    default: a.type = kind::refused; break;
  }
  if (http_status != 0) a.reason = "HTTP " + std::to_string(http_status) + ", " + a.reason;
  return a;
}

std::optional<duration> parse_retry_after(std::string_view text, wall_time now) {
  if (const auto seconds = number(text)) return std::chrono::seconds(*seconds);
  if (const auto date = parse_date(text)) return std::max<duration>(*date - now, duration::zero());
  return std::nullopt;
}

}  // namespace coracle::telemetry_internal
