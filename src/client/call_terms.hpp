// call_terms: what is settled about a client's call before its first attempt.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/client/call_options.hpp"

#include <string_view>

namespace coracle {
class loop;
}

namespace coracle::client {

// Belongs to the call and stays as it is from begin() on. Every attempt points to it.
struct call_terms {
  const char* path = nullptr;     // "/package.Service/Method", static text
  call_options options;           // the caller's, with what the method's configuration adds
  time_point deadline = never;    // over all attempts, queueing and pauses included
  metadata propagated;            // from the call of the handler that makes this one
  loop* home = nullptr;           // where everything about the call happens

  [[nodiscard]] bool wait_for_ready() const noexcept { return options.wait_for_ready().value_or(false); }
};

}  // namespace coracle::client
