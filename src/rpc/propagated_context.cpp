#include "coracle/rpc/impl/propagated_context.hpp"

#include "protocol/grpc/header_names.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::rpc {

namespace {

using protocol::grpc::binary_trace_header;

constexpr std::string_view parent_key = "traceparent";
constexpr std::string_view state_key = "tracestate";
constexpr std::string_view baggage_key = "baggage";
// gRPC has no name for it. Proxies and libraries that know the levels of the SRE book use this one.
constexpr std::string_view criticality_key = "x-request-criticality";

// Joins all values of a header that a client may send in several fields.
std::string joined(const metadata& from, std::string_view key) {
  std::string all;
  for (const auto field : from) {
    if (field.name != key) continue;
    if (!all.empty()) all.push_back(',');
    all.append(field.value);
  }
  return all;
}

void add_trace(const trace_context& trace, bool binary, metadata& to) {
  to.add_received(parent_key, trace.traceparent());
  if (!trace.state().empty()) to.add_received(state_key, trace.state());
  if (binary) to.add_received(binary_trace_header, trace.binary());
}

// No tracer has set a span: passes on what was received, unchanged, if it is well-formed.
void pass_trace(const metadata& received, metadata& to) {
  const auto parent = received.find(parent_key);
  if (parent && trace_context::parse(*parent)) {
    to.add_received(parent_key, *parent);
    const std::string state = joined(received, state_key);
    if (!state.empty() && state.size() <= trace_context::state_bytes_max) to.add_received(state_key, state);
  }
  const auto binary = received.find(binary_trace_header);
  if (binary && trace_context::parse_binary(*binary)) to.add_received(binary_trace_header, *binary);
}

}  // namespace

struct propagated_context::changes {
  std::optional<trace_context> trace;
  std::optional<coracle::baggage> baggage;
};

void propagated_context::delete_changes::operator()(changes* c) const noexcept { delete c; }

std::optional<trace_context> propagated_context::trace() const {
  if (changes_ && changes_->trace) return changes_->trace;
  if (dropped_seed_ != 0) return dropped_trace(dropped_seed_);
  if (const auto parent = received_->find(parent_key))
    if (auto parsed = trace_context::parse(*parent, joined(*received_, state_key))) return parsed;
  if (const auto binary = received_->find(binary_trace_header)) return trace_context::parse_binary(*binary);
  return std::nullopt;
}

void propagated_context::set_trace(const trace_context& t) {
  if (!changes_) changes_.reset(new changes);
  changes_->trace = t;
}

std::optional<log_trace> propagated_context::log_ids() const {
  const auto position = trace();
  if (!position) return std::nullopt;
  return log_trace{position->trace(), position->span(),
                   static_cast<std::uint8_t>(position->sampled() ? 1 : 0)};
}

baggage& propagated_context::baggage() {
  if (!changes_) changes_.reset(new changes);
  if (!changes_->baggage) changes_->baggage = coracle::baggage::parse(joined(*received_, baggage_key));
  return *changes_->baggage;
}

namespace {

// splitmix64's finalizer: distinct inputs give distinct outputs that look random.
std::uint64_t mixed(std::uint64_t v) noexcept {
  v += 0x9e3779b97f4a7c15;
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9;
  v = (v ^ (v >> 27)) * 0x94d049bb133111eb;
  return v ^ (v >> 31);
}

void write_big_endian(std::uint64_t v, std::uint8_t* to) noexcept {
  for (int i = 7; i >= 0; --i, v >>= 8) to[i] = static_cast<std::uint8_t>(v);
}

}  // namespace

trace_context dropped_trace(std::uint64_t seed) noexcept {
  trace_context::trace_id trace;
  trace_context::span_id span;
  write_big_endian(mixed(seed), trace.data());
  write_big_endian(seed, trace.data() + 8);
  write_big_endian(mixed(~seed), span.data());
  return trace_context(trace, span, trace_flags{.random = true});
}

criticality criticality_of(const metadata& received, criticality max) noexcept {
  const auto name = received.find(criticality_key);
  const auto level = name ? parse_criticality(*name) : std::nullopt;
  return std::min(level.value_or(criticality::critical), max);
}

criticality criticality_of(const metadata& own, const metadata& propagated) noexcept {
  return criticality_of(own.find(criticality_key) ? own : propagated, criticality::critical_plus);
}

criticality propagated_context::criticality() const noexcept {
  return criticality_of(*received_, max_criticality_);
}

void propagate(const coro::environment& from, const metadata& own, std::optional<criticality> level,
               metadata& to) {
  const auto* const call = static_cast<const propagated_context*>(from.call);
  const auto* const span = static_cast<const active_span*>(from.span);
  const propagated_context::changes* const changed = call ? call->changes_.get() : nullptr;
  if (!own.find(parent_key)) {
    const bool binary = call && call->metadata().find(binary_trace_header);
    if (span) add_trace(span->context, binary, to);
    else if (changed && changed->trace) add_trace(*changed->trace, binary, to);
    else if (call && call->dropped_seed_ != 0) add_trace(dropped_trace(call->dropped_seed_), binary, to);
    else if (call) pass_trace(call->metadata(), to);
  }
  if (!level && call) level = call->criticality();
  // A call without it is critical.
  if (level && *level != criticality::critical && !own.find(criticality_key))
    to.add_received(criticality_key, to_string(*level));
  if (!call || own.find(baggage_key)) return;
  const std::string bag =
      changed && changed->baggage ? changed->baggage->header() : joined(call->metadata(), baggage_key);
  if (!bag.empty() && bag.size() <= baggage::bytes_max) to.add_received(baggage_key, bag);
}

bool is_trace_key(std::string_view key) noexcept {
  return key == parent_key || key == state_key || key == binary_trace_header;
}

}  // namespace coracle::rpc

namespace coracle {

std::optional<trace_context> trace_of(const coro::environment& e) {
  if (const auto* const span = static_cast<const rpc::active_span*>(e.span)) return span->context;
  const auto* const call = static_cast<const rpc::propagated_context*>(e.call);
  return call ? call->trace() : std::nullopt;
}

}  // namespace coracle
