// intercepted_channel: a channel with interceptors in front of it.
#pragma once

#include "coracle/client/client_interceptor.hpp"
#include "coracle/client/impl/call_channel.hpp"

#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace coracle {

/// Adds interceptors to a channel, for all stubs or for some of them.
///
///   coracle::intercepted_channel guarded(channel, {&logging, &keys});   // logging is outermost
///   movie::rpc::MovieService::stub movies(guarded);
///
/// Intercepted channels stack: the interceptors of an outer one run outside those of an inner one. The
/// channel and the interceptors must outlive this object, and this object must outlive the calls made through
/// it. It may be used from any thread.
class intercepted_channel final : public call_channel {
 public:
  intercepted_channel(call_channel& inner, std::initializer_list<client_interceptor*> front);

  // call_channel
  void begin(client::call_attempt& a) noexcept override { inner_.begin(a); }
  std::shared_ptr<client::attempt_source> source() noexcept override { return inner_.source(); }
  loop& blocking_home() override { return inner_.blocking_home(); }
  void set_up(client::call_setup& setup, std::string_view method, loop& here) noexcept override {
    inner_.set_up(setup, method, here);
  }
  bool wait_for_config(client::call_attempt& a) noexcept override { return inner_.wait_for_config(a); }
  const call_options* defaults() noexcept override { return inner_.defaults(); }
  std::span<client_interceptor* const> interceptors() noexcept override { return chain_; }

 private:
  call_channel& inner_;
  std::vector<client_interceptor*> chain_;
};

}  // namespace coracle
