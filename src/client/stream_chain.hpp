// stream_chain: the interceptors around a call with streams, which is tried once.
#pragma once

#include "client/client_call.hpp"
#include "client/client_chain.hpp"

namespace coracle::client {

class stream_chain final : public client_chain {
 public:
  stream_chain(client_interceptors chain, client_call& c, const char* path, const call_options& options)
      : client_chain(chain, path, options, false), call_(c) {}

  // From the call, whose readers and writers hear of its end from settle().
  void try_ended() noexcept { tried(call_.outcome(), call_.initial(), call_.trailing(), false); }

 private:
  void try_once(const coro::environment& e) noexcept override { call_.begin_try(e, options_); }
  void settle(const status& how) noexcept override { call_.settle(how); }  // this is gone

  client_call& call_;
};

}  // namespace coracle::client
