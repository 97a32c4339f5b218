#include "client/address_dialer.hpp"

#include "net/socket_duplex.hpp"

namespace coracle::client {

namespace {

class address_dialer final : public dialer {
 public:
  task<result<std::unique_ptr<net::duplex>>> dial(loop&, const endpoint& to) override {
    return net::connect_duplex(to.address());
  }
};

}  // namespace

std::shared_ptr<dialer> make_address_dialer() { return std::make_shared<address_dialer>(); }

}  // namespace coracle::client
