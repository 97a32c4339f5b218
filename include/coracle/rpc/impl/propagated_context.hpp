// propagated_context: what a handler's call passes on to the calls it makes, besides deadline and stop.
#pragma once

#include "coracle/base/log_record.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/rpc/baggage.hpp"
#include "coracle/rpc/criticality.hpp"
#include "coracle/rpc/metadata.hpp"
#include "coracle/rpc/trace_context.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace coracle::rpc {

class call_meter;  // private: src/rpc/call_meter.hpp

// What a tracer has decided about the call that a propagated_context belongs to.
enum class traced_as : std::uint8_t {
  untraced,  // there is no tracer: what the client sent is passed on
  dropped,  // the trace is not sampled, or this program does not take part in it
  sampled,  // the call has a span, which set_trace() has set
};

// The part of server_context that the client side of the library uses: environment::call points to it.
class propagated_context {
 public:
  propagated_context(const propagated_context&) = delete;
  propagated_context& operator=(const propagated_context&) = delete;

  // Returns the metadata that the client sent.
  [[nodiscard]] const coracle::metadata& metadata() const noexcept { return *received_; }
  // Returns the trace that the client's call belongs to, if it has one that parses. Calls that the handler
  // makes propagate it as it was received, unless a tracer (usually an interceptor) has replaced it with its
  // own span.
  [[nodiscard]] std::optional<trace_context> trace() const;
  void set_trace(const trace_context& t);
  // Returns the ids of trace() for log lines: the trace, the current span, and whether it is sampled.
  [[nodiscard]] std::optional<log_trace> log_ids() const;
  // Returns the baggage that the client sent. Calls that the handler makes propagate it, with the changes
  // that are made here. The first use allocates.
  [[nodiscard]] coracle::baggage& baggage();
  // Returns how much it matters that the call succeeds: the level that the client sent, as far as the server
  // trusts it (server_options::max_criticality). Calls that the handler makes propagate it, unless they have
  // call_options::criticality.
  [[nodiscard]] coracle::criticality criticality() const noexcept;
  // Returns what measures the call; null if it is not measured. The same from the first handler on, so that
  // any loop may call it; the meter belongs to the loop of the call.
  [[nodiscard]] call_meter* meter() const noexcept { return meter_; }

  // --- called by the tracer of the library, before the handler begins
  [[nodiscard]] traced_as decision() const noexcept { return decision_; }
  void set_decision(traced_as d) noexcept { decision_ = d; }
  // The call begins a trace that is not sampled. The calls that it makes belong to that trace, whose ids
  // are computed from `seed` when they are needed. The low 56 bits of the seed, which is not 0, are those
  // of the trace id.
  void begin_dropped_trace(std::uint64_t seed) noexcept {
    decision_ = traced_as::dropped;
    dropped_seed_ = seed;
  }

 protected:
  propagated_context() noexcept = default;
  ~propagated_context() = default;

  const coracle::metadata* received_ = nullptr;
  call_meter* meter_ = nullptr;
  coracle::criticality max_criticality_ = coracle::criticality::critical;

 private:
  friend void propagate(const coro::environment&, const coracle::metadata&,
                        std::optional<coracle::criticality>, coracle::metadata&);
  // What a handler or an interceptor has set in place of the received values.
  struct changes;
  struct delete_changes {
    void operator()(changes* c) const noexcept;
  };
  std::unique_ptr<changes, delete_changes> changes_;  // null: nothing has been set
  std::uint64_t dropped_seed_ = 0;  // 0: begin_dropped_trace() was not called
  traced_as decision_ = traced_as::untraced;
};

// The span in which a task runs: environment::span points to it.
struct active_span {
  trace_context context;
};

// Returns the ids of a trace that is not sampled and of its root; see
// propagated_context::begin_dropped_trace().
[[nodiscard]] trace_context dropped_trace(std::uint64_t seed) noexcept;

// Adds to `to` the trace, the baggage and the criticality of the span and the call that a task works for, as
// received or as changed by the handler; `level`, if it is set, replaces the criticality. Skips keys that
// `own`, the metadata of the new call, already has.
void propagate(const coro::environment& from, const coracle::metadata& own,
               std::optional<coracle::criticality> level, coracle::metadata& to);
// Returns the criticality of a request with this metadata, if the client may use levels up to `max`.
[[nodiscard]] criticality criticality_of(const coracle::metadata& received, criticality max) noexcept;
// Returns that of a call with its own metadata and what propagate() has added to it.
[[nodiscard]] criticality criticality_of(const coracle::metadata& own,
                                         const coracle::metadata& propagated) noexcept;
// Whether propagate() passes on the position in a trace by this key.
[[nodiscard]] bool is_trace_key(std::string_view key) noexcept;

}  // namespace coracle::rpc
