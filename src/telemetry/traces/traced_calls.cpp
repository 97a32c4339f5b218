#include "telemetry/traces/traced_calls.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/rpc/impl/propagated_context.hpp"
#include "protocol/grpc/header_names.hpp"

#include <utility>

namespace coracle::telemetry_internal {

namespace {

std::string_view name_of_method(std::string_view path) noexcept {
  return path.starts_with('/') ? path.substr(1) : path;
}

const rpc::propagated_context* call_of(const coro::environment& e) noexcept {
  return static_cast<const rpc::propagated_context*>(e.call);
}

// Returns nothing if the call need not send more than the library passes on by itself.
std::optional<span_start> begin_call(const observed_call& c, std::string_view method, tracer& by) {
  const propagation& form = by.rules().by;
  // Metadata of the program win: it may be a proxy, or have a tracer of its own.
  if (form.may_extract(*c.metadata))
    if (const auto own = form.extract(*c.metadata).parent) return by.child_of(*own);
  const bool passes = form.passes_by_itself();
  if (const auto* const span = static_cast<const rpc::active_span*>(c.caller->span))
    return span->context.sampled() || !passes ? std::optional(by.child_of(span->context)) : std::nullopt;
  const rpc::propagated_context* const call = call_of(*c.caller);
  if (!call || call->decision() == rpc::traced_as::untraced)
    return by.begin(call ? call->trace() : std::nullopt, false, std::nullopt, method);
  if (call->decision() == rpc::traced_as::dropped && passes) return std::nullopt;
  if (const auto parent = call->trace()) return by.child_of(*parent);
  return std::nullopt;
}

void set_server(call_span& to, const server_name& server) noexcept {
  if (server.address.empty()) return;
  to.set("server.address", server.address);
  if (server.port) to.set("server.port", *server.port);
}

// The name under which calls are reported; empty for methods that no service has.
std::string_view reported_name(const method_calls& calls) noexcept {
  return calls.key.method == other_method ? std::string_view() : std::string_view(calls.key.method);
}

void describe(call_span& span, served_call& c, const method_calls& calls, const trace_rules& by) {
  span.set_method(reported_name(calls), c.context.method(), by);
  set_server(span, server_name::of_authority(c.context.authority()));
  span.set_peer(c.context.peer());
}

}  // namespace

std::unique_ptr<traced_served_call> begin_trace(served_call& c, method_calls& calls, tracer& by) {
  const std::string_view method = name_of_method(c.context.method());
  auto s = by.begin_served(c.context, method);
  if (!s) return nullptr;
  auto made = std::make_unique<traced_served_call>(calls, *std::move(s), reported_name(calls), by);
  describe(made->span, c, calls, by.rules());
  c.wants_progress = true;
  return made;
}

std::unique_ptr<traced_call> begin_trace(observed_call& c, method_calls& calls, const server_name& server,
                                         tracer& by) {
  const std::string_view method = name_of_method(c.method);
  auto s = begin_call(c, method, by);
  if (!s) return nullptr;
  auto made = std::make_unique<traced_call>(calls, *s);
  const rpc::propagated_context* const call = call_of(*c.caller);
  made->binary = call && call->metadata().find(protocol::grpc::binary_trace_header);
  if (!s->sampled) return made;
  made->span.emplace(*std::move(s), span_kind::client, "Sent.", method, by);
  made->span->set_method(method, {}, by.rules());
  set_server(*made->span, server);
  return made;
}

std::unique_ptr<call_span> begin_attempt(observed_attempt& a, traced_call& of, tracer& by) {
  const propagation& form = by.rules().by;
  a.replaces_trace = true;
  if (!of.span) {
    form.inject(of.context, of.binary, a.more);
    return nullptr;
  }
  auto made = std::make_unique<call_span>(by.child_of(of.context), span_kind::client, "Attempt.",
                                          name_of_method(a.call.method), by);
  made->set("previous-rpc-attempts", std::int64_t{a.previous_attempts});
  made->set("transparent-retry", a.kind == attempt_kind::transparent_retry);
  form.inject(made->context(), of.binary, a.more);
  return made;
}

void record_late(served_call& c, const method_calls& calls, const status& outcome, time_point now,
                 tracer& by) noexcept {
  const bool error = is_server_error(outcome.code(), by.rules().conventions);
  if (!by.keeps(error, now - c.began)) return;
  base::if_memory_allows([&] {
    call_span span(by.begin_late(c.context), span_kind::server, "Recv.", reported_name(calls), by);
    describe(span, c, calls, by.rules());
    span.end_late(outcome, error, now - c.began, by);
  });
}

}  // namespace coracle::telemetry_internal
