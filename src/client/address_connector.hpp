// address_connector: connects to the first of some addresses that takes the connection.
#pragma once

#include "coracle/transport/connector.hpp"

#include <memory>
#include <string_view>

namespace coracle::client {

// A target that is no address gives a connector that fails with the reason.
std::shared_ptr<transport::connector> make_address_connector(std::string_view target);

}  // namespace coracle::client
