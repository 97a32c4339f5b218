// What a channel adopts from the results of its resolver.
#include "client/channel_state.hpp"

#include "client/connecting/dialer.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/security/insecure.hpp"
#include "support/kept_log.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace coracle::client::channel_state_test {
namespace {

TEST(ChannelState, KeepsSoManyServersOfAnAnswerAndSaysSo) {
  auto log = std::make_shared<testing_support::kept_log>();
  sim::world world(1, sim::world_options{.log = log.get()});
  runtime& host = world.host("host", 1);
  destination to;
  to.name = "many";
  to.by = std::make_shared<manual_resolver>(resolution());
  const auto state = std::make_shared<channel_state>(host, std::move(to), make_address_dialer(), insecure(),
                                                     channel_options());
  resolution found;
  for (std::size_t i = 0; i < resolution::endpoints_max; ++i)
    found.add(net::address::loopback_v4(static_cast<std::uint16_t>(i + 1)));
  state->publish(found);
  EXPECT_EQ(state->latest()->servers.size(), resolution::endpoints_max);
  EXPECT_EQ(log->text(), "");
  state->publish(found.add(net::address::loopback_v4(50'000)));
  EXPECT_EQ(state->latest()->servers.size(), resolution::endpoints_max);
  EXPECT_EQ(state->latest()->servers.back().address().port(), resolution::endpoints_max);
  EXPECT_NE(log->text().find("many: the resolver returned "), std::string::npos) << log->text();
  state->close();
}

}  // namespace
}  // namespace coracle::client::channel_state_test
