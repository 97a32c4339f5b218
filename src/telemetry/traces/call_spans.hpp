// call_spans: the spans of calls that are sampled (gRFC A72).
#pragma once

#include "coracle/client/client_observer.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/net/address.hpp"
#include "coracle/rpc/call_traffic.hpp"
#include "coracle/server/server_observer.hpp"
#include "telemetry/traces/tracer.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::telemetry_internal {

// The server that a channel calls, for attributes: from its target, not from the addresses that it has.
struct server_name {
  explicit server_name(std::string_view target);
  // The same from what a client called: a host with or without a port.
  static server_name of_authority(std::string_view authority);
  std::string address;
  std::optional<std::int64_t> port;

 private:
  server_name() = default;
};

// A span of a call or an attempt, while it lasts. Without memory a span lacks what it would have got.
class call_span : public coro::pooled {
 public:
  call_span(span_start&& s, span_kind kind, std::string_view prefix, std::string_view method, tracer& by);
  // Adds the events of one message.
  void message_sent(message_size m, tracer& by) noexcept;
  void message_received(message_size m, tracer& by) noexcept;
  void add_event(std::string_view name, tracer& by) noexcept;
  // Sets an attribute that the span does not have yet.
  void set(std::string_view key, attribute_value value) noexcept;
  void set_peer(const net::address& peer) noexcept;
  // Sets the attributes of the RPC conventions. `method` is "package.Service/Method"; empty if it is not
  // known, and then `original` is what was sent.
  void set_method(std::string_view method, std::string_view original, const trace_rules& by) noexcept;
  // Ends the span. Call it once.
  void end(const status& outcome, bool error, tracer& by) noexcept;
  // The same for a span that begins and ends now, of a call that took this long.
  void end_late(const status& outcome, bool error, duration took, tracer& by) noexcept {
    data_.start -= std::chrono::duration_cast<std::chrono::system_clock::duration>(took);
    end(outcome, error, by);
  }

  [[nodiscard]] const trace_context& context() const noexcept { return context_; }

 private:
  // Throws std::bad_alloc.
  void put(std::string_view key, attribute_value value);

  trace_context context_;
  span_limits within_;
  finished_span data_;
  std::int64_t sent_ = 0;
  std::int64_t received_ = 0;
};

// Whether a status is an error of a server's span.
[[nodiscard]] bool is_server_error(status_code code, rpc_conventions by) noexcept;

}  // namespace coracle::telemetry_internal
