// The code of docs/guides/handover.md.
#include "movie.coracle.hpp"

#include "coracle/net/address.hpp"
#include "coracle/server.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <string>

namespace handover_page {
namespace {

using namespace std::chrono_literals;

class movies final : public movie::rpc::MovieService::service {};  // its handlers are not shown

// --8<-- [start:serve]
int serve(const std::string& where) {
  coracle::server_options options;
  options.handover = coracle::handover_options("/run/movies/handover");
  movies service;
  return coracle::serve(where, coracle::insecure(), options, service);
}
// --8<-- [end:serve]

// --8<-- [start:times]
coracle::server_options with_times() {
  coracle::server_options options;
  coracle::handover_options handover("/run/movies/handover");
  handover.goaway_time = 30s;  // for many clients, whose handshakes cost the new process time
  handover.start_time = 5min;  // a program that loads much before it serves
  options.handover = handover;
  options.drain_grace = 10min;  // for streams, which the old process serves to their ends
  return options;
}
// --8<-- [end:times]

// --8<-- [start:replaced]
class registered final : public movie::rpc::MovieService::service {
 public:
  explicit registered(const coracle::net::address& at) : address(at) {}
  void leaving() noexcept override { remove_from_registry(); }
  // The new process has registered itself at the same address, unless it does not serve there any more.
  void replaced(std::span<const coracle::net::address> given_up) noexcept override {
    if (std::ranges::find(given_up, address) != given_up.end()) remove_from_registry();
  }
  // The new process has failed, and may have replaced or removed the entry.
  void resumed() noexcept override { add_to_registry(); }
  // --8<-- [end:replaced]
  void remove_from_registry() noexcept { entered = false; }
  void add_to_registry() noexcept { entered = true; }
  coracle::net::address address;
  bool entered = true;
};

TEST(GuideToHandover, AMissingFolderIsAnError) {
  EXPECT_EQ(serve("127.0.0.1:0"), 1) << "/run/movies exists only where the service is installed";
}

TEST(GuideToHandover, TheOptionsAreThoseOfTheServer) {
  const coracle::server_options options = with_times();
  ASSERT_TRUE(options.handover);
  EXPECT_EQ(options.handover->path, "/run/movies/handover");
}

TEST(GuideToHandover, ARegistrationIsRemovedWhereNobodyServesAnyMore) {
  const coracle::net::address own = coracle::net::address::loopback_v4(50051);
  const coracle::net::address other = coracle::net::address::loopback_v4(50052);
  registered service(own);
  service.replaced(std::span(&other, 1));
  EXPECT_TRUE(service.entered);
  service.replaced(std::span(&own, 1));
  EXPECT_FALSE(service.entered);
  service.resumed();
  EXPECT_TRUE(service.entered);
  service.leaving();
  EXPECT_FALSE(service.entered);
}

}  // namespace
}  // namespace handover_page
