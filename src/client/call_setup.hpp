// call_setup: what a channel provides to a call when the call begins.
#pragma once

#include "coracle/base/clock.hpp"

#include <cstdint>
#include <string_view>

namespace coracle {
class client_observer;
}

namespace coracle::client {

// Belongs to the channel, and outlives the calls that began with it. Used only on its loop, so that counting
// is a plain increment.
struct call_counts {
  std::uint64_t started = 0;
  std::uint64_t succeeded = 0;  // ended with OK
  std::uint64_t failed = 0;
  time_point last_started{};
};

struct method_config;

struct call_setup {
  // The service config of the method; null if there is none, which is the common case. Borrowed until
  // begin().
  const method_config* config = nullptr;
  // True if a null config may mean that the resolver has no result yet: call_channel::wait_for_config()
  // decides.
  bool config_may_come = false;
  // The observer of the call and its attempts, which outlives them; null if there is none.
  client_observer* observer = nullptr;
  // Where the call is counted; null if it is not.
  call_counts* counts = nullptr;
  // The authority that credentials are sent to ("movies.example:443"); empty in plaintext, where none are
  // sent.
  std::string_view secure_authority;
};

}  // namespace coracle::client
