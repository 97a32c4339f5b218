#include "client/connecting/backoff.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/xds/xds.hpp"
#include "runtime/backend.hpp"
#include "xds/ads/shared_clients.hpp"
#include "xds/bootstrap/bootstrap.hpp"
#include "xds/resolving/route_table.hpp"
#include "xds/resolving/target_client.hpp"

#include <exception>
#include <memory>
#include <optional>
#include <utility>

namespace coracle::xds {

namespace {

result<std::shared_ptr<const bootstrap>> bootstrap_of(const xds_options& options) {
  auto read = options.bootstrap.empty() ? load_bootstrap() : parse_bootstrap(options.bootstrap);
  if (!read) return read.status();
  return std::make_shared<const bootstrap>(*std::move(read));
}

client::channel_routing routing_of(const target_update& from, std::uint64_t channel_id, std::size_t loops) {
  if (!from.seen) return {from.built.policy, std::make_shared<const no_routes>(from.seen.status())};
  return {from.built.policy,
          std::make_shared<const route_table>(*from.seen, from.built.clusters, channel_id, loops)};
}

class resolver_by_xds final : public client::resolver {
 public:
  explicit resolver_by_xds(std::shared_ptr<const xds_options> options) noexcept
      : options_(std::move(options)) {}

  // Joins another client when one has failed.
  task<> run(const client::target& of, client::resolution_sink& to) override {
    auto from = bootstrap_of(*options_);
    if (!from) throw status_error(from.status());
    auto name = client_listener_name(**from, of.authority(), of.endpoint());
    if (!name) throw status_error(name.status());
    client::backoff pauses;
    for (;;) {
      const auto client = shared_clients::join<target_client>(key_of(*from, options_, of.text()), [&] {
        return std::make_shared<target_client>(
            target_client::parameters{*from, options_, of.text(), *name, of.endpoint()});
      });
      task<> following = follow(*client, to);
      co_await std::move(following);
      if (!client->failure()) co_return;  // the runtime stops
      const duration pause = pauses.next(loop::current()->io().random());
      co_await sleep_for(pause);
    }
  }

 private:
  // Until the client ends.
  [[nodiscard]] task<> follow(target_client& from, client::resolution_sink& to) {
    scope both{co_await coro::this_environment()};
    std::exception_ptr failure;
    try {
      both.spawn(pass_requests(to, from));
      task<> publishing = publish(from, to);
      co_await std::move(publishing);
    } catch (...) {
      failure = std::current_exception();
    }
    both.request_stop();
    co_await both.join();
    if (failure) std::rethrow_exception(failure);
  }
  [[nodiscard]] static task<> pass_requests(client::resolution_sink& from, target_client& to) {
    for (;;) {
      co_await from.wait_until_requested();
      to.look_again();
    }
  }
  // A client that takes the place of one that has failed knows nothing yet: until it does, what was published
  // stays.
  [[nodiscard]] task<> publish(target_client& from, client::resolution_sink& to) {
    loop& here = *loop::current();
    bool awaits = has_routes_;
    target_client::latest_update::observer mine(from.latest());
    while (const auto latest = co_await mine.changed()) {
      if (!*latest || (awaits && !(*latest)->seen)) continue;
      awaits = false;
      has_routes_ = (*latest)->seen.ok();
      if (!channel_id_) channel_id_ = here.io().random();
      to.publish(client::resolution().routing(std::make_shared<const client::channel_routing>(
          routing_of(**latest, *channel_id_, here.owner().size()))));
    }
  }

  const std::shared_ptr<const xds_options> options_;
  std::optional<std::uint64_t> channel_id_;
  bool has_routes_ = false;  // in what was published last
};

}  // namespace

}  // namespace coracle::xds

namespace coracle {

client::resolver_maker xds_resolver(xds_options options) {
  auto shared = std::make_shared<const xds_options>(std::move(options));
  return [shared](const client::target&) { return std::make_shared<xds::resolver_by_xds>(shared); };
}

}  // namespace coracle
