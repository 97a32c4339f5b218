#include "server/admission/call_admission.hpp"

#include "server/call/server_call.hpp"

namespace coracle::server_internal {

void call_admission::admitted() noexcept {
  state_ = state::running;
  call_.on_admitted();  // this object may be gone
}

void call_admission::rejected(bool too_late) noexcept {
  state_ = state::outside;
  call_.on_rejected(too_late);  // this object is gone
}

}  // namespace coracle::server_internal
