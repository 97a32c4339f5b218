#include "coracle/client/channel.hpp"

#include "client/address_connector.hpp"
#include "client/channel_state.hpp"

#include <utility>

namespace coracle {

channel::channel(std::string_view target, transport::channel_credentials credentials)
    : own_(std::make_unique<runtime>()),
      state_(std::make_shared<client::channel_state>(*own_, client::make_address_connector(target),
                                                     std::move(credentials))) {}

channel::channel(runtime& on, std::string_view target, transport::channel_credentials credentials)
    : channel(on, client::make_address_connector(target), std::move(credentials)) {}

channel::channel(runtime& on, std::shared_ptr<transport::connector> to)
    : channel(on, std::move(to), insecure()) {}

channel::channel(runtime& on, std::shared_ptr<transport::connector> to,
                 transport::channel_credentials credentials)
    : state_(std::make_shared<client::channel_state>(on, std::move(to), std::move(credentials))) {}

channel::~channel() { state_->close(); }

runtime& channel::owner() const noexcept { return state_->owner; }

void channel::begin(calls::call_attempt& a) noexcept { state_->begin(a); }

std::shared_ptr<calls::attempt_source> channel::source() noexcept { return state_; }

loop& channel::blocking_home() { return state_->owner.at(0); }

}  // namespace coracle
