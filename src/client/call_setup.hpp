// call_setup: what a call learns from its channel when it begins.
#pragma once

#include "coracle/base/clock.hpp"

#include <cstdint>
#include <string_view>

namespace coracle {
class client_observer;
}

namespace coracle::client {

// The channel's; outlives the calls that began with it. Of its loop alone, so that counting is a plain increment.
struct call_counts {
  std::uint64_t started = 0;
  std::uint64_t succeeded = 0;  // ended with OK
  std::uint64_t failed = 0;
  time_point last_started{};
};

struct method_config;

struct call_setup {
  // What the service config says about the method; null when nothing, which is the common case. Borrowed until begin().
  const method_config* config = nullptr;
  // Null may mean that a resolver has yet to say: call_channel::wait_for_config() knows.
  bool config_may_come = false;
  // The observer of the call and its attempts, which outlives them; null: there is none.
  client_observer* observer = nullptr;
  // Where the call is counted; null: nowhere.
  call_counts* counts = nullptr;
  // The authority that credentials are sent to ("movies.example:443"); empty in plaintext, where none are sent.
  std::string_view secure_authority;
};

}  // namespace coracle::client
