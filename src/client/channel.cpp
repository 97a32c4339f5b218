#include "coracle/client/channel.hpp"

#include "client/call/call_attempt.hpp"
#include "client/call/call_setup.hpp"
#include "client/channel_state.hpp"
#include "client/connecting/dialer.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/client/connection_bytes.hpp"
#include "coracle/coro/sleep.hpp"
#include "runtime/background_runtime.hpp"

#include <span>
#include <utility>

namespace coracle {

namespace {

std::shared_ptr<call_channel> to_target(runtime& on, std::string_view target, channel_credentials credentials,
                                        channel_options options) {
  client::proxy_settings by_proxy;
  if (options.proxy) by_proxy = {*options.proxy, options.proxy_except};
  else if (on.backend_name() != "sim") by_proxy = client::proxy_settings_of_environment();
  client::destination to = client::find_destination(target, options, by_proxy);
  auto dialer = to.through ? client::make_tunnel_dialer(*to.through, options.local_address)
                           : client::make_address_dialer(options.local_address);
  return client::channel_state::open(std::make_shared<client::channel_state>(
      on, std::move(to), std::move(dialer), std::move(credentials), std::move(options)));
}

// A single server: wherever the connector connects to.
std::shared_ptr<call_channel> to_connector(runtime& on, std::shared_ptr<transport::connector> by,
                                           channel_credentials credentials, channel_options options) {
  client::destination to;
  to.known.add(net::address());
  to.name = by->authority();
  to.uri = to.name;
  to.in_process = by->stays_in_process();
  to.authority = options.authority.empty() ? to.name : options.authority;
  return client::channel_state::open(
      std::make_shared<client::channel_state>(on, std::move(to), client::make_connector_dialer(std::move(by)),
                                              std::move(credentials), std::move(options)));
}

// Behind a handle that was moved from. One per process, never destroyed.
class no_channel final : public call_channel {
 public:
  constexpr no_channel() noexcept = default;
  void begin(client::call_attempt& a) noexcept override { a.fail(reason(), client::refusal::final); }
  loop& blocking_loop() override { return runtime_internal::background_runtime().at(0); }
  void set_up(client::call_setup& setup, std::string_view, loop&) noexcept override { setup.refused = true; }
  status refusal(loop&) noexcept override { return reason(); }

 private:
  static status reason() noexcept {
    return status::unavailable("the call was made without a channel: its handle was moved from or never set");
  }
};
constinit no_channel without_channel;

// A handle with interceptors. The calls refer to this object, and to the channel's for all else.
class intercepted_channel final : public call_channel,
                                  public std::enable_shared_from_this<intercepted_channel> {
 public:
  intercepted_channel(std::shared_ptr<call_channel> inner,
                      std::vector<std::shared_ptr<client_interceptor>> front)
      : inner_(std::move(inner)), chain_(std::move(front)) {
    const auto behind = inner_->interceptors();
    chain_.insert(chain_.end(), behind.begin(), behind.end());
  }
  void begin(client::call_attempt& a) noexcept override { inner_->begin(a); }
  loop& blocking_loop() override { return inner_->blocking_loop(); }
  [[nodiscard]] bool runs_on(const runtime& r) override { return inner_->runs_on(r); }
  [[nodiscard]] bool runtime_has_ended() noexcept override { return inner_->runtime_has_ended(); }
  [[nodiscard]] bool post(loop& where, coro::runnable& w) noexcept override { return inner_->post(where, w); }
  void set_up(client::call_setup& setup, std::string_view method, loop& here) override {
    inner_->set_up(setup, method, here);
  }
  status refusal(loop& here) noexcept override { return inner_->refusal(here); }
  bool wait_for_config(client::call_attempt& a) noexcept override { return inner_->wait_for_config(a); }
  const call_options* defaults() noexcept override { return inner_->defaults(); }
  std::span<const std::shared_ptr<client_interceptor>> interceptors() noexcept override { return chain_; }
  std::shared_ptr<call_channel> handle() noexcept override { return shared_from_this(); }
  std::shared_ptr<client::channel_state> state() noexcept override { return inner_->state(); }

 private:
  const std::shared_ptr<call_channel> inner_;
  std::vector<std::shared_ptr<client_interceptor>> chain_;
};

task<bool> wait_without_channel(connectivity from, duration at_most) {
  if (from != connectivity::shutdown) co_return true;
  co_await sleep_until(deadline_after(coro::this_executor().now(), at_most));
  co_return false;
}

task<> no_wait() { co_return; }

}  // namespace

channel::channel() noexcept : by_(std::shared_ptr<call_channel>(), &without_channel) {}

channel::channel(std::string_view target, channel_credentials credentials)
    : channel(target, std::move(credentials), channel_options()) {}

channel::channel(std::string_view target, channel_credentials credentials, channel_options options)
    : channel(runtime_internal::background_runtime(), target, std::move(credentials), std::move(options)) {}

channel::channel(runtime& on, std::string_view target, channel_credentials credentials)
    : channel(on, target, std::move(credentials), channel_options()) {}

channel::channel(runtime& on, std::string_view target, channel_credentials credentials,
                 channel_options options)
    : by_(to_target(on, target, std::move(credentials), std::move(options))) {}

channel::channel(runtime& on, std::shared_ptr<transport::connector> to)
    : channel(on, std::move(to), insecure(), channel_options()) {}

channel::channel(runtime& on, std::shared_ptr<transport::connector> to, channel_options options)
    : channel(on, std::move(to), insecure(), std::move(options)) {}

channel::channel(runtime& on, std::shared_ptr<transport::connector> to, channel_credentials credentials)
    : channel(on, std::move(to), std::move(credentials), channel_options()) {}

channel::channel(runtime& on, std::shared_ptr<transport::connector> to, channel_credentials credentials,
                 channel_options options)
    : by_(to_connector(on, std::move(to), std::move(credentials), std::move(options))) {}

channel::channel(std::shared_ptr<call_channel> implementation) noexcept : by_(std::move(implementation)) {
  CORACLE_ASSERT(by_, "a channel of one's own is a null pointer");
}

channel channel::with_interceptors(std::vector<std::shared_ptr<client_interceptor>> front) const {
  for (const auto& i : front) CORACLE_REQUIRE(i, "with_interceptors() got a null pointer");
  if (front.empty()) return *this;
  return channel(std::make_shared<intercepted_channel>(by_, std::move(front)));
}

void channel::close() noexcept {
  if (const auto state = by_->state()) state->close();
}

task<> channel::shutdown() {
  auto state = by_->state();
  return state ? client::shut_down(std::move(state)) : no_wait();
}

status channel::invalid_reason() const {
  const auto state = by_->state();
  return state ? state->to.bad : status();
}

runtime& channel::owner() const {
  const auto state = by_->state();
  CORACLE_REQUIRE(state, "a handle without a channel has no runtime");
  return state->owner();
}

connection_bytes bytes_of_connections(const channel& of) noexcept {
  const auto state = of.implementation().state();
  return state ? state->bytes() : connection_bytes();
}

connectivity channel::state() const noexcept {
  const auto state = by_->state();
  return state ? state->current() : connectivity::shutdown;
}

std::shared_ptr<const auth_context> channel::server_auth() const {
  const auto state = by_->state();
  return state ? state->server_auth() : nullptr;
}

void channel::connect() {
  if (const auto state = by_->state()) state->connect();
}

task<bool> channel::wait_for_state_change(connectivity from, duration at_most) {
  auto state = by_->state();
  return state ? client::wait_for_change(std::move(state), from, at_most)
               : wait_without_channel(from, at_most);
}

}  // namespace coracle
