#include "rpc/carried.hpp"

#include <string>
#include <string_view>

namespace coracle {

namespace calls {

namespace {

constexpr std::string_view parent_key = "traceparent";
constexpr std::string_view state_key = "tracestate";
constexpr std::string_view binary_key = "grpc-trace-bin";
constexpr std::string_view baggage_key = "baggage";

void add_trace(const trace_context& trace, bool binary, metadata& to) {
  to.add_received(parent_key, trace.traceparent());
  if (!trace.state().empty()) to.add_received(state_key, trace.state());
  if (binary) to.add_received(binary_key, trace.binary());
}

// Nobody here traces: on as it came, if it means anything.
void pass_trace(const metadata& received, metadata& to) {
  const auto parent = received.find(parent_key);
  if (parent && trace_context::parse(*parent)) {
    to.add_received(parent_key, *parent);
    const std::string state = joined(received, state_key);
    if (!state.empty() && state.size() <= trace_context::state_bytes_max) to.add_received(state_key, state);
  }
  const auto binary = received.find(binary_key);
  if (binary && trace_context::parse_binary(*binary)) to.add_received(binary_key, *binary);
}

}  // namespace

std::string joined(const metadata& from, std::string_view key) {
  std::string all;
  for (const auto field : from) {
    if (field.name != key) continue;
    if (!all.empty()) all.push_back(',');
    all.append(field.value);
  }
  return all;
}

void carry_on(const server_context& from, const metadata& own, metadata& to) {
  const metadata& received = from.metadata();
  const carried* said = from.carried_.get();
  if (!own.find(parent_key)) {
    if (said && said->trace) add_trace(*said->trace, received.find(binary_key).has_value(), to);
    else pass_trace(received, to);
  }
  if (own.find(baggage_key)) return;
  const std::string bag = said && said->baggage ? said->baggage->header() : joined(received, baggage_key);
  if (!bag.empty() && bag.size() <= baggage::bytes_max) to.add_received(baggage_key, bag);
}

}  // namespace calls

server_context::server_context() noexcept = default;
server_context::~server_context() = default;

std::optional<trace_context> server_context::trace() const {
  if (carried_ && carried_->trace) return carried_->trace;
  if (const auto parent = received_->find("traceparent"))
    if (auto parsed = trace_context::parse(*parent, calls::joined(*received_, "tracestate"))) return parsed;
  if (const auto binary = received_->find("grpc-trace-bin")) return trace_context::parse_binary(*binary);
  return std::nullopt;
}

void server_context::set_trace(const trace_context& t) {
  if (!carried_) carried_ = std::make_unique<calls::carried>();
  carried_->trace = t;
}

baggage& server_context::baggage() {
  if (!carried_) carried_ = std::make_unique<calls::carried>();
  if (!carried_->baggage) carried_->baggage = coracle::baggage::parse(calls::joined(*received_, "baggage"));
  return *carried_->baggage;
}

}  // namespace coracle
