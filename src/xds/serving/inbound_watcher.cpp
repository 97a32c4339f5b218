#include "base/if_memory_allows.hpp"
#include "client/connecting/backoff.hpp"
#include "coracle/base/log.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "runtime/backend.hpp"
#include "server/shard.hpp"
#include "xds/security/cluster_credentials.hpp"
#include "xds/serving/inbound.hpp"

#include <algorithm>
#include <utility>

namespace coracle::xds {

namespace {

result<tls::server_options> options_for_chain(const downstream_tls& of, const bootstrap& from) {
  tls::server_options options;
  const auto own = from.certificate_providers.find(of.certificate.instance);
  if (own == from.certificate_providers.end() || own->second.certificate.empty())
    return missing_file(of.certificate, "certificate_file");
  options.certificates = {tls::key_pair::files(own->second.certificate, own->second.private_key)};
  if (!of.authorities) return options;
  const auto of_clients = from.certificate_providers.find(of.authorities->instance);
  if (of_clients == from.certificate_providers.end() || !of_clients->second.has_authorities())
    return missing_file(*of.authorities, "ca_certificate_file");
  options.spiffe_bundle_map = of_clients->second.spiffe_trust_bundles;
  if (!of_clients->second.authorities.empty())
    options.client_cas = {tls::pem_source::file(of_clients->second.authorities)};
  options.clients = of.requires_client_certificate ? tls::client_certificates::required
                                                   : tls::client_certificates::requested;
  return options;
}

bool is_ip_of(const socket_address& text, const net::address& a) {
  const bool is_v6 = text.host.find(':') != text.host.npos;
  const auto parsed =
      net::address::parse((is_v6 ? "[" + text.host + "]" : text.host) + ":" + std::to_string(text.port));
  return parsed.ok() && *parsed == a;
}

}  // namespace

inbound_watcher::inbound_watcher(std::shared_ptr<const inbound_options> options, std::shared_ptr<inbound> to,
                                 std::vector<net::address> addresses,
                                 std::weak_ptr<server_internal::server_state> server, std::string name)
    : here_(*loop::current()),
      options_(std::move(options)),
      to_(std::move(to)),
      addresses_(std::move(addresses)),
      server_(std::move(server)),
      name_(std::move(name)),
      changed_(here_),
      ended_(here_) {}

inbound_watcher::~inbound_watcher() { cancel_all(); }

task<> inbound_watcher::run(std::shared_ptr<inbound_watcher> self) {
  if (const auto server = self->server_.lock())
    if (auto* const s = server->shard_of(self->here_)) {
      s->when_draining([of = std::weak_ptr(self)] {
        if (const auto alive = of.lock()) alive->ended_.set();
      });
    } else {
      co_return;
    }
  else co_return;
  scope both{co_await coro::this_environment()};
  std::exception_ptr failure;
  try {
    both.spawn(self->have_client());
    both.spawn(self->follow());
    co_await self->ended_;
  } catch (const coro::cancelled&) {
    // The runtime stops, and with it both of them.
  } catch (...) {
    failure = std::current_exception();
  }
  both.request_stop();
  try {
    co_await both.join();
  } catch (const coro::cancelled&) {
  }
  if (failure) std::rethrow_exception(failure);
}

// A client that takes the place of one that has failed knows nothing yet: what is in use stays until it does.
void inbound_watcher::watch_all() {
  awaits_listener_ = latest_ && latest_->ok();
  watch_ = client_->driver().watch(resource_kind::listener, name_, [this](const watch_event& e) {
    if (e.what == watch_event::kind::ambient) return;
    if (e.what == watch_event::kind::error && awaits_listener_) return;
    awaits_listener_ = false;
    if (e.what == watch_event::kind::changed)
      latest_ = std::get<std::shared_ptr<const listener>>(*e.resource);
    else latest_ = e.reason;
    changed_.set();
  });
  for (auto& [name, r] : routes_) watch_routes(name, r);
}

void inbound_watcher::watch_routes(const std::string& name, routes_of_name& to) {
  bool awaited = to.known && to.routes->get().ok();
  to.watch = client_->driver().watch(
      resource_kind::route_configuration, name, [this, &to, awaited](const watch_event& e) mutable {
        if (e.what == watch_event::kind::ambient) return;
        if (e.what == watch_event::kind::error && awaited) return;
        awaited = false;
        if (e.what == watch_event::kind::changed)
          to.routes->set(std::get<std::shared_ptr<const route_configuration>>(*e.resource));
        else to.routes->set(e.reason);
        to.known = true;
        changed_.set();
      });
}

void inbound_watcher::cancel_all() {
  for (auto& [name, r] : routes_)
    if (const auto watch = std::exchange(r.watch, std::nullopt)) client_->driver().cancel(*watch);
  if (const auto watch = std::exchange(watch_, std::nullopt)) client_->driver().cancel(*watch);
}

task<> inbound_watcher::have_client() {
  client::backoff pauses;
  for (;;) {
    const bool enough = base::if_memory_allows([&] {
      cancel_all();
      client_ = server_client::join(*options_->from, options_->mesh);
      watch_all();
    });
    if (enough) {
      pauses.reset();
      co_await client_->failed();
    }
    const duration pause = pauses.next(here_.io().random());
    co_await sleep_for(pause);
  }
}

task<> inbound_watcher::follow() {
  scope drains{co_await coro::this_environment()};
  bool applied = true;
  try {
    for (;;) {
      changed_.reset();
      // Without memory, what is in use stays, and the change is tried again.
      const bool before = applied;
      applied = ended_.is_set() || base::if_memory_allows([&] { look(drains); });
      if (!applied && before)
        here_.log()
            .in(log_room::server)
            .warning("xDS: a change is not applied yet: the process is out of memory");
      if (applied) co_await changed_;
      else co_await sleep_for(pause_without_memory);
    }
  } catch (const coro::cancelled&) {
  }
  drains.request_stop();
  co_await drains.join();
}

void inbound_watcher::look(scope& drains) {
  if (!latest_) return;
  if (!*latest_) return use(nullptr, latest_->status(), drains);
  const std::shared_ptr<const listener>& of = **latest_;
  if (status wrong = address_problem(*of->inbound); !wrong.ok())
    return use(nullptr, std::move(wrong), drains);
  // Until all routes are known, what is in use stays.
  if (!has_all_routes(*of->inbound)) return;
  // The same Listener may have other routes, which have changed in their places.
  const auto now = to_->config();
  if (!now || (now->of != of && *now->of != *of)) use(config_of(of), {}, drains);
  std::erase_if(routes_, [this](const auto& entry) {
    if (entry.second.used) return false;
    if (const auto watch = entry.second.watch) client_->driver().cancel(*watch);
    return true;
  });
}

bool inbound_watcher::has_all_routes(const inbound_listener& of) {
  for (auto& [name, r] : routes_) r.used = false;
  bool all = true;
  for (const filter_chain& c : of.chains) {
    const auto* const name = std::get_if<std::string>(&c.manager.routes);
    if (!name) continue;
    routes_of_name& r = routes_[*name];  // stays where it is
    r.used = true;
    if (!r.watch) watch_routes(*name, r);
    all = all && r.known;
  }
  return all;
}

std::shared_ptr<const inbound_config> inbound_watcher::config_of(std::shared_ptr<const listener> of) {
  auto made = std::make_shared<inbound_config>();
  for (const filter_chain& c : of->inbound->chains) {
    inbound_config::chain& chain = made->chains.emplace_back();
    if (const auto* const name = std::get_if<std::string>(&c.manager.routes)) {
      chain.routes = routes_.find(*name)->second.routes;
    } else {
      const auto own = std::make_shared<inbound_routes>();
      own->set(
          std::shared_ptr<const route_configuration>(of, &std::get<route_configuration>(c.manager.routes)));
      chain.routes = own;
    }
    if (c.tls && to_->yields())
      chain.credentials =
          std::make_shared<retried_credentials<tls::server_options, security::server_security>>(
              options_for_chain(*c.tls, **options_->from));
  }
  made->of = std::move(of);
  return made;
}

status inbound_watcher::address_problem(const inbound_listener& of) const {
  if (std::ranges::any_of(addresses_, [&](const net::address& a) { return is_ip_of(of.address, a); }))
    return {};
  return status::unavailable("the Listener of the control plane has the address " + of.address.host + ":" +
                             std::to_string(of.address.port) + ", which is not that of the server");
}

void inbound_watcher::use(std::shared_ptr<const inbound_config> config, status mode, scope& drains) {
  const auto before = to_->config();
  to_->use(std::move(config));
  if (before) {
    end_connections(before, false);
    drains.spawn(end_after_grace(std::weak_ptr(before)));
  }
  if (mode_ && *mode_ == mode) return;
  mode_ = mode;
  const net::address& at = addresses_.front();
  if (options_->of.on_serving_change) return options_->of.on_serving_change(at, mode);
  auto log = here_.log().in(log_room::server);
  if (mode.ok()) log.info("xDS: ", at, " serves");
  else log.warning("xDS: ", at, " does not serve: ", mode.message());
}

// Only connections keep their configuration meanwhile: a control plane may send another one at any rate.
task<> inbound_watcher::end_after_grace(std::weak_ptr<const inbound_config> config) {
  co_await sleep_for(options_->of.drain_grace);
  if (auto of = config.lock()) end_connections(std::move(of), true);
}

void inbound_watcher::end_connections(std::shared_ptr<const inbound_config> of, bool at_once) {
  const auto server = server_.lock();
  if (!server) return;
  const auto has_it = [of = std::move(of)](const void* mark) {
    return static_cast<const inbound_mark*>(mark)->config == of;
  };
  for (std::size_t i = 0; i < server->size(); ++i)
    server->with_shard(i, [has_it, at_once](server_internal::shard* s) {
      if (s) s->end_connections(has_it, at_once);
    });
}

}  // namespace coracle::xds
