#include "telemetry/traces/tracer.hpp"

#include "rpc/hex_id.hpp"
#include "runtime/backend.hpp"
#include "telemetry/traces/propagation.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace coracle::telemetry_internal {

namespace {

template <std::size_t N>
void write_big_endian(std::uint64_t v, std::array<std::uint8_t, N>& to, std::size_t at) noexcept {
  for (std::size_t i = 0; i < 8; ++i) to[at + i] = static_cast<std::uint8_t>(v >> (56 - 8 * i));
}

std::uint64_t low_half_of(const trace_context::trace_id& id) noexcept {
  std::uint64_t v = 0;
  for (std::size_t i = 8; i < id.size(); ++i) v = v << 8 | id[i];
  return v;
}

// Returns the random value that the tracestate gives explicitly (`ot=rv:` and 14 digits), or that of the id.
std::uint64_t random_of(const trace_context& of) noexcept {
  const std::string_view own = own_member(of.state());
  const std::size_t at = own.starts_with("rv:") ? 0 : own.find(";rv:");
  if (at != std::string_view::npos) {
    const std::string_view text = own.substr(at + (at == 0 ? 3 : 4), 14);
    std::array<std::uint8_t, 7> bytes{};
    if (text.size() == 14 && rpc::parse_hex(text, bytes.data())) {
      std::uint64_t v = 0;
      for (const std::uint8_t b : bytes) v = v << 8 | b;
      return v;
    }
  }
  return low_half_of(of.trace());
}

// Returns the tracestate with the threshold by which the trace was sampled.
std::string state_with(std::string_view state, std::int64_t threshold) {
  if (threshold < 0) return std::string(state);
  std::string value = "th:" + threshold_text(static_cast<std::uint64_t>(threshold));
  std::string_view own = own_member(state);
  while (!own.empty()) {  // the other fields are kept
    const std::size_t end = std::min(own.find(';'), own.size());
    if (!own.starts_with("th:")) value.append(";").append(own.substr(0, end));
    own.remove_prefix(std::min(end + 1, own.size()));
  }
  return with_own_member(state, value);
}

}  // namespace

tracer::tracer(std::shared_ptr<const trace_rules> rules, std::shared_ptr<span_buffer> finished,
               loop& owner_loop)
    : rules_(std::move(rules)),
      finished_(std::move(finished)),
      loop_(owner_loop),
      sampler_(rules_->sample),
      root_threshold_(static_cast<std::uint64_t>(std::max<std::int64_t>(sampler_.root_threshold(), 0))),
      final_threshold_(rules_->keeps_late ? 0 : root_threshold_),
      state_(owner_loop.io().random()),
      increment_(owner_loop.io().random() | 1) {}

trace_context::span_id tracer::new_span_id() noexcept {
  trace_context::span_id id;
  write_big_endian(std::max<std::uint64_t>(draw(), 1), id, 0);
  return id;
}

span_start tracer::begin_root(std::optional<trace_flags> decision, std::string_view name) {
  const std::uint64_t drawn = drawn_ != 0 ? std::exchange(drawn_, 0) : std::max<std::uint64_t>(draw(), 1);
  sampling_decision d{decision && decision->sampled, -1};
  if (!decision) d = sampler_.decide({false, false, name, drawn, loop_.now()});
  if (!d.sampled) return {false, rpc::dropped_trace(drawn), {}, false};
  trace_context::trace_id trace;
  write_big_endian(draw(), trace, 0);
  write_big_endian(drawn, trace, 8);
  const trace_flags flags{.sampled = true, .random = true, .debug = decision && decision->debug};
  return {true, trace_context(trace, new_span_id(), flags, root_state(d.threshold)), {}, false};
}

const std::string& tracer::root_state(std::int64_t threshold) {
  if (threshold != root_state_of_) {
    root_state_ = state_with({}, threshold);
    root_state_of_ = threshold;
  }
  return root_state_;
}

span_start tracer::begin(const std::optional<trace_context>& parent, bool remote,
                         std::optional<trace_flags> decision, std::string_view name) {
  if (!parent) return begin_root(decision, name);
  trace_flags flags = parent->flags();
  sampling_decision d{true, -1};
  if (!flags.debug) d = sampler_.decide({true, flags.sampled, name, random_of(*parent), loop_.now()});
  flags.sampled = d.sampled;
  if (!d.sampled)
    return {false, trace_context(parent->trace(), parent->span(), flags, parent->state()), {}, remote};
  return {true,
          trace_context(parent->trace(), new_span_id(), flags, state_with(parent->state(), d.threshold)),
          parent->span(), remote};
}

span_start tracer::child_of(const trace_context& parent) {
  if (!parent.sampled()) return {false, parent, {}, false};
  return {true, parent.below(new_span_id()), parent.span(), false};
}

std::optional<span_start> tracer::begin_served(server_context& c, std::string_view method) {
  const propagation& form = rules_->by;
  const received_trace got = form.may_extract(c.metadata()) ? form.extract(c.metadata()) : received_trace();
  if (got.parent || got.decision) drawn_ = 0;  // it was for a root
  span_start s = begin(got.parent, true, got.decision, method);
  if (s.sampled) {
    c.set_decision(rpc::traced_as::sampled);
    c.set_trace(s.context);
    return s;
  }
  c.set_decision(rpc::traced_as::dropped);
  // What was received is passed on by itself, if it says that the trace is dropped.
  if (!got.parent) c.begin_dropped_trace(low_half_of(s.context.trace()));
  else if (got.parent->sampled() || !rules_->by.passes_by_itself()) c.set_trace(s.context);
  return std::nullopt;
}

bool tracer::keeps(bool error, duration took) noexcept {
  if (took < rules_->keep_slower_than && !(rules_->keep_errors && error)) return false;
  const time_point now = loop_.now();
  if (now - kept_since_ >= std::chrono::seconds(1)) {
    kept_since_ = now;
    kept_ = 0;
  }
  return kept_++ < rules_->kept_per_second;
}

span_start tracer::begin_late(const server_context& c) {
  const received_trace got = rules_->by.extract(c.metadata());
  const std::optional<trace_context> of = got.parent ? got.parent : c.trace();
  if (!of) return {true, rpc::dropped_trace(std::max<std::uint64_t>(draw(), 1)), {}, false};
  // Calls that the handler made name the root of a dropped trace as their parent: that is this call.
  if (!got.parent) return {true, *of, {}, false};
  return {true, of->below(new_span_id()), of->span(), true};
}

}  // namespace coracle::telemetry_internal
