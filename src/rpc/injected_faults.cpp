#include "rpc/injected_faults.hpp"

#include "coracle/base/usage_error.hpp"
#include "coracle/runtime/loop.hpp"
#include "runtime/backend.hpp"

#include <cmath>
#include <utility>

namespace coracle::rpc {

namespace {

fault_share share_of_calls(double part) {
  CORACLE_REQUIRE(part >= 0 && part <= 1, "fault_options::delayed and ::aborted must be from 0 to 1");
  return {static_cast<std::uint64_t>(std::llround(part * static_cast<double>(fault_share::whole)))};
}

template <class T>
std::optional<fault_rule<T>> rule_of(T fault, bool is_set, double part, bool by_metadata) {
  fault_rule<T> rule{.fixed = std::nullopt, .of = share_of_calls(part), .by_metadata = by_metadata};
  if (is_set) rule.fixed = std::move(fault);
  if (!is_set && !by_metadata) return std::nullopt;
  return rule;
}

}  // namespace

injected_faults::injected_faults(const fault_options& options)
    : methods_(options.methods), active_max_(options.active_max) {
  CORACLE_REQUIRE(options.delay >= duration::zero(), "fault_options::delay must not be negative");
  rules_.delay =
      rule_of(options.delay, options.delay > duration::zero(), options.delayed, options.by_metadata);
  rules_.abort = rule_of(options.abort, !options.abort.ok(), options.aborted, options.by_metadata);
}

injected_faults::fault::fault(injected_faults& of, std::string_view method, const metadata& sent) : of_(of) {
  if ((!of.methods_.empty() && !of.methods_.contains(method)) ||
      of.active_.load(std::memory_order_relaxed) >= of.active_max_)
    return;
  const auto draw = [](std::uint64_t below) { return loop::current()->io().random() % below; };
  const random_below random(draw);
  delay_ = of.rules_.draw_delay(sent, random);
  if (delay_ > duration::zero()) {
    counts_ = true;
    if (of.active_.fetch_add(1, std::memory_order_relaxed) >= of.active_max_) {
      end_delay();
      delay_ = duration::zero();
    }
  }
  abort_ = of.rules_.draw_abort(sent, random);
  if (abort_ && abort_->ok()) abort_.reset();  // an interceptor cannot end a call with OK and no reply
}

void injected_faults::fault::end_delay() noexcept {
  if (std::exchange(counts_, false)) of_.active_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace coracle::rpc
