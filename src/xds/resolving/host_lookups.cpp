#include "xds/resolving/host_lookups.hpp"

#include "client/connecting/backoff.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/stop_on.hpp"
#include "coracle/runtime/loop.hpp"
#include "runtime/backend.hpp"
#include "xds/ads/wait_until.hpp"

#include <utility>

namespace coracle::xds {

std::optional<result<host_lookups::addresses>> host_lookups::find(const socket_address& of) {
  std::shared_ptr<lookup>& known = lookups_[of];
  if (!known) {
    known = std::make_shared<lookup>(of);
    added_.set();
  }
  known->used = true;
  return known->latest;
}

void host_lookups::end_unused() {
  std::erase_if(lookups_, [](const auto& entry) {
    lookup& l = *entry.second;
    if (std::exchange(l.used, false)) return false;
    l.stop.request_stop();
    l.due.set();
    return true;
  });
}

void host_lookups::look_again() {
  for (const auto& [name, l] : lookups_) l->due.set();
}

task<> host_lookups::run() {
  scope all{co_await coro::this_environment()};
  all.spawn(begin_all(all));
  co_await all.join();
}

task<> host_lookups::begin_all(scope& all) {
  for (;;) {
    added_.reset();
    for (const auto& [name, l] : lookups_)
      if (!std::exchange(l->begun, true)) all.spawn(follow(l));
    co_await added_;
  }
}

task<> host_lookups::follow(std::shared_ptr<lookup> l) {
  client::backoff pauses;
  while (!l->ended()) {
    l->due.reset();
    std::string host = l->of.host;
    task<result<addresses>> asking = names_.resolve(std::move(host), l->of.port);
    stop_on limited(l->stop.token(), std::move(asking));
    auto found = co_await limited;
    if (l->ended()) co_return;
    const bool is_found = found.ok();
    if (is_found || !l->latest || !l->latest->ok()) {
      l->latest = std::move(found);
      changed_.set();
    }
    time_point next = never;  // on request alone
    loop& here = *loop::current();
    if (is_found) pauses.reset();
    else next = deadline_after(here.now(), pauses.next(here.io().random()));
    co_await wait_until(l->due, next);
  }
}

}  // namespace coracle::xds
