#include "client/balancing/policy_config.hpp"
#include "coracle/base/version.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/xds/xds.hpp"
#include "runtime/backend.hpp"
#include "xds/ads/ads_driver.hpp"
#include "xds/bootstrap/bootstrap.hpp"
#include "xds/filters/filter.hpp"
#include "xds/load/lrs_client.hpp"
#include "xds/resolving/policy_tree.hpp"
#include "xds/resolving/route_table.hpp"
#include "xds/resolving/target_watcher.hpp"
#include "xds/security/plane_channels.hpp"
#include "xds/status/client_registry.hpp"

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace coracle::xds {

namespace {

result<std::shared_ptr<const bootstrap>> bootstrap_of(const xds_options& options) {
  auto read = options.bootstrap.empty() ? load_bootstrap() : parse_bootstrap(options.bootstrap);
  if (!read) return read.status();
  return std::make_shared<const bootstrap>(*std::move(read));
}

// What a channel has as long as it resolves.
class resolving {
 public:
  resolving(loop& here, const client::target& of, std::shared_ptr<const bootstrap> from,
            const std::string& listener_name, const xds_options& options, client::resolution_sink& to)
      : here_(here),
        target_(of.text()),
        to_(to),
        channel_id_(here.io().random()),
        changed_(here),
        bootstrap_(std::move(from)),
        planes_(here.owner(), options),
        policies_(options.policies),
        driver_(
            bootstrap_,
            {user_agent_name, version_text,
             [&here] { return static_cast<double>(here.io().random() >> 11) * 0x1.0p-53; },
             [this](std::string_view name, std::string_view config) { return policies_.check(name, config); },
             false, std::make_shared<const filter_types>(options.filters), target_},
            [this](const management_server& server) { return planes_.to(server); }),
        lrs_(bootstrap_, user_agent_name, version_text,
             [this](const management_server& server) { return planes_.to(server); }),
        tree_(
            bootstrap_,
            [this](const std::string& cluster, const std::string& service) {
              const auto from_server = driver_.client().server_of_cluster(cluster);
              return from_server ? lrs_.load_of(driver_.client().server(*from_server), cluster, service)
                                 : nullptr;
            },
            policies_),
        hosts_(changed_),
        watcher_(driver_, hosts_, listener_name, of.endpoint(), changed_) {}

  [[nodiscard]] task<> run() {
    scope parts{co_await coro::this_environment()};
    std::exception_ptr failure;
    try {
      parts.spawn(driver_.run());
      parts.spawn(lrs_.run());
      parts.spawn(publish());
      parts.spawn(hosts_.run());
      parts.spawn(look_again());
    } catch (...) {
      failure = std::current_exception();
      parts.request_stop();
    }
    co_await parts.join();
    if (failure) std::rethrow_exception(failure);
  }

 private:
  static constexpr const char* user_agent_name = "coracle";

  [[nodiscard]] task<> publish() {
    for (;;) {
      changed_.reset();
      if (auto seen = watcher_.look()) publish(*seen);
      co_await changed_;
    }
  }
  // When a server is lost that may have another address now.
  [[nodiscard]] task<> look_again() {
    for (;;) {
      co_await to_.wait_until_requested();
      hosts_.look_again();
    }
  }
  void publish(const result<target_state>& seen) {
    std::string problems;
    const auto add = [&problems](std::string_view text) {
      if (!text.empty()) problems.append(problems.empty() ? "" : "; ").append(text);
    };
    std::shared_ptr<client::channel_routing> made;
    if (seen) {
      policy_tree::built built = tree_.build(*seen);
      auto router = std::make_shared<const route_table>(*seen, std::move(built.clusters), channel_id_,
                                                        here_.owner().size());
      made = std::make_shared<client::channel_routing>(
          client::channel_routing{std::move(built.policy), std::move(router)});
      for (const target_cluster& c : seen->clusters) {
        add(c.problem.message());
        for (const leaf_cluster& l : c.leaves) add(l.problem.message());
      }
    } else {
      made = std::make_shared<client::channel_routing>(client::channel_routing{
          policy_tree::failing_with(seen.status()), std::make_shared<const no_routes>(seen.status())});
      add(seen.status().message());
    }
    add(watcher_.ambient_problems());
    report(problems);
    published_ = made->policy;
    to_.publish(client::resolution().routing(std::move(made)));
  }
  // A line for each change.
  void report(const std::string& problems) {
    if (problems == problems_) return;
    auto log = here_.log().in(log_room::client);
    if (problems.empty()) log.info(target_, ": its control plane's configuration is complete again");
    else log.warning(target_, ": ", problems);
    problems_ = problems;
  }

  loop& here_;
  const std::string target_;
  client::resolution_sink& to_;
  const std::uint64_t channel_id_;
  event<> changed_;
  const std::shared_ptr<const bootstrap> bootstrap_;
  plane_channels planes_;
  program_policies policies_;
  ads_driver driver_;
  lrs_client lrs_;
  std::optional<balancing> published_;
  const client_registry::membership shown_{
      target_, driver_.client(),
      [this] { return published_ ? std::optional(published_->config().outline()) : std::nullopt; }};
  policy_tree tree_;
  host_lookups hosts_;
  target_watcher watcher_;
  std::string problems_;
};

class resolver_by_xds final : public client::resolver {
 public:
  explicit resolver_by_xds(std::shared_ptr<const xds_options> options) noexcept
      : options_(std::move(options)) {}

  task<> run(const client::target& of, client::resolution_sink& to) override {
    auto from = bootstrap_of(*options_);
    if (!from) throw status_error(from.status());
    auto name = client_listener_name(**from, of.authority(), of.endpoint());
    if (!name) throw status_error(name.status());
    resolving all(*loop::current(), of, *std::move(from), *name, *options_, to);
    co_await all.run();
  }

 private:
  std::shared_ptr<const xds_options> options_;
};

}  // namespace

}  // namespace coracle::xds

namespace coracle {

client::resolver_maker xds_resolver(xds_options options) {
  auto shared = std::make_shared<const xds_options>(std::move(options));
  return [shared](const client::target&) { return std::make_shared<xds::resolver_by_xds>(shared); };
}

}  // namespace coracle
