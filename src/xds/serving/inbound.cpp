#include "xds/serving/inbound.hpp"

#include "coracle/base/log.hpp"
#include "coracle/server/server_context.hpp"
#include "net/address_range.hpp"
#include "net/duplex.hpp"
#include "runtime/backend.hpp"
#include "runtime/repeated_lines.hpp"
#include "xds/resource/http_filters.hpp"
#include "xds/routing/headers_of_call.hpp"
#include "xds/routing/route_lookup.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

namespace coracle::xds {

// Chains have different credentials if they have different certificates.
std::vector<server_credentials> inbound::all_credentials() const {
  std::vector<server_credentials> all{fallback_};
  if (const auto config = this->config())
    for (const inbound_config::chain& c : config->chains)
      if (c.credentials) all.push_back(c.credentials->get());
  return all;
}

status inbound::reload() {
  status first;
  for (const server_credentials& c : all_credentials()) {
    const status one = c.secure() ? c.security()->reload() : c.failure();
    if (first.ok()) first = one;
  }
  return first;
}

security::certificates_in_use inbound::certificates(loop& on) {
  security::certificates_in_use all;
  for (const server_credentials& c : all_credentials()) {
    if (!c.failure().ok() && all.reload_error.ok()) {
      all.reload_error = c.failure();
      all.reload_failed = on.wall_now();
    }
    if (!c.secure()) continue;
    security::certificates_in_use one = c.security()->certificates(on);
    std::ranges::move(one.certificates, std::back_inserter(all.certificates));
    if (one.trusted > all.trusted) all.trusted = one.trusted;
    if (one.trusted_count > 0 && (all.trusted_count == 0 || one.trusted_not_after < all.trusted_not_after))
      all.trusted_not_after = one.trusted_not_after;
    all.trusted_count += one.trusted_count;
    all.loaded = std::max(all.loaded, one.loaded);
    if (all.reload_error.ok() && !one.reload_error.ok()) {
      all.reload_error = one.reload_error;
      all.reload_failed = one.reload_failed;
    }
  }
  return all;
}

std::unique_ptr<net::duplex> inbound::secure(loop& on, std::unique_ptr<net::duplex> raw) {
  auto config = this->config();
  if (!config) return nullptr;
  net::address local;
  net::address peer;
  raw->read_addresses(local, peer);
  const inbound_listener& of = *config->of->inbound;
  const filter_chain* const found = of.find(net::without_mapping(local), net::without_mapping(peer));
  if (!found) return nullptr;
  const auto index = static_cast<std::size_t>(found - of.chains.data());
  const inbound_config::chain& chain = config->chains[index];
  const server_credentials by = chain.credentials ? chain.credentials->get() : fallback_;
  if (!by.failure().ok()) {
    repeated_lines::write(
        on, log_room::server, log_level::warning, this, "credentials",
        "a connection of " + peer.to_string() + " was closed: " + std::string(by.failure().message()));
    return nullptr;
  }
  auto made = by.secure() ? by.security()->secure(on, std::move(raw)) : std::move(raw);
  if (made) made->mark(std::make_shared<const inbound_mark>(inbound_mark{std::move(config), index}));
  return made;
}

namespace {

// The route of a call, which it keeps. `refusal` is OK if the call is accepted.
struct accepting_route {
  status refusal;
  std::shared_ptr<const route_configuration> of{};
  const virtual_host* host = nullptr;
  const route* found = nullptr;
};

// gRFC A36: routes of a server say whether a call is accepted, and which filters it passes.
accepting_route find_accepting(const server_context& context, const inbound_routes& of_connection) {
  auto routes = of_connection.get();
  if (!routes) return {routes.status()};
  const virtual_host* const host = find_virtual_host(**routes, context.authority());
  if (!host)
    return {
        status::unavailable("the RouteConfiguration of this connection has no virtual host for the call's "
                            ":authority")};
  loop& here = *loop::current();
  const auto draw = [&here](std::uint64_t below) { return here.io().random() % below; };
  const random_below random(draw);
  const headers_of_call headers(context.metadata());
  const route* const found = find_route(*host, {context.method(), headers}, random);
  if (!found) return {status::unavailable("no route of the server's matches the call")};
  if (found->kind != route::action_kind::non_forwarding)
    return {status::unavailable("the call matches a route whose action is not non_forwarding_action")};
  return {{}, *std::move(routes), host, found};
}

}  // namespace

task<status> inbound_router::intercept(server_context& context, next_handler next) {
  if (const std::shared_ptr<const void> kept = context.connection_mark()) {
    const auto& mark = *static_cast<const inbound_mark*>(kept.get());
    const accepting_route by = find_accepting(context, *mark.config->chains[mark.chain].routes);
    if (!by.refusal.ok()) co_return by.refusal;
    const std::array overrides = {&by.found->overrides, &by.host->overrides};
    for (const http_filter& each : mark.config->of->inbound->chains[mark.chain].manager.filters) {
      const filter* const applied = applied_filter(each, overrides);
      if (!applied) continue;
      status outcome = applied->check_call(context);
      if (outcome.ok() && applied->waits_on_servers()) {
        task<status> waiting = applied->admit_call(context);
        outcome = co_await std::move(waiting);
      }
      if (!outcome.ok()) co_return outcome;
    }
  }
  co_return co_await next();
}

}  // namespace coracle::xds
