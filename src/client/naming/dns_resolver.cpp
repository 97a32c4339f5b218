#include "client/naming/dns_resolver.hpp"

#include "client/naming/dns_config.hpp"
#include "coracle/base/log.hpp"
#include "coracle/coro/when_all.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "coracle/net/resolver.hpp"
#include "coracle/runtime/loop.hpp"
#include "net/host_name.hpp"
#include "runtime/backend.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace coracle::client {

namespace {

// Of the lookup of a service config: a name server that is silent about it must not delay the servers for
// long.
constexpr duration config_timeout = std::chrono::seconds(5);

class dns_resolver final : public resolver {
 public:
  explicit dns_resolver(dns_name of) : of_(std::move(of)) {}

  task<> run(const target&, resolution_sink& to) override {
    net::resolver names(of_.name_servers);
    percent_ = static_cast<unsigned>(loop::current()->io().random() % 100);
    while (true) {
      auto [servers, unused] = co_await when_all(find_servers(names), find_config(names));
      if (servers.ok()) {
        resolution found = *std::move(servers);
        found.service_config(config_);
        to.publish(std::move(found));
      } else {
        to.fail(servers.status());
      }
      co_await to.wait_until_requested();
    }
  }

 private:
  task<result<resolution>> find_servers(net::resolver& names) {
    resolution found;
    if (of_.service.empty()) {
      result<std::vector<net::address>> addresses = co_await names.resolve(of_.host, of_.port);
      if (!addresses.ok()) co_return addresses.status();
      for (net::address& a : *addresses) found.add(std::move(a));
      co_return found;
    }
    result<std::vector<net::service_record>> records = co_await names.services(of_.service);
    if (!records.ok()) co_return records.status();
    std::erase_if(*records, [](const net::service_record& r) { return r.host.empty() || r.port == 0; });
    if (records->empty()) co_return status::not_found(of_.service + ": there is no such service");
    std::ranges::sort(*records, {}, &net::service_record::priority);
    status failed;
    // RFC 2782: the first priority of which a host can be reached; here, resolved.
    for (std::size_t i = 0; i < records->size() && found.endpoints().empty();) {
      const std::uint16_t priority = (*records)[i].priority;
      std::vector<task<result<std::vector<net::address>>>> lookups;
      const std::size_t first = i;
      for (; i < records->size() && (*records)[i].priority == priority; ++i)
        lookups.push_back(names.resolve((*records)[i].host, (*records)[i].port));
      std::vector<result<std::vector<net::address>>> hosts = co_await when_all(std::move(lookups));
      for (std::size_t n = 0; n < hosts.size(); ++n) {
        // A lookup that fails says nothing of the host: the channel keeps its addresses.
        if (!hosts[n].ok() && hosts[n].status().code() != status_code::not_found) co_return hosts[n].status();
        if (!hosts[n].ok()) failed = hosts[n].status();
        else
          for (net::address& a : *hosts[n])
            found.add(std::move(a), std::max<std::uint32_t>((*records)[first + n].weight, 1));
      }
    }
    if (found.endpoints().empty()) co_return failed;
    co_return found;
  }

  // A lookup that fails changes nothing, so that a policy does not come and go with the name server.
  task<bool> find_config(net::resolver& names) {
    if (!of_.reads_service_config) co_return false;
    const std::string name = "_grpc_config." + of_.host;
    const result<std::vector<std::string>> texts = co_await with_timeout(config_timeout, names.texts(name));
    if (!texts.ok()) {
      if (texts.status().code() == status_code::not_found) config_.clear();
      co_return false;
    }
    const std::string own_name = net::own_host_name();
    const result<std::string> chosen = choose_dns_config(*texts, own_name, percent_);
    if (chosen.ok()) {
      config_ = *chosen;
      co_return true;
    }
    // gRFC A21: the channel keeps the last good config, or fails its calls if there was none.
    loop::current()->log().in(log_room::client).warning(name, ": ", chosen.status().message());
    config_ = "invalid: the TXT record of " + name;
    co_return false;
  }

  const dns_name of_;
  unsigned percent_ = 0;  // drawn once, so that the choice stays
  std::string config_;
};

}  // namespace

std::shared_ptr<resolver> make_dns_resolver(dns_name of) {
  return std::make_shared<dns_resolver>(std::move(of));
}

}  // namespace coracle::client
