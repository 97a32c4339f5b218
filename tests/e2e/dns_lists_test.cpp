// What a channel does with answers of DNS that are empty, fail, or name other servers.
#include "coracle/client/channel.hpp"
#include "support/server_fleet.hpp"

#include <gtest/gtest.h>

#include <string>

namespace coracle::client::dns_lists_test {
namespace {

using namespace std::chrono_literals;

class DnsLists : public testing_support::server_fleet {
 protected:
  void SetUp() override {
    start("one");
    start("two");
    world_.set_name("movies", sim::name_record().address(world_.address_of("one")));
    channel_options options;
    options.resolve_pause = 1s;
    options.balance = balancing::round_robin();
    channel_.emplace(client_, "dns:///movies:50051", insecure(), options);
    ASSERT_EQ(call(*channel_), "one");
  }
  // The server is lost, so that the name is looked up, and comes back.
  void restart_while(const sim::name_record& record) {
    world_.set_name("movies", record);
    stop("one");
    wait(10s);
    start("one");
    wait(3min);  // until the channel has connected again
  }
  std::optional<channel> channel_;
};

TEST_F(DnsLists, ANameWithoutAddressesKeepsTheServers) {
  restart_while(sim::name_record());
  EXPECT_EQ(call(*channel_), "one");
}

TEST_F(DnsLists, ALookupThatFailsKeepsTheServers) {
  restart_while(sim::name_record().failing());
  EXPECT_EQ(call(*channel_), "one");
}

TEST_F(DnsLists, OtherAddressesReplaceTheServersAtOnce) {
  restart_while(sim::name_record().address(world_.address_of("two")));
  EXPECT_EQ(calls(*channel_, 4), (std::map<std::string, int>{{"two", 4}}));
}

}  // namespace
}  // namespace coracle::client::dns_lists_test
