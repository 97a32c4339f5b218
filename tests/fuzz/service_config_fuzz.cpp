// Service configs: a text of JSON. A valid one says the same when it is written differently, answers for each
// method, and its policy picks servers that serve, loses them, and gets others, in virtual time.
#include "client/call/method_config.hpp"
#include "client/naming/service_config_data.hpp"
#include "unit/client/balancer_fixture.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

using namespace coracle;
using namespace coracle::client;
using namespace coracle::client::test;

namespace {

void require(bool fine) {
  if (!fine) std::abort();
}

// Calls: each gets a server that is in the list, or why it has none.
task<> make_calls(recording_host& host, const std::vector<endpoint>& list) {
  for (int i = 0; i < 8; ++i) {
    held_call c;
    c.add_metadata("x", i % 2 == 0 ? "1" : "two");
    const pick p = host.policy->choose(pick_info(c));
    require(p.to || p.otherwise);
    if (p.to)
      require(std::ranges::any_of(list,
                                  [&](const endpoint& e) { return e.address() == p.to->where().address(); }));
    if (!p.otherwise) continue;
    if (p.otherwise->then == no_server::action::fail) require(!p.otherwise->reason.ok());
    if (p.otherwise->idle) p.otherwise->idle->connect();
    co_await sleep_for(1s);
  }
}

task<> play(const balancing& by) {
  recording_host host(*loop::current());
  host.seed = 7;
  host.net->serve(1);
  host.net->serve(2, 300ms);
  host.net->refuse(3);
  host.net->vanish(4);
  host.use(by);
  for (const auto& list : {servers({1, 2, 3, 4}), servers({3, 2}), servers({}), servers({1})}) {
    host.update(list);
    host.policy->start();
    co_await make_calls(host, list);
    if (list.empty()) require(host.state() == connectivity::transient_failure);
    for (scripted_server* const s : host.net->of(1)) s->die();
    co_await sleep_for(30s);
    co_await make_calls(host, list);
    // Of each policy, of which a config has 32 at most, and of those that leave.
    require(host.alive.size() <= 32 * 8);
  }
  co_await host.end();
  require(host.alive.empty());
}

void look_at_methods(const service_config_data& d) {
  for (const auto& [name, m] : d.methods) {
    require(name.starts_with('/'));
    if (m.retry) require(m.retry->max_attempts >= 2 && m.retry->initial_backoff > duration::zero());
    if (m.hedging) require(m.hedging->max_attempts >= 2 && !m.retry);
    if (m.timeout) require(*m.timeout >= duration::zero());
  }
  if (d.throttle) require(d.throttle->max_tokens > 0 && d.throttle->ratio_thousandths > 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static sim::world world{1};
  static runtime& host = world.host("host", 1);
  testing::GTEST_FLAG(break_on_failure) = true;
  const std::string_view text(reinterpret_cast<const char*>(data), size);

  constexpr std::size_t size_max = 64 * 1024;  // written differently, it is longer
  if (size > size_max) return 0;
  const auto config = parse_service_config(text);
  if (!config) {
    require(config.status().code() == status_code::invalid_argument && !config.status().message().empty());
    return 0;
  }
  look_at_methods(*config);
  const auto again = parse_service_config(nlohmann::json::parse(text).dump(1));
  require(again.ok() && again->methods.size() == config->methods.size());
  require(again->balance.has_value() == config->balance.has_value());
  if (!config->balance) return 0;
  const policy_config& policy = config->balance->config();
  require(policy.family() == again->balance->config().family() && policy.equals(again->balance->config()));
  sync_wait(host, host.at(0), play(*config->balance));
  return 0;
}
