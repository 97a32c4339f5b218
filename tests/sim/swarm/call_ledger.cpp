#include "sim/swarm/call_ledger.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>

namespace coracle::swarm {

namespace {

// What the client says of a call that no server has accepted.
bool never_begun(const status& s) {
  return s.message().find("did not accept the call") != std::string_view::npos ||
         s.message().find("cannot connect") != std::string_view::npos;
}

}  // namespace

void call_ledger::begun(const call_plan& p, time_point now) {
  entry& e = calls_[p.id];
  e.begun = now;
  e.fails = p.fails;
}

// A transparent retry repeats a call that no handler has received: it does not count.
bool call_ledger::handler_began(std::uint64_t id) {
  ++running_;
  const auto found = calls_.find(id);
  if (found == calls_.end()) {
    report_error(id, "a handler runs for a call that nobody made");
    return false;
  }
  entry& e = found->second;
  ++e.handlers;
  if (e.handlers == 2) run_.tally("handled again");
  if (e.handlers > rules_.most) report_error(id, "its handler ran too often");
  else if (calm() && !rules_.hedged && e.handlers > e.fails + 1)
    report_error(id, "it was made again without a reason");
  return e.handlers <= e.fails;
}

void call_ledger::handler_ended(std::uint64_t id, bool stopped) noexcept {
  --running_;
  if (stopped && calm() && calls_[id].well) run_.tally("beaten and stopped");
}

void call_ledger::cut_off(const call_plan& p) {
  ++calls_[p.id].ends;
  run_.tally("cut off by a crash");
}

void call_ledger::ended(const call_plan& p, const status& outcome, time_point now, bool whole, bool asked) {
  entry& e = calls_[p.id];
  ++e.ends;
  run_.tally(name_of(outcome.code()));
  if (outcome.ok()) {
    e.well = true;
    if (!whole) report_error(p.id, "it ended with OK before all had arrived");
    if (e.handlers == 0) report_error(p.id, "it ended with OK without a handler");
  } else {
    check_end(p, outcome, e, now, asked);
  }
  if (p.deadline > duration::zero() && now > e.begun + p.deadline + std::chrono::milliseconds(1))
    report_error(p.id, "it ended " + std::to_string((now - e.begun - p.deadline).count()) +
                           " ns after its deadline: " + outcome.to_string());
}

// An error status must have a reason.
void call_ledger::check_end(const call_plan& p, const status& outcome, const entry& e, time_point now,
                            bool asked) {
  switch (outcome.code()) {
    case status_code::cancelled:
      if (asked) return;
      break;
    case status_code::deadline_exceeded:
      if (p.deadline > duration::zero() && now >= e.begun + p.deadline) return;
      break;
    case status_code::unavailable:
      // GOAWAY names the calls that were begun: only the others may be repeated without a policy.
      if (e.handlers > 0 && rules_.most == 1 && !mixture_.breaks && never_begun(outcome))
        report_error(p.id, "it had begun, and the client does not know: " + outcome.to_string());
      if (!calm()) return;
      if (e.handlers > 0 && e.fails >= (rules_.hedged ? 1 : e.handlers)) return check_refused(p, e);
      break;
    default: break;
  }
  report_error(p.id,
               "nothing explains its end: " + outcome.to_string() + " (" + progress_text(p, e, now) + ")");
}

// By its handler, as often as it was called: then no attempt or no token was left.
void call_ledger::check_refused(const call_plan& p, const entry& e) {
  constexpr std::uint64_t kept_bytes = 100'000;  // a longer one may be too long to be made again
  if (e.handlers == rules_.most) return run_.tally("attempts used up");
  if (rules_.tokens > 0) return run_.tally("throttled");
  if (!rules_.hedged && p.messages * p.bytes < kept_bytes) report_error(p.id, "it was given up early");
}

// Each retry takes a token of the upper half, and each call returns at most half a token.
void call_ledger::check_throttle() {
  if (rules_.tokens == 0 || rules_.hedged || mixture_.crashes) return;
  int again = 0;
  for (const auto& [id, e] : calls_) again += std::max(0, e.handlers - 1);
  if (2 * again > channels_ * rules_.tokens + static_cast<int>(calls_.size()))
    run_.report_error(std::to_string(again) + " retries are more than the throttle allows");
}

// For readers of the report: what the call was to do.
std::string call_ledger::progress_text(const call_plan& p, const entry& e, time_point now) {
  constexpr const char* kinds[] = {"unary", "client streaming", "server streaming", "bidi"};
  std::string text = kinds[static_cast<int>(p.kind)];
  const auto add = [&text](const char* name, std::int64_t value) {
    text.append(", ").append(name).append(" ").append(std::to_string(value));
  };
  add("messages", static_cast<std::int64_t>(p.messages));
  add("bytes", static_cast<std::int64_t>(p.bytes));
  add("pause_ms", static_cast<std::int64_t>(p.pause_ms));
  add("deadline_ns", p.deadline.count());
  add("cancel_after_ns", p.cancel_after.count());
  add("drop_after", static_cast<std::int64_t>(p.drop_after));
  add("fails", p.fails);
  add("handlers", e.handlers);
  add("took_ns", (now - e.begun).count());
  return text;
}

void call_ledger::report_error(std::uint64_t id, const std::string& text) {
  run_.report_error("call " + std::to_string(id) + ": " + text);
}

void call_ledger::check_all_ended() {
  for (const auto& [id, e] : calls_)
    if (e.ends != 1) report_error(id, "it ended " + std::to_string(e.ends) + " times");
  check_throttle();
  if (running_ != 0) run_.report_error(std::to_string(running_) + " handlers never ended");
}

}  // namespace coracle::swarm
