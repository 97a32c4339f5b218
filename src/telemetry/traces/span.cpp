#include "coracle/telemetry/span.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/coro/impl/promise.hpp"
#include "coracle/rpc/impl/propagated_context.hpp"
#include "telemetry/traces/span_parts.hpp"
#include "telemetry/traces/tracer.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>

namespace coracle {

namespace telemetry_internal {

// Of a span that is recorded, and of one that begins a trace which is dropped. The coroutine inherits from
// `inside` until the span ends. An inner span keeps the state of its outer one, so that spans may be
// destroyed in any order.
struct span_state : rpc::active_span, coro::pooled {
  span_state(const span_start& s, const span_limits& l)
      : active_span{s.context}, within(l), recorded(s.sampled) {}

  coro::environment inside;
  coro::promise_base* in = nullptr;
  const coro::environment* before = nullptr;  // what the coroutine had inherited
  span_state* outer = nullptr;  // whose `inside` that is, if it is a span's
  span_limits within;
  std::uint32_t holders = 1;  // the span, and those inside it
  bool recorded;
  bool ended = false;
  finished_span data;
};

namespace {

void release(span_state* s) noexcept {
  while (s && --s->holders == 0) delete std::exchange(s, s->outer);
}

// Returns the state whose environment this is; null if it is not that of a span.
span_state* owner_of(const coro::environment& e) noexcept {
  // Spans of the library's own have no state: environment::span always points into one of these.
  auto* const s = static_cast<span_state*>(static_cast<rpc::active_span*>(const_cast<void*>(e.span)));
  return s && &s->inside == &e ? s : nullptr;
}

void end_span(span_state& s) noexcept {
  if (std::exchange(s.ended, true)) return;
  // An inner span that has not ended keeps its environment, and restores this one's when it ends.
  if (&s.in->inherited() == &s.inside) {
    const span_state* outermost = &s;
    while (outermost->outer && outermost->outer->ended) outermost = outermost->outer;
    s.in->inherit(*outermost->before);
  }
  tracer* const by = coro::this_executor().local<loop_tracer>().current;
  if (!s.recorded || !by) return;
  s.data.end = std::max(by->now(), s.data.events.empty() ? s.data.start : s.data.events.back().time);
  by->finish(std::move(s.data));
}

std::optional<span_start> start_in(const coro::environment& e, std::string_view name, tracer& by) {
  if (const auto* const outer = static_cast<const rpc::active_span*>(e.span))
    return outer->context.sampled() ? std::optional(by.child_of(outer->context)) : std::nullopt;
  const auto* const call = static_cast<const rpc::propagated_context*>(e.call);
  if (!call) return by.begin(std::nullopt, false, std::nullopt, name);
  if (call->decision() == rpc::traced_as::dropped) return std::nullopt;
  const auto parent = call->trace();
  if (parent && call->decision() == rpc::traced_as::sampled) return by.child_of(*parent);
  return by.begin(parent, true, std::nullopt, name);
}

}  // namespace

}  // namespace telemetry_internal

using telemetry_internal::span_state;

span_state* start_span::begin(coro::promise_base* in) const noexcept {
  const coro::environment& e = in->inherited();
  if (const auto* const call = static_cast<const rpc::propagated_context*>(e.call);
      call && !e.span && call->decision() == rpc::traced_as::dropped)
    return nullptr;
  coro::executor* const here = coro::executor::current();
  telemetry_internal::tracer* const by =
      here ? here->local<telemetry_internal::loop_tracer>().current : nullptr;
  if (!by) return nullptr;
  std::unique_ptr<span_state> made;
  base::if_memory_allows([&] {
    const auto start = telemetry_internal::start_in(e, name_, *by);
    if (!start) return;
    made = std::make_unique<span_state>(*start, by->rules().limits);
    if (!start->sampled) return;
    finished_span& s = made->data;
    s.name = telemetry_internal::bounded_text(name_, span_limits::name_bytes_max);
    s.kind = kind_;
    s.trace = start->context.trace();
    s.span = start->context.span();
    s.parent = start->parent;
    s.parent_is_remote = start->remote;
    s.flags = start->context.flags().bits();
    s.state = start->context.state();
    s.start = by->now();
  });
  if (!made) return nullptr;
  made->in = in;
  made->before = &e;
  made->inside = e;
  made->inside.span = static_cast<rpc::active_span*>(made.get());
  made->outer = telemetry_internal::owner_of(e);
  if (made->outer) ++made->outer->holders;
  in->inherit(made->inside);
  return made.release();
}

span& span::operator=(span&& other) noexcept {
  if (this != &other) {
    end();
    telemetry_internal::release(std::exchange(state_, std::exchange(other.state_, nullptr)));
  }
  return *this;
}

span::~span() {
  if (!state_) return;
  end();
  telemetry_internal::release(state_);
}

bool span::recording() const noexcept { return state_ && state_->recorded && !state_->ended; }

std::optional<trace_context> span::context() const {
  return state_ ? std::optional(state_->context) : std::nullopt;
}

void span::set_value(std::string_view key, attribute_value value) {
  if (recording()) telemetry_internal::set_attribute(state_->data, key, std::move(value), state_->within);
}

void span::set(std::string_view key, std::string_view value) {
  if (recording()) set_value(key, std::string(value));
}
void span::set(std::string_view key, bool value) { set_value(key, value); }
void span::set(std::string_view key, double value) { set_value(key, value); }
void span::set(std::string_view key, std::vector<std::string> value) { set_value(key, std::move(value)); }

void span::add_event(std::string_view name, attribute_list attributes) {
  if (!recording()) return;
  const auto now = loop::current()->wall_now();
  span_event* const e = telemetry_internal::add_event(state_->data, name, now, state_->within);
  if (!e) return;
  for (auto& [key, value] : attributes)
    telemetry_internal::set_attribute(e->attributes, e->dropped_attributes, key, std::move(value),
                                      state_->within);
}

void span::add_link(const trace_context& other, attribute_list attributes) {
  if (!recording()) return;
  span_link* const l = telemetry_internal::add_link(state_->data, other, false, state_->within);
  if (!l) return;
  for (auto& [key, value] : attributes)
    telemetry_internal::set_attribute(l->attributes, l->dropped_attributes, key, std::move(value),
                                      state_->within);
}

void span::fail(std::string_view description) {
  if (recording()) telemetry_internal::set_error(state_->data, description);
}

const status& span::note(const status& outcome) {
  if (!outcome.ok()) fail(std::string(name_of(outcome.code())).append(", ").append(outcome.message()));
  return outcome;
}

void span::succeed() {
  if (!recording()) return;
  state_->data.outcome = span_outcome::success;
  state_->data.description.clear();
}

void span::end() noexcept {
  if (state_) telemetry_internal::end_span(*state_);
}

}  // namespace coracle
