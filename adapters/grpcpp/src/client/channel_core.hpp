// channel_core: what a Channel is made of.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/impl/call_observing.h>
#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/support/client_interceptor.h>

#include "adapters/grpcpp/src/threads/client_runtime.hpp"
#include "coracle/base/result.hpp"
#include "coracle/client/call_options.hpp"
#include "coracle/client/channel.hpp"
#include "coracle/client/method_path.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/runtime/runtime.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace grpc {

class ChannelArguments;

namespace internal {

class channel_settings;

// A channel of Coracle, on the runtime where its calls are.
struct channel_on {
  channel_on(coracle::runtime& r, coracle::channel c, channel_on* made_before)
      : runtime(r), loop(r.at(0)), channel(std::move(c)), older(made_before) {}
  coracle::runtime& runtime;
  coracle::loop& loop;
  coracle::channel channel;
  channel_on* const older;
};

// The names of calls that generated stubs do not make are not reported: programs may take them from their
// clients.
[[nodiscard]] inline coracle::method_path path_of(const RpcMethod& method) noexcept {
  const coracle::method_path path = method.name();
  return method.kept_name() ? path.unregistered() : path;
}

// A channel of Coracle for each runtime from which it is used, made from the same target and settings: that
// of the process for blocking calls, and those of queues. Any thread.
class channel_core {
 public:
  channel_core(const std::string& target, const ChannelCredentials* credentials,
               const ChannelArguments& arguments);

  // Within this process.
  channel_core(std::shared_ptr<coracle::transport::connector> to, const ChannelArguments& arguments);

  // OK, or why no call can be made: invalid arguments, or a fork since the channel was made.
  [[nodiscard]] coracle::status usable() const;
  // The state that never changes of a channel that can make no calls; nothing for others.
  [[nodiscard]] std::optional<grpc_connectivity_state> fixed_state();
  // usable() is OK. It lasts as long as this object.
  [[nodiscard]] channel_on& on(coracle::runtime& wanted);
  // Before there are calls: all are on one runtime, that of the process.
  void has_one_connection() noexcept { one_connection_ = true; }
  // For calls that block.
  [[nodiscard]] channel_on& on_process();
  // What the state of the channel is about: the one that was used first.
  [[nodiscard]] channel_on& observed();
  using factories = std::vector<std::unique_ptr<experimental::ClientInterceptorFactoryInterface>>;
  // Before there are calls.
  void set_interceptors(factories all) { interceptor_factories_ = std::move(all); }
  [[nodiscard]] const factories& interceptor_factories() const noexcept { return interceptor_factories_; }
  // What the context asks for, for a call through `by`; fails if a pair of its metadata is invalid.
  [[nodiscard]] coracle::result<coracle::call_options> options_for(ClientContext& context,
                                                                   const channel_on& by) const;

 private:
  using observers = std::vector<std::shared_ptr<const call_observing>>;
  channel_core(const std::string& target, const ChannelCredentials* credentials,
               const channel_settings& settings, observers observing);
  channel_core(std::shared_ptr<coracle::transport::connector> to, const channel_settings& settings,
               observers observing);

  const std::uint32_t generation_ = counted_generation();
  coracle::status invalid_;
  std::shared_ptr<call_credentials_core> credentials_;
  const observers observing_;
  const std::function<coracle::channel(coracle::runtime&)> make_;
  bool one_connection_ = false;
  std::mutex adding_;
  std::list<channel_on> all_;  // the newest is the first
  std::atomic<channel_on*> newest_{nullptr};
  factories interceptor_factories_;
};

}  // namespace internal
}  // namespace grpc
