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

// What a caller means to do.
struct call_plan {
  std::uint64_t id = 0;
  call_kind kind{};
  std::uint64_t messages = 1;
  std::size_t bytes = 0;       // of each message
  std::uint64_t pause_ms = 0;  // of the handler, before it answers
  duration deadline{};         // zero: none
  duration cancel_after{};     // zero: never
  std::uint64_t drop_after = 0;  // messages; then the call object is destroyed. Zero: never
};

class call_ledger {
 public:
  call_ledger(run& r, const mixture& m) noexcept : run_(r), mixture_(m) {}

  void begun(const call_plan& p, time_point now);
  // The server's handler, twice.
  void handler_began(std::uint64_t id);
  void handler_ended() noexcept { --running_; }
  // `whole`: everything that an OK promises has arrived. `asked`: the caller has asked for the end itself.
  void ended(const call_plan& p, const status& how, time_point now, bool whole, bool asked);
  // Its host has crashed: nobody can say how it ended, but it has.
  void cut_off(const call_plan& p);
  // From now on servers drain and stop as well.
  void expect_drains() noexcept { drains_ = true; }
  // Calls may be made so often, by policies of retries or hedging and by transparent retries.
  void expect_attempts(int most) noexcept { attempts_max_ = most; }

  void complain(std::uint64_t id, const std::string& what);
  // After the world's end.
  void check_all_ended();

 private:
  struct entry {
    time_point begun{};
    int handlers = 0;
    int ends = 0;
  };
  void check_end(const call_plan& p, const status& how, const entry& e, time_point now, bool asked);
  static std::string told(const call_plan& p, const entry& e, time_point now);
  run& run_;
  const mixture& mixture_;
  std::map<std::uint64_t, entry> calls_;
  int running_ = 0;
  bool drains_ = false;
  int attempts_max_ = 1;
};

}  // namespace coracle::swarm
