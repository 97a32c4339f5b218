#include "sim/swarm/call_ledger.hpp"

#include <chrono>

namespace coracle::swarm {

void call_ledger::begun(const call_plan& p, time_point now) { calls_[p.id].begun = now; }

void call_ledger::handler_began(std::uint64_t id) {
  ++running_;
  const auto found = calls_.find(id);
  if (found == calls_.end()) return complain(id, "a handler runs for a call that nobody made");
  if (++found->second.handlers > attempts_max_) complain(id, "its handler ran too often");
  if (found->second.handlers == 2) run_.tally("handled again");
}

void call_ledger::cut_off(const call_plan& p) {
  ++calls_[p.id].ends;
  run_.tally("cut off by a crash");
}

void call_ledger::ended(const call_plan& p, const status& how, time_point now, bool whole, bool asked) {
  entry& e = calls_[p.id];
  ++e.ends;
  run_.tally(name_of(how.code()));
  if (how.ok()) {
    if (!whole) complain(p.id, "it ended with OK before all had arrived");
    if (e.handlers == 0) complain(p.id, "it ended with OK without a handler");
  } else {
    check_end(p, how, e, now, asked);
  }
  if (p.deadline > duration::zero() && now > e.begun + p.deadline + std::chrono::milliseconds(1))
    complain(p.id, "it ended " + std::to_string((now - e.begun - p.deadline).count()) +
                       " ns after its deadline: " + how.to_string());
}

// A status needs its reason.
void call_ledger::check_end(const call_plan& p, const status& how, const entry& e, time_point now,
                            bool asked) {
  switch (how.code()) {
    case status_code::cancelled:
      if (asked) return;
      break;
    case status_code::deadline_exceeded:
      if (p.deadline > duration::zero() && now >= e.begun + p.deadline) return;
      break;
    case status_code::unavailable:
      if (mixture_.breaks || drains_) return;
      break;
    default: break;
  }
  complain(p.id, "nothing explains its end: " + how.to_string() + " (" + told(p, e, now) + ")");
}

// For people: what the call was to do.
std::string call_ledger::told(const call_plan& p, const entry& e, time_point now) {
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
  add("took_ns", (now - e.begun).count());
  return text;
}

void call_ledger::complain(std::uint64_t id, const std::string& what) {
  run_.complain("call " + std::to_string(id) + ": " + what);
}

void call_ledger::check_all_ended() {
  for (const auto& [id, e] : calls_)
    if (e.ends != 1) complain(id, "it ended " + std::to_string(e.ends) + " times");
  if (running_ != 0) run_.complain(std::to_string(running_) + " handlers never ended");
}

}  // namespace coracle::swarm
