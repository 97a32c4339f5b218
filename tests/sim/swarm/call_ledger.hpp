// call_ledger: every call of a scenario, from both sides, and the rules for their ends.
#pragma once

#include "sim/swarm/mixture.hpp"
#include "sim/swarm/run.hpp"

#include "coracle/base/status.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace coracle::swarm {

enum class call_kind : std::uint8_t { unary, client_streaming, server_streaming, bidi };

// What a caller intends to do.
struct call_plan {
  std::uint64_t id = 0;
  call_kind kind{};
  std::uint64_t messages = 1;
  std::size_t bytes = 0;       // of each message
  std::uint64_t pause_ms = 0;  // of the handler, before it answers
  duration deadline{};         // zero: none
  duration cancel_after{};     // zero: never
  std::uint64_t drop_after = 0;  // messages; then the call object is destroyed. Zero: never
  int fails = 0;  // how often its handler replies UNAVAILABLE immediately
};

// How often a call may be made, and why.
struct attempt_rules {
  int most = 1;
  bool hedged = false;
  int tokens = 0;  // of a channel's throttle, of which a successful call returns half a token; 0: none
};

class call_ledger {
 public:
  call_ledger(run& r, const mixture& m) noexcept : run_(r), mixture_(m) {}

  void begun(const call_plan& p, time_point now);
  // The server's handler, twice. True: it must reply UNAVAILABLE.
  bool handler_began(std::uint64_t id);
  void handler_ended(std::uint64_t id, bool stopped) noexcept;
  // `whole`: everything that an OK promises has arrived. `asked`: the caller itself has requested the end.
  void ended(const call_plan& p, const status& outcome, time_point now, bool whole, bool asked);
  // Its host has crashed: the call has ended, with an unknown status.
  void cut_off(const call_plan& p);
  // From now on servers drain and stop as well.
  void expect_drains() noexcept { drains_ = true; }
  void expect_attempts(const attempt_rules& rules) noexcept { rules_ = rules; }
  // One more channel, each with a throttle of its own.
  void channel_made() noexcept { ++channels_; }

  void report_error(std::uint64_t id, const std::string& text);
  // After the end of the world.
  void check_all_ended();

 private:
  struct entry {
    time_point begun{};
    int handlers = 0;
    int ends = 0;
    int fails = 0;
    bool well = false;  // it has ended with OK
  };
  // Only the policy and the handlers' statuses decide how often a call is made.
  [[nodiscard]] bool calm() const noexcept { return !mixture_.breaks && !drains_; }
  void check_end(const call_plan& p, const status& outcome, const entry& e, time_point now, bool asked);
  void check_refused(const call_plan& p, const entry& e);
  void check_throttle();
  static std::string progress_text(const call_plan& p, const entry& e, time_point now);
  run& run_;
  const mixture& mixture_;
  std::map<std::uint64_t, entry> calls_;
  int running_ = 0;
  bool drains_ = false;
  attempt_rules rules_;
  int channels_ = 0;
};

}  // namespace coracle::swarm
