// call_attempt: one try of a call on one connection; what a channel queues, picks for and serves.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/impl/intrusive_list.hpp"
#include "coracle/base/status.hpp"
#include "coracle/client/call_options.hpp"
#include "transport/exchange.hpp"

#include <cstdint>
#include <memory>
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

class call_attempt;
struct method_config;

// Where attempts begin: a channel's inner part, which a call that tries again may keep alive for longer than the
// channel. Attempts that begin after the channel's end fail with refusal::final.
class attempt_source : public std::enable_shared_from_this<attempt_source> {
 public:
  // As call_channel::begin().
  virtual void begin(call_attempt& a) noexcept = 0;

 protected:
  ~attempt_source() = default;
};

// What a channel says about the connection that it has picked; outlives the exchange.
struct call_target {
  std::string_view scheme;
  std::string_view authority;
  attempt_source* source = nullptr;  // for another attempt
  std::string_view user_agent;  // empty: library_user_agent()
};

// Why a channel gives an attempt no exchange; says who may try again.
enum class refusal : std::uint8_t {
  // No connection can be had now (the balancer's "fail"): a retry policy decides. An attempt whose terms say
  // wait_for_ready() is never told this; it stays queued.
  unavailable,
  // The last word: the balancer drops the call, or the channel is being destroyed. Nobody tries again.
  final,
};

// A plain call is its own single attempt; a call with a retry or hedging policy makes several. Lives on its
// call's loop and belongs to its call. The channel does, for each begin(), exactly one of attach() and fail(), at
// once or later, unless the attempt unlinks itself first: while it waits it is linked in a list of the channel's,
// so that a call that ends needs to tell nobody. An attempt that is queued when its connection is lost stays
// queued: it never left (gRFC A6, transparent retries). After attach() the facts of its connection come by the exchange:
// the peer's address from exchange::peer_address(), "the server surely never saw it" (REFUSED_STREAM, GOAWAY)
// from abnormal_end::unprocessed.
class call_attempt : public transport::exchange_handler, public base::list_hook {
 public:
  explicit call_attempt(const call_terms& terms) noexcept : terms_(terms) {}
  call_attempt(const call_attempt&) = delete;
  call_attempt& operator=(const call_attempt&) = delete;

  // For the pick: path, deadline, wait_for_ready() and the caller's metadata.
  [[nodiscard]] const call_terms& terms() const noexcept { return terms_; }

  // A stream for this attempt; it unlinks itself and sends what it has. The handler of `x` must be this. Anything
  // may have happened to the attempt when the call returns, its destruction included.
  virtual void attach(transport::exchange x, const call_target& target) noexcept = 0;
  // What a call waits for before its first attempt (call_channel::wait_for_config()): what the service config says of its
  // method, perhaps null; where its attempts begin and, as in call_setup::secure_authority, whom credentials go to,
  // for the channel may be gone. The pointer and the view are borrowed for the call. Likewise.
  virtual void configured(const method_config*, std::shared_ptr<attempt_source>, std::string_view) noexcept {}
  // No stream. Likewise.
  virtual void fail(const status& why, refusal how) noexcept = 0;

 protected:
  ~call_attempt() = default;

 private:
  const call_terms& terms_;
};

}  // namespace coracle::client
