#include "xds/resolving/target_client.hpp"

#include "client/balancing/policy_config.hpp"
#include "coracle/base/log.hpp"
#include "coracle/base/version.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/scope.hpp"
#include "runtime/backend.hpp"
#include "xds/ads/ads_driver.hpp"
#include "xds/filters/filter.hpp"
#include "xds/limits.hpp"
#include "xds/load/lrs_client.hpp"
#include "xds/resolving/host_lookups.hpp"
#include "xds/resolving/program_policies.hpp"
#include "xds/security/plane_channels.hpp"
#include "xds/status/client_registry.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace coracle::xds {

// What lives on the loop of run().
class target_client::parts {
 public:
  explicit parts(target_client& of)
      : of_(of),
        here_(*loop::current()),
        changed_(here_),
        planes_(here_.owner(), *of.of_.options),
        policies_(of.of_.options->policies),
        driver_(
            of.of_.from,
            {user_agent_name, version_text,
             [&here = here_] { return static_cast<double>(here.io().random() >> 11) * 0x1.0p-53; },
             [this](std::string_view name, std::string_view config) { return policies_.check(name, config); },
             false, std::make_shared<const filter_types>(of.of_.options->filters), of.of_.target},
            [this](const management_server& server) { return planes_.to(server); }),
        lrs_(of.of_.from, user_agent_name, version_text,
             [this](const management_server& server) { return planes_.to(server); }),
        tree_(
            of.of_.from,
            [this](const std::string& cluster, const std::string& service) {
              const auto from_server = driver_.client().server_of_cluster(cluster);
              return from_server ? lrs_.load_of(driver_.client().server(*from_server), cluster, service)
                                 : nullptr;
            },
            policies_),
        hosts_(changed_),
        watcher_(driver_, hosts_, of.of_.listener_name, of.of_.authority, changed_) {}

  [[nodiscard]] task<> run() {
    scope all{co_await coro::this_environment()};
    std::exception_ptr failure;
    try {
      all.spawn(driver_.run());
      all.spawn(lrs_.run());
      all.spawn(publish());
      all.spawn(hosts_.run());
      all.spawn(look_again());
    } catch (...) {
      failure = std::current_exception();
      all.request_stop();
    }
    co_await all.join();
    if (failure) std::rethrow_exception(failure);
  }

 private:
  static constexpr const char* user_agent_name = "coracle";

  [[nodiscard]] task<> publish() {
    for (;;) {
      changed_.reset();
      if (auto seen = watcher_.look()) publish(*std::move(seen));
      co_await changed_;
    }
  }
  [[nodiscard]] task<> look_again() {
    for (;;) {
      co_await of_.look_again_;
      of_.look_again_.reset();
      hosts_.look_again();
    }
  }
  void publish(result<target_state> seen) {
    std::string problems;
    std::size_t found = 0;
    const auto add = [&](std::string_view text) {
      if (text.empty() || ++found > limits::problems_logged_max) return;
      problems.append(problems.empty() ? "" : "; ").append(text);
    };
    policy_tree::built built =
        seen ? tree_.build(*seen) : policy_tree::built{policy_tree::failing_with(seen.status()), {}};
    if (seen) {
      for (const target_cluster& c : seen->clusters) {
        add(c.problem.message());
        for (const leaf_cluster& l : c.leaves) add(l.problem.message());
      }
    } else {
      add(seen.status().message());
    }
    for (const std::string_view text : watcher_.ambient_problems()) add(text);
    if (found > limits::problems_logged_max)
      problems.append("; and ").append(std::to_string(found - limits::problems_logged_max)).append(" others");
    report(problems);
    latest_ = std::make_shared<const target_update>(target_update{std::move(seen), std::move(built)});
    of_.latest_.set(latest_);
  }
  // A line for each change.
  void report(const std::string& problems) {
    if (problems == problems_) return;
    auto log = here_.log().in(log_room::client);
    if (problems.empty()) log.info(of_.of_.target, ": its control plane's configuration is complete again");
    else log.warning(of_.of_.target, ": ", problems);
    problems_ = problems;
  }

  target_client& of_;
  loop& here_;
  event<> changed_;
  plane_channels planes_;
  program_policies policies_;
  ads_driver driver_;
  lrs_client lrs_;
  std::shared_ptr<const target_update> latest_;
  const client_registry::membership shown_{
      of_.of_.target, driver_.client(),
      [this] { return latest_ ? std::optional(latest_->built.policy.config().outline()) : std::nullopt; }};
  policy_tree tree_;
  host_lookups hosts_;
  target_watcher watcher_;
  std::string problems_;
};

task<> target_client::run() {
  parts all(*this);
  task<> running = all.run();
  co_await std::move(running);
}

}  // namespace coracle::xds
