// call_channel: the interface behind a coracle::channel, as calls see it.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/coro/executor.hpp"

#include <memory>
#include <span>
#include <string_view>

namespace coracle {

class call_options;
class loop;
class runtime;
class client_interceptor;

namespace client {
class call_attempt;    // private: src/client/call/call_attempt.hpp
class channel_state;   // private: src/client/channel_state.hpp
class client_call;     // private: src/client/call/client_call.hpp
class unary_chain;     // private: src/client/call/client_interceptor_chain.hpp
struct call_setup;     // private: src/client/call/call_setup.hpp
}  // namespace client

// For the library and for tests. A handle keeps it until a call has begun; set_up() then keeps it, without a
// reference count, until the call has ended.
class call_channel {
 public:
  // Begins `a` on the current loop. The channel then calls exactly one of call_attempt::attach() and
  // call_attempt::fail(), possibly before begin() returns, unless the attempt unlinks itself first.
  virtual void begin(client::call_attempt& a) noexcept = 0;
  // Returns a loop that is driven, for a blocking call of a plain thread.
  virtual loop& blocking_loop() = 0;
  // Returns whether calls may begin on the loops of this runtime.
  [[nodiscard]] virtual bool runs_on(const runtime& r);
  // Returns whether the runtime of the channel has ended. Its loops are gone then, and its calls have ended.
  [[nodiscard]] virtual bool runtime_has_ended() noexcept { return false; }
  // Has `where`, the loop of a call of this channel, run `w`. Returns false, without access to the loop, if
  // the runtime has ended. From any thread.
  [[nodiscard]] virtual bool post(loop& where, coro::runnable& w) noexcept;
  // Fills `setup` for a call of a method ("/package.Service/Method") that begins on the current loop, `here`.
  // Throws std::bad_alloc if there is no memory for what the first call makes; a later call makes the rest.
  virtual void set_up(client::call_setup& /*setup*/, std::string_view /*method*/, loop& /*here*/) {}
  // Returns why set_up() refused a call.
  [[nodiscard]] virtual status refusal(loop& /*here*/) noexcept { return {}; }
  // Returns true if the service config is not known yet because the resolver has no result. The call waits,
  // as for a connection, until call_attempt::configured() or fail() follows, unless it unlinks itself first.
  virtual bool wait_for_config(client::call_attempt&) noexcept { return false; }
  // Returns the defaults of all calls; null if there are none. Borrowed for the duration of the caller's
  // function.
  virtual const call_options* defaults() noexcept { return nullptr; }
  // Returns the interceptors of each call, the outermost first; valid as long as handle() is held.
  virtual std::span<const std::shared_ptr<client_interceptor>> interceptors() noexcept { return {}; }
  // Returns a handle of the channel, for calls with interceptors, which may begin several times; null if the
  // owner of the channel ensures its lifetime.
  virtual std::shared_ptr<call_channel> handle() noexcept { return nullptr; }
  // Returns the channel's state; null if it has none.
  virtual std::shared_ptr<client::channel_state> state() noexcept { return nullptr; }

 protected:
  ~call_channel() = default;
};

}  // namespace coracle
