// propagated_context: what a handler's call passes on to the calls that the handler makes, beside deadline and stop.
#pragma once

#include "coracle/rpc/baggage.hpp"
#include "coracle/rpc/metadata.hpp"
#include "coracle/rpc/trace_context.hpp"

#include <memory>
#include <optional>

namespace coracle::rpc {

// The part of server_context that the client's half of the library knows: environment::call points to it.
class propagated_context {
 public:
  propagated_context(const propagated_context&) = delete;
  propagated_context& operator=(const propagated_context&) = delete;

  // What the client sent.
  [[nodiscard]] const coracle::metadata& metadata() const noexcept { return *received_; }
  // The trace that the client's call belongs to, if there is one that is understood. Calls that the handler makes propagate
  // what arrived, as it arrived; a tracer (an interceptor, as a rule) has them propagate a span of its own instead.
  [[nodiscard]] std::optional<trace_context> trace() const;
  void set_trace(const trace_context& t);
  // What the client wants to be propagated; calls that the handler makes propagate it, with what is changed here. The
  // first use of it costs an allocation.
  [[nodiscard]] coracle::baggage& baggage();

 protected:
  propagated_context() noexcept;
  ~propagated_context();

  const coracle::metadata* received_ = nullptr;

 private:
  friend void propagate(const propagated_context&, const coracle::metadata&, coracle::metadata&);
  // What a handler or an interceptor has set in place of what arrived.
  struct changes;
  std::unique_ptr<changes> changes_;  // null: nothing
};

// Adds to `to` the trace and the baggage of the call that `from` serves: as they arrived, or as they were changed. Leaves out
// what `own`, the metadata of the new call, has itself.
void propagate(const propagated_context& from, const coracle::metadata& own, coracle::metadata& to);

}  // namespace coracle::rpc
