#include "coracle/client/channel.hpp"

#include "client/channel_state.hpp"
#include "client/dialer.hpp"

#include <utility>

namespace coracle {

namespace {

std::shared_ptr<client::channel_state> shown(std::shared_ptr<client::channel_state> made) {
  made->show();
  return made;
}

std::shared_ptr<client::channel_state> to_target(runtime& on, std::string_view target,
                                                 channel_credentials credentials, channel_options options) {
  client::proxy_settings by_proxy;
  if (options.proxy()) by_proxy = {*options.proxy(), options.proxy_except()};
  else if (on.backend_name() != "sim") by_proxy = client::proxy_settings_of_environment();
  client::destination to = client::find_destination(target, options, by_proxy);
  auto dialer = to.through ? client::make_tunnel_dialer(*to.through, options.local_address())
                           : client::make_address_dialer(options.local_address());
  return shown(std::make_shared<client::channel_state>(on, std::move(to), std::move(dialer),
                                                       std::move(credentials), std::move(options)));
}

// A single server: wherever the connector connects to.
std::shared_ptr<client::channel_state> to_connector(runtime& on, std::shared_ptr<transport::connector> by,
                                                    channel_credentials credentials,
                                                    channel_options options) {
  client::destination to;
  to.known.add(net::address());
  to.name = by->authority();
  to.in_process = by->stays_in_process();
  to.authority = options.authority().empty() ? to.name : options.authority();
  return shown(std::make_shared<client::channel_state>(on, std::move(to),
                                                       client::make_connector_dialer(std::move(by)),
                                                       std::move(credentials), std::move(options)));
}

}  // namespace

channel::channel(std::string_view target, channel_credentials credentials, channel_options options)
    : own_(std::make_unique<runtime>()),
      state_(to_target(*own_, target, std::move(credentials), std::move(options))) {}

channel::channel(runtime& on, std::string_view target, channel_credentials credentials,
                 channel_options options)
    : state_(to_target(on, target, std::move(credentials), std::move(options))) {}

channel::channel(runtime& on, std::shared_ptr<transport::connector> to, channel_options options)
    : channel(on, std::move(to), insecure(), std::move(options)) {}

channel::channel(runtime& on, std::shared_ptr<transport::connector> to, channel_credentials credentials,
                 channel_options options)
    : state_(to_connector(on, std::move(to), std::move(credentials), std::move(options))) {}

channel::~channel() { state_->close(); }

runtime& channel::owner() const noexcept { return state_->owner; }

connectivity channel::state() const noexcept { return state_->state(); }

void channel::connect() { state_->connect(); }

task<bool> channel::wait_for_state_change(connectivity from, duration at_most) {
  return client::wait_for_change(state_, from, at_most);
}

void channel::begin(client::call_attempt& a) noexcept { state_->begin(a); }

std::shared_ptr<client::attempt_source> channel::source() noexcept { return state_; }

void channel::set_up(client::call_setup& setup, std::string_view method, loop& here) noexcept {
  state_->set_up(setup, method, here);
}

bool channel::wait_for_config(client::call_attempt& a) noexcept { return state_->wait_for_config(a); }

const call_options* channel::defaults() noexcept { return state_->call_defaults; }

loop& channel::blocking_home() { return state_->owner.at(0); }

}  // namespace coracle
