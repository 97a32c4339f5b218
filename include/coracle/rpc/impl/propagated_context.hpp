// propagated_context: what a handler's call passes on to the calls it makes, besides deadline and stop.
#pragma once

#include "coracle/base/log_record.hpp"
#include "coracle/rpc/baggage.hpp"
#include "coracle/rpc/metadata.hpp"
#include "coracle/rpc/trace_context.hpp"

#include <memory>
#include <optional>

namespace coracle::rpc {

class call_meter;  // private: src/rpc/call_meter.hpp

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
  // Returns what measures the call; null if it is not measured. The same from the first handler on, so that
  // any loop may call it; the meter belongs to the loop of the call.
  [[nodiscard]] call_meter* meter() const noexcept { return meter_; }

 protected:
  propagated_context() noexcept = default;
  ~propagated_context() = default;

  const coracle::metadata* received_ = nullptr;
  call_meter* meter_ = nullptr;

 private:
  friend void propagate(const propagated_context&, const coracle::metadata&, coracle::metadata&);
  // What a handler or an interceptor has set in place of the received values.
  struct changes;
  struct delete_changes {
    void operator()(changes* c) const noexcept;
  };
  std::unique_ptr<changes, delete_changes> changes_;  // null: nothing has been set
};

// Adds to `to` the trace and the baggage of the call that `from` serves, as received or as changed by the
// handler. Skips keys that `own`, the metadata of the new call, already has.
void propagate(const propagated_context& from, const coracle::metadata& own, coracle::metadata& to);

}  // namespace coracle::rpc
