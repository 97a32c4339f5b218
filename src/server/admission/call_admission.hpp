// call_admission: what a call has that counts for the limit of its loop.
#pragma once

#include "coracle/base/status.hpp"
#include "server/admission/admission_gate.hpp"

#include <cstdint>

namespace coracle::server_internal {

class server_call;

// Part of the call_extras of a unary call.
class call_admission final : public limited_call {
 public:
  call_admission(admission_gate& of, server_call& call) noexcept : gate_(of), call_(call) {}

  // The request is complete. Unless the call runs now, or is rejected, it hears of it later.
  [[nodiscard]] admission_gate::entry enter() noexcept;
  // The handler begins: latency counts from here on, because what came before depends on the client.
  void handler_begins(time_point now) noexcept { since = now; }
  // It may run, and cannot yet: enter() comes again.
  void release() noexcept {
    state_ = state::outside;
    gate_.released();
  }
  // A refusal that the handler has found by its work takes as long as a success. INVALID_ARGUMENT and what
  // concerns permissions are mostly found before, and other codes are failures.
  void handler_ended(status_code code) noexcept {
    did_its_work_ = code == status_code::ok || code == status_code::not_found ||
                    code == status_code::already_exists || code == status_code::failed_precondition ||
                    code == status_code::out_of_range || code == status_code::aborted;
  }
  [[nodiscard]] bool did_its_work() const noexcept { return did_its_work_; }
  void end(bool ok) noexcept {
    if (state_ == state::running) gate_.ended(*this, ok);
    else if (state_ == state::waiting) gate_.gave_up(*this);
    state_ = state::outside;
  }
  [[nodiscard]] bool is_running() const noexcept { return state_ == state::running; }
  [[nodiscard]] bool is_waiting() const noexcept { return state_ == state::waiting; }
  [[nodiscard]] admission_gate& gate() const noexcept { return gate_; }

 private:
  enum class state : std::uint8_t { outside, waiting, running };

  void admitted() noexcept override;
  void rejected(bool too_late) noexcept override;

  admission_gate& gate_;
  server_call& call_;
  state state_ = state::outside;
  bool did_its_work_ = false;
};

}  // namespace coracle::server_internal
