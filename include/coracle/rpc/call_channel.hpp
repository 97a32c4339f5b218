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
class client_observer;

namespace calls {
class attempt_source;  // private: src/rpc/call_attempt.hpp
class call_attempt;    // likewise
class client_call;     // private: src/rpc/client_call.hpp
class unary_chain;     // private: src/rpc/unary_chain.hpp
struct method_config;  // private: src/rpc/method_config.hpp
struct call_counts;    // private: src/rpc/call_counts.hpp
}  // namespace calls

class call_channel {
 public:
  // For the library: begins `a` on the current loop. Sooner or later, perhaps inside the call, one of
  // call_attempt::attach() and call_attempt::fail() follows, unless the attempt unlinks itself first. The
  // channel is not used by the call after that.
  virtual void begin(calls::call_attempt& a) noexcept = 0;
  // For calls that may try again later, when this may be gone: what begins their attempts.
  virtual std::shared_ptr<calls::attempt_source> source() noexcept = 0;
  // The loop on which a blocking call by a plain thread runs; driven by somebody.
  virtual loop& blocking_home() = 0;
  // For the library: what the service config says about a method ("/package.Service/Method"), for a call that
  // begins on the current loop; null when nothing, which is the common case. Borrowed until begin().
  virtual const calls::method_config* config_for(std::string_view) noexcept { return nullptr; }
  // True: that is not known yet, since the resolver has not answered. The call waits, as for a connection, until
  // call_attempt::configured() or fail() follows, unless it unlinks itself first.
  virtual bool wait_for_config(calls::call_attempt&) noexcept { return false; }
  // What calls inherit that do not say otherwise; null: nothing. Borrowed for the moment.
  virtual const call_options* defaults() noexcept { return nullptr; }
  // Who is told of the calls and attempts that begin on the current loop; null: nobody. Outlives them.
  virtual client_observer* observer() noexcept { return nullptr; }
  // Whom credentials go to ("movies.example:443"); empty in plaintext, where they do not go at all.
  virtual std::string_view secure_authority() noexcept { return {}; }
  // For the library: where calls that begin on the current loop, `here`, are counted; null: nowhere.
  virtual calls::call_counts* counts(loop& /*here*/) noexcept { return nullptr; }
  // Who stands around each of its calls, the outermost first; see intercepted_channel. They outlive the calls.
  virtual std::span<client_interceptor* const> interceptors() noexcept { return {}; }

 protected:
  ~call_channel() = default;
};

}  // namespace coracle
