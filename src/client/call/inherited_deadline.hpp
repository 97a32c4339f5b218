// inherited_deadline: the deadline that a call has from its caller.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/client/call_options.hpp"

#include <algorithm>

namespace coracle::client {

// `never` if there is none. A deadline that has passed stays as it is, and none becomes earlier than now.
[[nodiscard]] inline time_point inherited_deadline(time_point of_caller, const call_options& options,
                                                   time_point now) noexcept {
  if (!options.deadline_margin || of_caller == never || of_caller <= now) [[likely]]
    return of_caller;
  return of_caller - std::clamp(*options.deadline_margin, duration::zero(), of_caller - now);
}

}  // namespace coracle::client
