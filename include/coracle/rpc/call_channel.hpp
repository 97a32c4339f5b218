// call_channel: what a stub needs of a channel. The channel itself is in the room client.
#pragma once

#include "coracle/coro/executor.hpp"

namespace coracle {

class loop;

namespace calls {
class client_call;  // private: src/rpc/client_call.hpp
}

class call_channel {
 public:
  // For the library: begins `c` on the current loop. Sooner or later, perhaps inside the call, one of
  // client_call::attach() and client_call::fail() follows, unless the call unlinks itself first. The
  // channel is not used by the call after that.
  virtual void begin(calls::client_call& c) noexcept = 0;
  // The loop on which a blocking call by a plain thread runs; driven by somebody.
  virtual loop& blocking_home() = 0;

 protected:
  ~call_channel() = default;
};

}  // namespace coracle
