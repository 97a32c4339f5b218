// call_channel: the interface of a channel that stubs use; coracle::channel implements it.
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
class call_attempt;    // private: src/client/call_attempt.hpp
class client_call;     // private: src/client/client_call.hpp
class unary_chain;     // private: src/client/client_chain.hpp
struct call_setup;     // private: src/client/call_setup.hpp
}  // namespace client

class call_channel {
 public:
  // For the library: begins `a` on the current loop. The channel then calls exactly one of
  // call_attempt::attach() and call_attempt::fail(), possibly before begin() returns, unless the attempt
  // unlinks itself first. The call does not use the channel after that.
  virtual void begin(client::call_attempt& a) noexcept = 0;
  // Returns the source of attempts for calls that may retry later, when this channel may be destroyed.
  virtual std::shared_ptr<client::attempt_source> source() noexcept = 0;
  // Returns a loop that is driven, for a blocking call of a plain thread.
  virtual loop& blocking_home() = 0;
  // For the library: fills `setup` for a call of a method ("/package.Service/Method") that begins on the
  // current loop, `here`.
  virtual void set_up(client::call_setup& /*setup*/, std::string_view /*method*/, loop& /*here*/) noexcept {}
  // Returns true if the service config is not known yet because the resolver has no result. The call waits,
  // as for a connection, until call_attempt::configured() or fail() follows, unless it unlinks itself first.
  virtual bool wait_for_config(client::call_attempt&) noexcept { return false; }
  // Returns the defaults of all calls; null if there are none. Borrowed for the duration of the caller's
  // function.
  virtual const call_options* defaults() noexcept { return nullptr; }
  // Returns the interceptors of each call, the outermost first; see intercepted_channel. They outlive the
  // calls.
  virtual std::span<client_interceptor* const> interceptors() noexcept { return {}; }

 protected:
  ~call_channel() = default;
};

}  // namespace coracle
