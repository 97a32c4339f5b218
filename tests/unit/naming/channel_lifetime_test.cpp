// A channel, and its runtime, may end while its source waits for a registry.
#include "coracle/client/channel.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/naming/with_consul.hpp"
#include "coracle/naming/with_etcd.hpp"
#include "coracle/naming/with_file_names.hpp"
#include "coracle/naming/with_kubernetes.hpp"
#include "coracle/net/listener.hpp"
#include "support/every_backend.hpp"

#include <gtest/gtest.h>

#include <string>

namespace coracle::naming::channel_lifetime_test {
namespace {

using namespace std::chrono_literals;

class ChannelOfNames : public testing_support::every_backend {};
INSTANTIATE_TEST_SUITE_P(On, ChannelOfNames, testing_support::all_kinds, ChannelOfNames::case_name);

// Accepts connections, and says nothing.
task<> stay_silent(net::listener& at, std::vector<net::stream>& open) {
  for (;;) {
    result<net::stream> one = co_await at.accept();
    if (!one) co_return;
    open.push_back(*std::move(one));
  }
}

// Those that the caller keeps end with its runtime.
task<bool> make_and_drop_channels(runtime& on, std::vector<channel>& kept) {
  net::listener silent = net::listener::open(net::address::loopback_v4(0)).value();
  const std::string registry = silent.local_address().to_string();
  channel_options options;
  kubernetes_options kubernetes{insecure()};
  kubernetes.api_server = registry;
  kubernetes.token_file.clear();
  with_kubernetes(options, kubernetes);
  with_consul(options, {registry, insecure()});
  with_etcd(options, {registry, insecure()});
  with_file_names(options);
  std::vector<net::stream> open;
  scope work(co_await coro::this_environment());
  work.spawn(stay_silent(silent, open));
  for (const char* target :
       {"kubernetes:///movies.films:grpc", "consul:///movies", "etcd:///movies", "file:/nowhere"}) {
    for (const bool keeps : {false, true}) {
      const channel one(on, target, insecure(), options);
      const generic_stub stub(one);
      const bytes_message request;
      const auto reply = co_await stub.unary("/a.B/C", request, within(300ms));
      EXPECT_FALSE(reply.ok());
      if (keeps) kept.push_back(one);
    }
  }
  EXPECT_GE(open.size(), 6u);
  work.request_stop();
  co_await work.join();
  co_await silent.close();
  co_return true;
}

TEST_P(ChannelOfNames, MayEndWhileItsRegistryIsSilent) {
  std::vector<channel> kept;
  EXPECT_TRUE(run(make_and_drop_channels(rt(), kept)));
  EXPECT_EQ(kept.size(), 4u);
}

}  // namespace
}  // namespace coracle::naming::channel_lifetime_test
