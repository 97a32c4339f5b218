// Channel and CreateChannel().
#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/support/time.h>

#include "adapters/grpcpp/src/client/channel_core.hpp"
#include "adapters/grpcpp/src/client/client_context_access.hpp"
#include "adapters/grpcpp/src/credentials/credentials_core.hpp"
#include "adapters/grpcpp/src/process/observed_process.hpp"
#include "adapters/grpcpp/src/process/one_process.hpp"
#include "adapters/grpcpp/src/process/process_log.hpp"
#include "adapters/grpcpp/src/process/xds_hooks.hpp"
#include "adapters/grpcpp/src/queue/queue_core.hpp"
#include "adapters/grpcpp/src/threads/blocking.hpp"
#include "adapters/grpcpp/src/threads/client_runtime.hpp"
#include "adapters/grpcpp/src/values/arguments.hpp"
#include "adapters/grpcpp/src/values/deadlines.hpp"
#include "adapters/grpcpp/src/values/sent_metadata.hpp"

#include "coracle/coro/executor.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/security/insecure.hpp"

#include <strings.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace grpc {

namespace internal {
namespace {

// With the binary log below all that changes a call.
channel_settings logged(channel_settings settings) {
  if (const auto& log = process_log())
    settings.options.interceptors.push_back(coracle::binary_log_interceptor(log));
  return settings;
}

// The program says by what it links whether a control plane can configure its channels.
channel_settings for_target(const std::string& target, channel_settings settings) {
  constexpr std::string_view scheme = "xds:";
  if (target.size() < scheme.size() || ::strncasecmp(target.data(), scheme.data(), scheme.size()) != 0)
    return settings;
  if (&xds_resolver_with) settings.options.add_resolver("xds", xds_resolver_with(settings.xds_bootstrap));
  else if (settings.invalid.ok())
    settings.invalid =
        coracle::status::unavailable("the program has no xDS, which the target " + target +
                                     " needs: link coracle::grpcpp_xds beside coracle::grpcpp");
  return settings;
}

// Those of the process first.
std::vector<std::shared_ptr<const call_observing>> observers_of(const ChannelArguments& arguments) {
  auto all = process_observers();
  all.insert(all.end(), arguments.observing().begin(), arguments.observing().end());
  return all;
}

coracle::channel_options with_observers(coracle::channel_options options,
                                        const std::vector<std::shared_ptr<const call_observing>>& by) {
  for (const auto& one : by)
    if (one->observer_of)
      options.observer_factories.push_back(
          std::make_shared<coracle::channel_observer_factory>(one->observer_of));
  return options;
}

std::function<coracle::channel(coracle::runtime&)> maker(const std::string& target,
                                                         const ChannelCredentials* credentials,
                                                         const std::string& tls_target_name,
                                                         coracle::channel_options options) {
  if (!credentials) return {};
  return [target, with = credentials->core().made(tls_target_name), options = std::move(options)](
             coracle::runtime& on) { return coracle::channel(on, target, with, options); };
}

}  // namespace

channel_core::channel_core(const std::string& target, const ChannelCredentials* credentials,
                           const ChannelArguments& arguments)
    : channel_core(target, credentials, logged(for_target(target, channel_settings(arguments))),
                   observers_of(arguments)) {}

channel_core::channel_core(const std::string& target, const ChannelCredentials* credentials,
                           const channel_settings& settings, observers observing)
    : invalid_(settings.invalid),
      observing_(std::move(observing)),
      make_(maker(target, credentials, settings.tls_target_name,
                  with_observers(settings.options, observing_))) {
  if (!credentials)
    invalid_ = coracle::status::invalid_argument("the channel was made with null credentials");
  else credentials_ = credentials->core().of_calls;
}

channel_core::channel_core(std::shared_ptr<coracle::transport::connector> to,
                           const ChannelArguments& arguments)
    : channel_core(std::move(to), logged(channel_settings(arguments)), observers_of(arguments)) {}

channel_core::channel_core(std::shared_ptr<coracle::transport::connector> to,
                           const channel_settings& settings, observers observing)
    : invalid_(settings.invalid),
      observing_(std::move(observing)),
      make_([to = std::move(to), options = with_observers(settings.options, observing_)](
                coracle::runtime& on) { return coracle::channel(on, to, options); }) {}

channel_on& channel_core::on(coracle::runtime& wanted) {
  coracle::runtime& runtime = one_connection_ ? client_runtime() : wanted;
  const auto found = [&] {
    channel_on* c = newest_.load(std::memory_order_acquire);
    while (c && &c->runtime != &runtime) c = c->older;
    return c;
  };
  if (channel_on* const c = found()) return *c;
  const std::lock_guard lock(adding_);
  if (channel_on* const c = found()) return *c;
  channel_on& made = all_.emplace_front(runtime, make_(runtime), newest_.load(std::memory_order_relaxed));
  newest_.store(&made, std::memory_order_release);
  return made;
}

channel_on& channel_core::on_process() { return on(client_runtime()); }

channel_on& channel_core::observed() {
  if (!newest_.load(std::memory_order_acquire)) return on_process();
  const std::lock_guard lock(adding_);
  return all_.back();
}

coracle::status channel_core::usable() const {
  if (generation_ != process_generation()) [[unlikely]]
    return coracle::status::unavailable("the channel was made before fork(): make a new one in the child");
  return invalid_;
}

// As with grpc++, such a channel has failed from the start: a program that waits until it is connected ends
// its wait, and does not take it for an unused one.
std::optional<grpc_connectivity_state> channel_core::fixed_state() {
  if (generation_ != process_generation()) [[unlikely]]
    return GRPC_CHANNEL_SHUTDOWN;
  if (!invalid_.ok() || !observed().channel.invalid_reason().ok()) return GRPC_CHANNEL_TRANSIENT_FAILURE;
  return std::nullopt;
}

coracle::result<coracle::call_options> channel_core::options_for(ClientContext& context,
                                                                 const channel_on& by) const {
  using access = client_context_access;
  coracle::call_options options;
  for (const auto& [key, value] : access::sent(context)) {
    if (!add_pair(options.metadata, key, value, sent_with::request))
      return coracle::status::internal("the pair '" + key +
                                       "' is not valid metadata: keys consist of a-z, 0-9, '-', '_' and '.', "
                                       "values are printable unless the key ends in -bin");
  }
  for (const auto& one : observing_)
    if (one->add_metadata) one->add_metadata(options.metadata);
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
  if (auto all = both(own ? own->core() : nullptr, credentials_))
    options.credentials = source_for(std::move(all), by.channel, options.wait_for_ready.value_or(false));
  return options;
}

}  // namespace internal

Channel::Channel(std::unique_ptr<internal::channel_core> core) : core_(std::move(core)) {}

Channel::~Channel() = default;

grpc_connectivity_state Channel::GetState(bool try_to_connect) {
  if (const auto fixed = core_->fixed_state()) return *fixed;
  coracle::channel& observed = core_->observed().channel;
  const auto state = observed.state();
  if (try_to_connect && state == coracle::connectivity::idle) observed.connect();
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
  const coracle::time_point end = point_of(deadline);
  auto wait = of.wait_for_state_change(
      states[last_observed], std::max(end - coracle::coro::this_executor().now(), coracle::duration::zero()));
  co_return co_await std::move(wait);
}

// The wait for a change of a state that never changes.
coracle::task<bool> no_change(gpr_timespec deadline) {
  co_await coracle::sleep_until(point_of(deadline));
  co_return false;
}

}  // namespace
}  // namespace internal

bool Channel::WaitForStateChangeImpl(grpc_connectivity_state last_observed, gpr_timespec deadline) {
  if (const auto fixed = core_->fixed_state()) {
    if (last_observed != *fixed) return true;
    // Nothing runs in the child of a fork.
    if (*fixed == GRPC_CHANNEL_SHUTDOWN) return false;
    return internal::run_blocking(internal::client_runtime().at(0), internal::no_change(deadline));
  }
  internal::channel_on& observed = core_->observed();
  return internal::run_blocking(observed.loop,
                                internal::state_change(observed.channel, last_observed, deadline));
}

void Channel::NotifyOnStateChangeImpl(grpc_connectivity_state last_observed, gpr_timespec deadline,
                                      CompletionQueue* queue, void* tag) {
  using internal::queue_event;
  if (const auto fixed = core_->fixed_state()) {
    if (last_observed != *fixed || *fixed == GRPC_CHANNEL_SHUTDOWN)
      return internal::push_now(*queue->core(), std::make_unique<queue_event>(tag), last_observed != *fixed);
    const auto wait = [&](queue_event&) { return internal::no_change(deadline); };
    return internal::start_for<queue_event>(queue->core(), internal::client_runtime().at(0), wait, tag);
  }
  internal::channel_on& observed = core_->observed();
  const auto wait = [&](queue_event&) {
    return internal::state_change(observed.channel, last_observed, deadline);
  };
  internal::start_for<queue_event>(queue->core(), observed.loop, wait, tag);
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
