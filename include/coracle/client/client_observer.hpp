// client_observer: receives the events of a channel's calls and attempts (gRFC A66, A72, A96).
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/status.hpp"
#include "coracle/client/server_labels.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/net/address.hpp"
#include "coracle/rpc/call_traffic.hpp"
#include "coracle/rpc/metadata.hpp"

#include <cstdint>
#include <string_view>

namespace coracle {

/// A call of the client; the same object from call_started() to call_ended().
struct observed_call : coro::pooled {
  /// @cond
  observed_call() noexcept = default;
  /// @endcond
  observed_call(const observed_call&) = delete;
  observed_call& operator=(const observed_call&) = delete;

  std::string_view method;  ///< "/package.Service/Method"
  std::string_view label;  ///< call_options::telemetry_label
  /// Whether a generated stub makes the call. The program may take the paths of other calls from its clients:
  /// do not use them as labels.
  bool registered = true;
  /// The metadata of the program, as far as they are known when the call begins; interceptors and
  /// credentials add to them.
  const coracle::metadata* metadata = nullptr;
  /// The environment of the task that makes the call, with the call and the span that it works for. Valid
  /// during call_started() only.
  const coro::environment* caller = nullptr;
  time_point began{};  ///< when the call began, by the clock of its loop
  time_point deadline = never;  ///< of the whole call
  unsigned attempts = 0;  ///< so far, of every kind
  unsigned retries = 0;  ///< attempts by the retry policy, so far
  unsigned hedges = 0;  ///< attempts by the hedging policy, so far
  unsigned transparent_retries = 0;  ///< attempts because the server had not processed the one before, so far
  duration retry_delay{};  ///< the sum of the pauses between attempts
  void* user = nullptr;  ///< for the observer's own data
};

/// Why an attempt was made (gRFC A6).
enum class attempt_kind : std::uint8_t {
  first,  ///< the first attempt of the call
  retry,  ///< by the retry policy
  hedge,  ///< by the hedging policy
  transparent_retry,  ///< because the server has certainly not processed the previous attempt
};

/// One attempt on one connection; the same object from attempt_started() to attempt_ended().
struct observed_attempt : coro::pooled {
  /// @cond
  explicit observed_attempt(observed_call& c) noexcept : call(c) {}
  /// @endcond
  observed_attempt(const observed_attempt&) = delete;
  observed_attempt& operator=(const observed_attempt&) = delete;

  observed_call& call;  ///< the call that the attempt belongs to
  attempt_kind kind = attempt_kind::first;  ///< why it was made
  unsigned previous_attempts = 0;  ///< the value of grpc-previous-rpc-attempts
  time_point began{};  ///< when the attempt requested a connection from the channel
  time_point attached{};  ///< when it got one; peer is set from then on
  /// Whether the channel had no connection for the attempt at first, so that the attempt waited for one. Set
  /// before attempt_attached().
  bool waited_for_connection = false;
  const net::address* peer = nullptr;  ///< valid while the attempt lasts
  /// Where the server belongs, set with `peer`; null if no control plane says so. Valid while the attempt
  /// lasts.
  const server_labels* labels = nullptr;
  call_traffic traffic;  ///< so far
  /// Metadata to send with this attempt in addition to the call's own; it replaces pairs with the same keys.
  /// Set it in attempt_started().
  coracle::metadata more;
  /// Whether `more` says to which trace the attempt belongs. The attempt then sends no other form of it: the
  /// traceparent, tracestate and grpc-trace-bin of the call whose handler makes this one are left out, unless
  /// `more` has them. Set it in attempt_started(). Default: false.
  bool replaces_trace = false;
  void* user = nullptr;  ///< for the observer's own data
};

/// Receives the events of a channel's calls. Users derive from it.
///
/// Its functions run on the loop of the call, on the call's critical path: they must be short and must never
/// block. Share it with channel_options::observer or observe_channels(): the channel and its calls keep it.
class client_observer {
 public:
  virtual ~client_observer() = default;
  /// Runs when the call begins, as its first event.
  virtual void call_started(observed_call&) noexcept {}
  /// Runs when the channel's resolver has given its first result, if the call has waited for that. At most
  /// once, before the first attempt.
  virtual void call_resolved(observed_call&) noexcept {}
  /// Runs before the attempt requests a connection.
  virtual void attempt_started(observed_attempt&) noexcept {}
  /// Runs when the attempt has a connection and its request headers have been written.
  virtual void attempt_attached(observed_attempt&) noexcept {}
  /// Runs when a message of the attempt has been passed to its connection.
  virtual void message_sent(observed_attempt&, message_size) noexcept {}
  /// Runs when the response headers arrive; not for a response that consists of trailers only.
  virtual void headers_received(observed_attempt&, time_point now) noexcept { (void)now; }
  /// Runs when a whole message has arrived, before it is decoded.
  virtual void message_received(observed_attempt&, message_size) noexcept {}
  /// Runs once for each attempt that was started, before the end of its call.
  ///
  /// An attempt that another one made unnecessary ends with CANCELLED. The reply of a client-streaming call
  /// may be decoded after the attempt has ended with OK; if that fails, the call does not end with OK.
  virtual void attempt_ended(observed_attempt&, const status& outcome, time_point now) noexcept {
    (void)outcome;
    (void)now;
  }
  /// Runs once, as the last event of the call. For a client-streaming call this is when its reply has been
  /// decoded, or the call object is destroyed.
  virtual void call_ended(observed_call&, const status& outcome, time_point now) noexcept {
    (void)outcome;
    (void)now;
  }
};

}  // namespace coracle
