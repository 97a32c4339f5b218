#include "telemetry/traces/call_spans.hpp"

#include "base/if_memory_allows.hpp"
#include "base/printable.hpp"
#include "base/utf8.hpp"
#include "client/naming/host_and_port.hpp"
#include "telemetry/traces/span_parts.hpp"

#include <algorithm>
#include <utility>

namespace coracle::telemetry_internal {

namespace {

// Of most calls: see set_method(), set_peer() and end(), and the address of the server; and one message in
// each direction.
constexpr std::size_t own_attributes = 7;
constexpr std::size_t usual_events = 2;

constexpr std::string_view unknown_method = "_OTHER";  // of the conventions

std::string ip_of(const net::address& a) {
  std::string text = a.with_port(0).to_string();  // "192.0.2.1:0", "[2001:db8::1]:0"
  text.resize(text.rfind(':'));
  return text.starts_with('[') ? text.substr(1, text.size() - 2) : text;
}

std::int64_t size_of(std::uint64_t bytes) noexcept { return static_cast<std::int64_t>(bytes); }

void add_message(finished_span& to, std::string_view name, std::string_view size_key, std::int64_t number,
                 std::uint64_t bytes, std::chrono::system_clock::time_point time, const span_limits& within) {
  span_event* const e = add_event(to, name, time, within);
  if (!e) return;
  e->attributes.reserve(2);
  e->attributes.emplace_back("sequence-number", number);
  e->attributes.emplace_back(size_key, size_of(bytes));
}

}  // namespace

server_name::server_name(std::string_view target)
    : address(bounded_text(target, span_limits::value_bytes_max)) {
  std::string_view rest = target;
  const std::size_t colon = rest.find(':');
  const std::string_view scheme = rest.substr(0, std::min(colon, rest.size()));
  if (scheme != "dns" && scheme != "ipv4" && scheme != "ipv6" && scheme != "passthrough") return;
  rest.remove_prefix(colon + 1);
  if (rest.starts_with("//")) {
    const std::size_t slash = rest.find('/', 2);
    if (slash == std::string_view::npos) return;
    rest.remove_prefix(slash + 1);
  }
  const auto parts = client::split_host_and_port(rest);
  if (!parts) return;
  address = bounded_text(parts->host, span_limits::value_bytes_max);
  if (parts->port) port = *parts->port;
}

server_name server_name::of_authority(std::string_view authority) {
  server_name made;
  if (auto parts = client::split_host_and_port(authority)) {
    made.address = std::move(parts->host);
    if (parts->port) made.port = *parts->port;
  } else {
    made.address = authority;
  }
  return made;
}

call_span::call_span(span_start&& s, span_kind kind, std::string_view prefix, std::string_view method,
                     tracer& by)
    : context_(std::move(s.context)), within_(by.rules().limits) {
  data_.trace = context_.trace();
  data_.span = context_.span();
  data_.parent = s.parent;
  data_.parent_is_remote = s.remote;
  data_.flags = context_.flags().bits();
  data_.state = context_.state();
  data_.kind = kind;
  data_.start = by.now();
  const std::string_view text = method.empty() ? unknown_method : method;
  data_.name.reserve(prefix.size() + text.size());
  data_.name.append(prefix).append(text);
  if (data_.name.size() > span_limits::name_bytes_max || !base::is_utf8(text)) [[unlikely]]
    data_.name = bounded_text(data_.name, span_limits::name_bytes_max);
  for (std::size_t at = data_.name.find('/'); at != std::string::npos; at = data_.name.find('/', at))
    data_.name[at] = '.';
  data_.attributes.reserve(own_attributes);
  data_.events.reserve(usual_events);
}

void call_span::message_sent(message_size m, tracer& by) noexcept {
  base::if_memory_allows([&] {
    const auto now = by.now();
    add_message(data_, "Outbound message", "message-size", sent_, m.bytes, now, within_);
    if (m.wire_bytes != m.bytes)
      add_message(data_, "Outbound message compressed", "message-size-compressed", sent_, m.wire_bytes, now,
                  within_);
  });
  ++sent_;
}

void call_span::message_received(message_size m, tracer& by) noexcept {
  base::if_memory_allows([&] {
    const auto now = by.now();
    if (m.wire_bytes != m.bytes)
      add_message(data_, "Inbound compressed message", "message-size-compressed", received_, m.wire_bytes,
                  now, within_);
    add_message(data_, "Inbound message", "message-size", received_, m.bytes, now, within_);
  });
  ++received_;
}

void call_span::add_event(std::string_view name, tracer& by) noexcept {
  base::if_memory_allows([&] { telemetry_internal::add_event(data_, name, by.now(), within_); });
}

void call_span::put(std::string_view key, attribute_value value) {
  add_new_attribute(data_, key, std::move(value), within_);
}

void call_span::set(std::string_view key, attribute_value value) noexcept {
  base::if_memory_allows([&] { put(key, std::move(value)); });
}

void call_span::set_peer(const net::address& peer) noexcept {
  base::if_memory_allows([&] {
    if (peer.is_ip()) {
      set_attribute(data_, "network.peer.address", ip_of(peer), within_);
      set_attribute(data_, "network.peer.port", std::int64_t{peer.port()}, within_);
    } else if (!peer.name().empty()) {
      set_attribute(data_, "network.peer.address", bounded_text(peer.name(), span_limits::value_bytes_max),
                    within_);
    }
  });
}

void call_span::set_method(std::string_view method, std::string_view original,
                           const trace_rules& by) noexcept {
  base::if_memory_allows([&] {
    put("rpc.system.name", std::string("grpc"));
    put("rpc.method", std::string(method.empty() ? unknown_method : method));
    if (method.empty()) put("rpc.method_original", base::printable(original, span_limits::name_bytes_max));
    if (by.conventions != rpc_conventions::both) return;
    put("rpc.system", std::string("grpc"));
    put("rpc.service", std::string(method.substr(0, std::min(method.find('/'), method.size()))));
  });
}

void call_span::end(const status& outcome, bool error, tracer& by) noexcept {
  base::if_memory_allows([&] {
    const std::string_view code = name_of(outcome.code());
    put("rpc.status_code", std::string(code));
    if (by.rules().conventions == rpc_conventions::both)
      put("rpc.grpc.status_code", static_cast<std::int64_t>(outcome.code()));
    if (error) {
      put("error.type", std::string(code));
      set_error(data_, std::string(code).append(", ").append(outcome.message()));
    } else if (outcome.ok() && by.rules().conventions == rpc_conventions::grpc) {
      data_.outcome = span_outcome::success;
    }
  });
  data_.end = std::max(by.now(), data_.events.empty() ? data_.start : data_.events.back().time);
  by.finish(std::move(data_));
}

bool is_server_error(status_code code, rpc_conventions by) noexcept {
  switch (code) {
    case status_code::ok: return false;
    case status_code::unknown:
    case status_code::deadline_exceeded:
    case status_code::unimplemented:
    case status_code::internal:
    case status_code::unavailable:
    case status_code::data_loss: return true;
    default: return by == rpc_conventions::grpc;
  }
}

}  // namespace coracle::telemetry_internal
