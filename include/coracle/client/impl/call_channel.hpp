// call_channel: what a stub needs of a channel. The channel itself is in the room client.
#pragma once

#include "coracle/coro/executor.hpp"

#include <memory>
#include <span>
#include <string_view>

namespace coracle {

class call_options;
class loop;
class client_interceptor;

namespace client {
class attempt_source;  // private: src/client/call_attempt.hpp
class call_attempt;    // likewise
class client_call;     // private: src/client/client_call.hpp
class unary_chain;     // private: src/client/client_chain.hpp
struct call_setup;     // private: src/client/call_setup.hpp
}  // namespace client

class call_channel {
 public:
  // For the library: begins `a` on the current loop. Sooner or later, perhaps inside the call, one of
  // call_attempt::attach() and call_attempt::fail() follows, unless the attempt unlinks itself first. The
  // channel is not used by the call after that.
  virtual void begin(client::call_attempt& a) noexcept = 0;
  // For calls that may try again later, when this may be gone: what begins their attempts.
  virtual std::shared_ptr<client::attempt_source> source() noexcept = 0;
  // The loop on which a blocking call by a plain thread runs; driven by somebody.
  virtual loop& blocking_home() = 0;
  // For the library: fills `setup` for a call of a method ("/package.Service/Method") that begins on the current loop,
  // `here`.
  virtual void set_up(client::call_setup& /*setup*/, std::string_view /*method*/, loop& /*here*/) noexcept {}
  // True: what the service config says is not known yet, since the resolver has not answered. The call waits, as for a
  // connection, until call_attempt::configured() or fail() follows, unless it unlinks itself first.
  virtual bool wait_for_config(client::call_attempt&) noexcept { return false; }
  // What calls inherit that do not say otherwise; null: nothing. Borrowed for the moment.
  virtual const call_options* defaults() noexcept { return nullptr; }
  // Who stands around each of its calls, the outermost first; see intercepted_channel. They outlive the calls.
  virtual std::span<client_interceptor* const> interceptors() noexcept { return {}; }

 protected:
  ~call_channel() = default;
};

}  // namespace coracle
