// call_setup: what a channel provides to a call when the call begins.
#pragma once

#include "base/hot_and_cold.hpp"
#include "client/call/call_attempt.hpp"
#include "client/call/call_throttle.hpp"
#include "coracle/base/clock.hpp"
#include "coracle/base/impl/intrusive_list.hpp"
#include "coracle/coro/executor.hpp"

#include <cstdint>
#include <memory>
#include <string_view>

namespace coracle {
class client_observer;
class retry_budget;
}  // namespace coracle

namespace coracle::client {

// The calls of a channel on one loop. Used only on that loop, so that counting is a plain increment.
//
// A call that is counted here keeps the channel, without a reference count of its own: the shard of the loop
// stays until in_progress() is zero, and the shard keeps the channel.
struct call_counts {
  std::uint64_t started = 0;
  std::uint64_t succeeded = 0;  // ended with OK
  std::uint64_t failed = 0;
  time_point last_started{};
  // Posted, and set to null, when no call is in progress any more; null while the channel is open.
  coro::runnable* when_none = nullptr;
  // The calls that neither wait in the shard nor have an exchange: they wait for credentials, or have a retry
  // or hedging policy and are not committed to an attempt.
  base::intrusive_list<call_attempt> between;
  std::unique_ptr<call_throttle> throttle;  // null: channel_options::throttling is false
  retry_budget* budget = nullptr;  // channel_options::retry_budget, of the channel; may be null

  [[nodiscard]] std::uint64_t in_progress() const noexcept { return started - succeeded - failed; }
  CORACLE_COLD void post_if_none(loop& here) noexcept;
};

class call_router;
struct method_config;

struct call_setup {
  // The service config of the method; null if there is none, which is the common case. Borrowed until
  // begin().
  const method_config* config = nullptr;
  // Decides where the call goes, and its config; null if the channel has no routes. Borrowed until begin().
  const call_router* router = nullptr;
  // True if a null config may mean that the resolver has no result yet: call_channel::wait_for_config()
  // decides.
  bool may_get_config = false;
  // True if the channel does not take the call: call_channel::refusal() tells why. `counts` is null then.
  bool refused = false;
  // The observer of the call and its attempts; null if there is none. Belongs to the channel.
  const std::shared_ptr<client_observer>* observer = nullptr;
  // Where the call is counted; null if it is not.
  call_counts* counts = nullptr;
  // The authority that credentials are sent to ("movies.example:443"); empty in plaintext, where none are
  // sent.
  std::string_view secure_authority;
};

}  // namespace coracle::client
