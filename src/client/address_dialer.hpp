// address_dialer: connects a socket to the endpoint's address.
#pragma once

#include "client/dialer.hpp"

namespace coracle::client {

std::shared_ptr<dialer> make_address_dialer();

}  // namespace coracle::client
