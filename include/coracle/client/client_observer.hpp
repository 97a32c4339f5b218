// client_observer: is told of a channel's calls and of their attempts: for statistics and traces (gRFC A66, A72, A96).
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/status.hpp"
#include "coracle/coro/impl/pooled.hpp"
#include "coracle/net/address.hpp"
#include "coracle/rpc/call_traffic.hpp"
#include "coracle/rpc/message_size.hpp"
#include "coracle/rpc/metadata.hpp"

#include <cstdint>
#include <string_view>

namespace coracle {

// A client's call, the same object from call_started() to call_ended().
struct made_call : coro::pooled {
  made_call() noexcept = default;
  made_call(const made_call&) = delete;
  made_call& operator=(const made_call&) = delete;

  std::string_view method;  // "/package.Service/Method"
  time_point began{};
  time_point deadline = never;
  unsigned attempts = 0;  // so far, of every kind
  unsigned retries = 0;
  unsigned hedges = 0;
  unsigned transparent_retries = 0;
  duration retry_delay{};  // the pauses between attempts, summed
  void* user = nullptr;  // the observer's own
};

// gRFC A6: by the retry policy, by the hedging policy, or because the server surely had not seen the one before.
enum class attempt_kind : std::uint8_t { first, retry, hedge, transparent_retry };

// One try on one connection, the same object from attempt_started() to attempt_ended().
struct made_attempt : coro::pooled {
  explicit made_attempt(made_call& c) noexcept : call(c) {}
  made_attempt(const made_attempt&) = delete;
  made_attempt& operator=(const made_attempt&) = delete;

  made_call& call;
  attempt_kind kind = attempt_kind::first;
  unsigned previous_attempts = 0;  // what grpc-previous-rpc-attempts says
  time_point began{};  // when the channel was asked for a connection
  time_point attached{};  // when it had one; then peer is set
  const net::address* peer = nullptr;  // while the attempt lasts
  call_traffic traffic;  // so far
  // Sent with this attempt beside the call's own, and in place of those with the same keys; for attempt_started() to fill.
  coracle::metadata more;
  void* user = nullptr;  // the observer's own
};

// Its functions run on the loop of the call, inside the call's path, so they are short and never block. It must
// outlive the channel's calls.
class client_observer {
 public:
  virtual ~client_observer() = default;
  virtual void call_started(made_call&) noexcept {}
  // Before the channel is asked for a connection.
  virtual void attempt_started(made_attempt&) noexcept {}
  // It has a connection and its head is on its way.
  virtual void attempt_attached(made_attempt&) noexcept {}
  virtual void message_sent(made_attempt&, message_size) noexcept {}
  // The server's first words, unless they are its status as well.
  virtual void head_received(made_attempt&, time_point now) noexcept { (void)now; }
  virtual void message_received(made_attempt&, message_size) noexcept {}
  // Once for each that was started, before its call's end. One that others made needless ends with CANCELLED. The one reply
  // of a client's stream may be decoded later: where that fails, the attempt has ended with OK, and the call has not.
  virtual void attempt_ended(made_attempt&, const status& how, time_point now) noexcept {
    (void)how;
    (void)now;
  }
  // Once, last. Of a client's stream: when its reply has been decoded, or the call is destroyed.
  virtual void call_ended(made_call&, const status& how, time_point now) noexcept {
    (void)how;
    (void)now;
  }
};

}  // namespace coracle
