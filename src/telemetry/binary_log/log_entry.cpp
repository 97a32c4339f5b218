#include "telemetry/binary_log/log_entry.hpp"

#include "protocol/grpc/header_names.hpp"
#include "rpc/proto_wire.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace coracle::telemetry_internal {

using rpc::put_number;
using rpc::put_text;

namespace {

// The numbers of fields.
namespace entry_field {
constexpr std::uint32_t timestamp = 1, call_id = 2, sequence_id = 3, type = 4, logger = 5, client_header = 6,
                        server_header = 7, message = 8, trailer = 9, truncated = 10, peer = 11;
}
constexpr std::uint32_t seconds_field = 1, nanos_field = 2;  // of Timestamp and Duration

// google.protobuf.Timestamp and Duration, of a time that is not negative.
std::string time_message(std::chrono::nanoseconds t) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(t);
  std::string text;
  put_number(text, seconds_field, static_cast<std::uint64_t>(seconds.count()));
  put_number(text, nanos_field, static_cast<std::uint64_t>((t - seconds).count()));
  return text;
}

constexpr std::string_view always_logged = protocol::grpc::binary_trace_header;

// What gRPC and HTTP use themselves (gRFC A16).
bool is_omitted(std::string_view key) noexcept {
  if (key.starts_with(protocol::grpc::reserved_prefix)) return key != always_logged;
  for (const std::string_view name :
       {std::string_view("lb-token"), std::string_view("content-type"), std::string_view("content-encoding"),
        std::string_view("user-agent"), std::string_view("te")})
    if (key == name) return true;
  return key.starts_with(':');
}

// RFC 5952, without a scope.
std::string ip_text(const net::address& a) {
  std::string text = a.with_port(0).to_string();
  text.resize(text.rfind(':'));
  if (text.starts_with('[')) text = text.substr(1, text.size() - 2);
  return text.substr(0, text.find('%'));
}

}  // namespace

log_entry::log_entry(log_event type, log_side by, std::uint64_t call_id, wall_time when) {
  put_text(text_, entry_field::timestamp, time_message(when.time_since_epoch()), true);
  put_number(text_, entry_field::call_id, call_id);
  put_number(text_, entry_field::type, static_cast<std::uint64_t>(type));
  put_number(text_, entry_field::logger, static_cast<std::uint64_t>(by));
}

std::string&& log_entry::numbered(std::uint64_t sequence_id) {
  put_number(text_, entry_field::sequence_id, sequence_id);
  return std::move(text_);
}

std::string log_entry::metadata_of(const metadata& m, const log_limits& limits) {
  std::string all;
  std::uint64_t left = limits.header_bytes;
  bool full = false;
  for (const auto& [key, value] : m) {
    if (is_omitted(key)) continue;
    if (key != always_logged) {
      const std::uint64_t bytes = key.size() + value.size();
      full = full || bytes > left;
      if (full) continue;
      left -= bytes;
    }
    std::string one;
    put_text(one, 1, key);
    put_text(one, 2, value);
    put_text(all, 1, one, true);
  }
  if (full) truncated();
  return all;
}

void log_entry::truncated() {
  if (!std::exchange(truncated_, true)) put_number(text_, entry_field::truncated, 1);
}

void log_entry::client_header(const metadata& m, std::string_view method, std::string_view authority,
                              duration timeout, const log_limits& limits) {
  std::string header;
  put_text(header, 1, metadata_of(m, limits), true);
  put_text(header, 2, method);
  put_text(header, 3, authority);
  if (timeout != duration::max())
    put_text(header, 4, time_message(std::max(timeout, duration::zero())), true);
  put_text(text_, entry_field::client_header, header, true);
}

void log_entry::server_header(const metadata& m, const log_limits& limits) {
  std::string header;
  put_text(header, 1, metadata_of(m, limits), true);
  put_text(text_, entry_field::server_header, header, true);
}

void log_entry::message(bytes_view bytes, const log_limits& limits) {
  const std::size_t kept =
      static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), limits.message_bytes));
  std::string body;
  put_number(body, 1, bytes.size());
  put_text(body, 2, as_text(bytes.first(kept)));
  put_text(text_, entry_field::message, body, true);
  if (kept < bytes.size()) truncated();
}

void log_entry::trailer(const metadata& m, const status& outcome, const log_limits& limits) {
  std::string body;
  put_text(body, 1, metadata_of(m, limits), true);
  put_number(body, 2, static_cast<std::uint64_t>(outcome.code()));
  put_text(body, 3, outcome.message());
  put_text(body, 4, outcome.details());
  put_text(text_, entry_field::trailer, body, true);
}

void log_entry::peer(const net::address& from) {
  constexpr std::uint64_t ipv4 = 1, ipv6 = 2, path = 3;
  std::string body;
  if (from.is_ip()) {
    put_number(body, 1, from.kind() == net::address::family::ipv4 ? ipv4 : ipv6);
    put_text(body, 2, ip_text(from));
    put_number(body, 3, from.port());
  } else if (from.is_unix()) {
    put_number(body, 1, path);
    put_text(body, 2, (from.kind() == net::address::family::abstract ? "@" : "") + from.name());
  }
  put_text(text_, entry_field::peer, body, true);
}

}  // namespace coracle::telemetry_internal
