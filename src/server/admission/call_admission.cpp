#include "server/admission/call_admission.hpp"

#include "server/call/server_call.hpp"

namespace coracle::server_internal {

admission_gate::entry call_admission::enter() noexcept {
  client = gate_.client_of(call_.peer(), call_.auth());
  // Another call may be rejected within, and what that runs must find this one in its line.
  state_ = state::waiting;
  const auto e = gate_.enter(*this);
  if (e == admission_gate::entry::runs) state_ = state::running;
  if (e == admission_gate::entry::rejected) state_ = state::outside;
  return e;
}

void call_admission::admitted() noexcept {
  state_ = state::running;
  call_.on_admitted();  // this object may be gone
}

void call_admission::rejected(bool too_late) noexcept {
  state_ = state::outside;
  call_.on_rejected(too_late);  // this object is gone
}

}  // namespace coracle::server_internal
