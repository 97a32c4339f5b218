// Channel and CreateChannel().
#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/support/time.h>

#include "arguments.hpp"
#include "blocking.hpp"
#include "channel_core.hpp"
#include "client_context_access.hpp"
#include "client_runtime.hpp"
#include "credentials_core.hpp"
#include "deadlines.hpp"
#include "one_process.hpp"
#include "queue_core.hpp"

#include "coracle/security/insecure.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace grpc {

namespace internal {
namespace {

coracle::channel make_channel(coracle::runtime& on, const std::string& target,
                              const ChannelCredentials* credentials, const channel_settings& settings) {
  if (!credentials) return {};
  return {on, target, credentials->core().made(settings.tls_target_name), settings.options};
}

}  // namespace

channel_core::channel_core(const std::string& target, const ChannelCredentials* credentials,
                           const ChannelArguments& arguments)
    : generation_(process_generation()), loop_(&client_runtime().at(0)), stub_(coracle::channel()) {
  const channel_settings settings(arguments);
  invalid_ = settings.invalid;
  if (!credentials)
    invalid_ = coracle::status::invalid_argument("the channel was made with null credentials");
  else credentials_ = credentials->core().of_calls;
  channel_ = make_channel(client_runtime(), target, credentials, settings);
  stub_ = coracle::generic_stub(channel_);
}

channel_core::channel_core(std::shared_ptr<coracle::transport::connector> to,
                           const ChannelArguments& arguments)
    : generation_(process_generation()), loop_(&client_runtime().at(0)), stub_(coracle::channel()) {
  const channel_settings settings(arguments);
  invalid_ = settings.invalid;
  channel_ = coracle::channel(client_runtime(), std::move(to), settings.options);
  stub_ = coracle::generic_stub(channel_);
}

coracle::status channel_core::usable() const {
  if (generation_ != process_generation()) [[unlikely]]
    return coracle::status::unavailable("the channel was made before fork(): make a new one in the child");
  return invalid_;
}

coracle::result<coracle::call_options> channel_core::options_for(ClientContext& context) const {
  using access = client_context_access;
  coracle::call_options options;
  for (const auto& [key, value] : access::sent(context)) {
    if (!options.metadata.add(key, value))
      return coracle::status::internal(
          "the pair '" + key +
          "' is not valid metadata: keys are in lower case and not reserved, values "
          "printable unless the key ends in -bin");
  }
  for (const auto& deadline : {access::deadline(context), access::parent_deadline(context)}) {
    if (!deadline) continue;
    const coracle::duration left = until(*deadline);
    if (left == coracle::duration::max()) continue;
    options.timeout = options.timeout ? std::min(*options.timeout, left) : left;
  }
  options.authority = access::authority(context);
  options.wait_for_ready = access::wait_for_ready(context);
  if (access::compression(context)) options.compression = compression_of(*access::compression(context));
  const auto& own = access::credentials(context);
  if (auto all = both(own ? own->core() : nullptr, credentials_)) options.credentials = std::move(all);
  return options;
}

}  // namespace internal

Channel::Channel(std::unique_ptr<internal::channel_core> core) : core_(std::move(core)) {}

Channel::~Channel() = default;

grpc_connectivity_state Channel::GetState(bool try_to_connect) {
  if (!core_->usable().ok()) return GRPC_CHANNEL_SHUTDOWN;
  const auto state = core_->handle().state();
  if (try_to_connect && state == coracle::connectivity::idle) core_->handle().connect();
  switch (state) {
    case coracle::connectivity::idle: return GRPC_CHANNEL_IDLE;
    case coracle::connectivity::connecting: return GRPC_CHANNEL_CONNECTING;
    case coracle::connectivity::ready: return GRPC_CHANNEL_READY;
    case coracle::connectivity::transient_failure: return GRPC_CHANNEL_TRANSIENT_FAILURE;
    case coracle::connectivity::shutdown: break;
  }
  return GRPC_CHANNEL_SHUTDOWN;
}

namespace internal {
namespace {

coracle::task<bool> state_change(coracle::channel of, grpc_connectivity_state last_observed,
                                 gpr_timespec deadline) {
  constexpr coracle::connectivity states[] = {
      coracle::connectivity::idle, coracle::connectivity::connecting, coracle::connectivity::ready,
      coracle::connectivity::transient_failure, coracle::connectivity::shutdown};
  auto wait =
      of.wait_for_state_change(states[last_observed], std::max(until(deadline), coracle::duration::zero()));
  co_return co_await std::move(wait);
}

coracle::task<bool> no_change(bool differs) { co_return differs; }

}  // namespace
}  // namespace internal

bool Channel::WaitForStateChangeImpl(grpc_connectivity_state last_observed, gpr_timespec deadline) {
  if (!core_->usable().ok()) return last_observed != GRPC_CHANNEL_SHUTDOWN;
  return internal::run_blocking(core_->loop(),
                                internal::state_change(core_->handle(), last_observed, deadline));
}

void Channel::NotifyOnStateChangeImpl(grpc_connectivity_state last_observed, gpr_timespec deadline,
                                      CompletionQueue* queue, void* tag) {
  auto wait = core_->usable().ok() ? internal::state_change(core_->handle(), last_observed, deadline)
                                   : internal::no_change(last_observed != GRPC_CHANNEL_SHUTDOWN);
  internal::start_for(queue->core(), core_->loop(), std::move(wait),
                      std::make_unique<internal::queue_event>(tag))
      .detach();
}

std::shared_ptr<Channel> CreateCustomChannel(const std::string& target,
                                             const std::shared_ptr<ChannelCredentials>& credentials,
                                             const ChannelArguments& arguments) {
  internal::require_one_library();
  return std::make_shared<Channel>(
      std::make_unique<internal::channel_core>(target, credentials.get(), arguments));
}

std::shared_ptr<Channel> experimental::CreateCustomChannelWithInterceptors(
    const std::string& target, const std::shared_ptr<ChannelCredentials>& credentials,
    const ChannelArguments& arguments,
    std::vector<std::unique_ptr<ClientInterceptorFactoryInterface>> interceptor_creators) {
  auto made = CreateCustomChannel(target, credentials, arguments);
  made->core()->set_interceptors(std::move(interceptor_creators));
  return made;
}

std::shared_ptr<Channel> CreateChannel(const std::string& target,
                                       const std::shared_ptr<ChannelCredentials>& credentials) {
  return CreateCustomChannel(target, credentials, ChannelArguments());
}

}  // namespace grpc
