#include "client/address_connector.hpp"

#include "coracle/net/address.hpp"
#include "net/duplex.hpp"
#include "net/socket_duplex.hpp"

#include <string>
#include <utility>
#include <vector>

namespace coracle::client {

namespace {

class address_connector final : public transport::connector {
 public:
  explicit address_connector(std::string_view target)
      : target_(target), addresses_(net::parse_addresses(target)) {}

  task<result<std::unique_ptr<net::duplex>>> connect(loop&) override {
    if (!addresses_) co_return addresses_.status();
    status last;
    for (const net::address& a : *addresses_) {
      result<std::unique_ptr<net::duplex>> outcome = co_await net::connect_duplex(a);
      if (outcome) co_return std::move(outcome);
      last = outcome.status();
    }
    co_return last;
  }

  [[nodiscard]] std::string authority() const override {
    return addresses_ && addresses_->front().is_unix() ? "localhost" : target_;
  }

 private:
  std::string target_;
  result<std::vector<net::address>> addresses_;
};

}  // namespace

std::shared_ptr<transport::connector> make_address_connector(std::string_view target) {
  return std::make_shared<address_connector>(target);
}

}  // namespace coracle::client
