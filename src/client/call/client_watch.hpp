// client_watch: what a client's call keeps for its observer.
#pragma once

#include "client/call/call_attempt.hpp"
#include "coracle/client/client_observer.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "rpc/call.hpp"
#include "transport/exchange.hpp"

#include <memory>

namespace coracle::client {

// Belongs to the call; made only if there is an observer.
class call_watch final : public coro::pooled {
 public:
  // o: belongs to the channel, which lives until the call has ended.
  [[gnu::noinline]] call_watch(const std::shared_ptr<client_observer>& o, const call_terms& terms,
                               const coro::environment& caller) noexcept;
  // The call has waited for the channel's resolver.
  void resolved() noexcept;
  void paused(duration d) noexcept { call_.retry_delay += d; }
  void ended(const status& outcome) noexcept;
  // The call has ended, but its owner may still change the result: ended() follows later, perhaps after the
  // end of the channel.
  [[gnu::cold]] void keep_observer() noexcept { kept_ = of_channel_; }

 private:
  friend class attempt_watch;
  const std::shared_ptr<client_observer>& of_channel_;  // until the call ends
  client_observer& observer_;
  std::shared_ptr<client_observer> kept_;
  const call_terms& terms_;
  observed_call call_;
};

// Belongs to an attempt, then to the call that is committed to it.
class attempt_watch final : public rpc::message_watch, public coro::pooled {
 public:
  [[gnu::noinline]] attempt_watch(call_watch& of, attempt_kind kind, unsigned previous_attempts) noexcept;
  // The attempt, if the observer has given it metadata; else null, which leaves the call its shorter path.
  [[nodiscard]] const observed_attempt* more() const noexcept {
    return attempt_.more.empty() ? nullptr : &attempt_;
  }
  // waited: the channel had no connection for it at first.
  void attached(const transport::exchange& x, bool waited,
                const std::shared_ptr<const server_labels>& labels) noexcept;
  void headers_received() noexcept;
  void ended(const status& outcome) noexcept;

  // rpc::message_watch
  void message_sent(message_size m) noexcept override;
  void message_received(message_size m) noexcept override;

 private:
  call_watch& of_;
  observed_attempt attempt_;
  std::shared_ptr<const server_labels> labels_;
};

// Returns null if there is no call_watch.
std::unique_ptr<attempt_watch> watch_attempt(call_watch* of, attempt_kind kind,
                                             unsigned previous_attempts) noexcept;
// Reports the end, once, and deletes the watch.
void end_watch(std::unique_ptr<attempt_watch>& w, const status& outcome) noexcept;

}  // namespace coracle::client
