#include "client/dns_resolver.hpp"

#include "coracle/net/resolver.hpp"

#include <utility>

namespace coracle::client {

namespace {

class dns_resolver final : public resolver {
 public:
  dns_resolver(std::string host, std::uint16_t port) : host_(std::move(host)), port_(port) {}

  task<> run(const target&, resolution_sink& to) override {
    net::resolver names;
    while (true) {
      result<std::vector<net::address>> found = co_await names.resolve(host_, port_);
      if (found) {
        resolution found_addresses;
        for (net::address& a : *found) found_addresses.add(std::move(a));
        to.publish(std::move(found_addresses));
      } else {
        to.fail(found.status());
      }
      co_await to.wait_until_requested();
    }
  }

 private:
  std::string host_;
  std::uint16_t port_;
};

}  // namespace

std::shared_ptr<resolver> make_dns_resolver(std::string host, std::uint16_t port) {
  return std::make_shared<dns_resolver>(std::move(host), port);
}

}  // namespace coracle::client
