// channel_core: what a Channel is made of.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_interceptor.h>

#include "coracle/base/result.hpp"
#include "coracle/client/call_options.hpp"
#include "coracle/client/channel.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/runtime/loop.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace grpc {

class ChannelArguments;

namespace internal {

// One channel of Coracle on the runtime of the process. Further APIs that drive loops of their own get a
// channel for each of their runtimes here, made from the same target and settings.
class channel_core {
 public:
  channel_core(const std::string& target, const ChannelCredentials* credentials,
               const ChannelArguments& arguments);

  // Within this process.
  channel_core(std::shared_ptr<coracle::transport::connector> to, const ChannelArguments& arguments);

  // OK, or why no call can be made: invalid arguments, or a fork since the channel was made.
  [[nodiscard]] coracle::status usable() const;
  [[nodiscard]] coracle::loop& loop() const noexcept { return *loop_; }
  [[nodiscard]] const coracle::generic_stub& stub() const noexcept { return stub_; }
  [[nodiscard]] coracle::channel& handle() noexcept { return channel_; }
  using factories = std::vector<std::unique_ptr<experimental::ClientInterceptorFactoryInterface>>;
  // Before there are calls.
  void set_interceptors(factories all) { interceptor_factories_ = std::move(all); }
  [[nodiscard]] const factories& interceptor_factories() const noexcept { return interceptor_factories_; }
  // What the context asks for; fails if a pair of its metadata is invalid.
  [[nodiscard]] coracle::result<coracle::call_options> options_for(ClientContext& context) const;

 private:
  std::uint32_t generation_;
  coracle::status invalid_;
  std::shared_ptr<call_credentials_core> credentials_;
  coracle::loop* loop_;
  coracle::channel channel_;
  coracle::generic_stub stub_;
  factories interceptor_factories_;
};

}  // namespace internal
}  // namespace grpc
