#include "coracle/xds/xds_server.hpp"

#include "coracle/coro/sleep.hpp"
#include "coracle/server/server.hpp"
#include "xds/bootstrap/bootstrap.hpp"
#include "xds/serving/inbound.hpp"

#include <new>
#include <string>
#include <utility>
#include <vector>

namespace coracle {

namespace {

using xds::bootstrap;

result<std::shared_ptr<const bootstrap>> read_once(const xds_options& mesh) {
  auto read = mesh.bootstrap.empty() ? xds::load_bootstrap() : xds::parse_bootstrap(mesh.bootstrap);
  if (!read) return read.status();
  return std::make_shared<const bootstrap>(*std::move(read));
}

// Begins again when memory has run out.
task<> watch_inbound(std::shared_ptr<const xds::inbound_options> options, std::shared_ptr<xds::inbound> to,
                     std::vector<net::address> addresses, std::weak_ptr<server_internal::server_state> server,
                     std::string name) {
  for (;;) {
    try {
      auto watcher = std::make_shared<xds::inbound_watcher>(options, to, addresses, server, name);
      task<> running = xds::inbound_watcher::run(std::move(watcher));
      co_await std::move(running);
      co_return;
    } catch (const std::bad_alloc&) {
    }
    co_await sleep_for(xds::pause_without_memory);
  }
}

}  // namespace

xds_server::xds_server(server& on, xds_server_options options) : on_(on) {
  auto read = read_once(options.mesh);
  options_ = std::make_shared<const xds::inbound_options>(std::move(options), std::move(read));
  on_.add_interceptor(std::make_shared<xds::inbound_router>());
}

status xds_server::listen(std::string_view address, server_credentials credentials) {
  if (!options_->from) return status::failed_precondition(options_->from.status().message());
  if (const auto unusable = xds::server_listener_name(**options_->from, ""); !unusable)
    return unusable.status();
  if (address.starts_with("unix"))
    return status::invalid_argument("xDS configures listeners of IP addresses only, not " +
                                    std::string(address));
  if (!credentials.failure().ok()) return credentials.failure();
  const auto to = std::make_shared<xds::inbound>(std::move(credentials));
  const std::size_t before = on_.addresses().size();
  const std::shared_ptr<security::server_security> security = to;
  if (status failed = on_.listen(address, security); !failed.ok()) return failed;
  std::vector<net::address> all = on_.addresses();
  all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(before));
  std::string name = *xds::server_listener_name(**options_->from, all.front().to_string());
  on_.owner().spawn_on(on_.owner().at(0),
                       watch_inbound(options_, to, std::move(all), on_.state(), std::move(name)));
  return {};
}

}  // namespace coracle
