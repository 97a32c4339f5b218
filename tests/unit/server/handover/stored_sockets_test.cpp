#include "server/handover/stored_sockets.hpp"

#include "coracle/runtime/runtime.hpp"
#include "net/acceptor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace coracle::server_internal::stored_sockets_test {
namespace {

net::address address_of(const std::string& text) { return net::address::parse(text).value(); }

TEST(StoredSockets, AreNamedByThePathAndTheAddress) {
  EXPECT_EQ(stored_name("/run/movies/handover", address_of("127.0.0.1:50051"), false),
            "coracle|/run/movies/handover|127.0.0.1,50051");
  EXPECT_EQ(stored_name("/run/x", address_of("[::1]:443"), true), "coracle|/run/x|[,,1],443|any");
  EXPECT_EQ(stored_name("/run/x", address_of("unix:/run/movies.sock"), false),
            "coracle|/run/x|unix,/run/movies.sock");
}

// The manager takes no colon, no control character and no byte beyond ASCII.
TEST(StoredSockets, WhatANameMayNotHaveIsEncoded) {
  EXPECT_EQ(stored_name("/a:b", address_of("127.0.0.1:1"), false), "coracle|/a,b|127.0.0.1,1");
  EXPECT_EQ(stored_name("/a,b|%c\n\xC3\xA9", address_of("127.0.0.1:1"), false),
            "coracle|/a%2Cb%7C%25c%0A%C3%A9|127.0.0.1,1");
}

TEST(StoredSockets, WhatAServerHasLeftTheNextOneOfTheProcessFinds) {
  runtime rt;
  loop& on = rt.at(0);
  stored_sockets& sockets = stored_sockets::of_process();
  auto opened = net::acceptor::open(on, net::address::loopback_v4(0));
  ASSERT_TRUE(opened.ok());
  const net::address local = (*opened)->local_address();
  std::string name = stored_name("/one", local, true);
  {
    const auto claim = sockets.add(name, (*opened)->descriptor());
    EXPECT_THAT(sockets.unused("/one"), testing::IsEmpty());
    EXPECT_FALSE(sockets.take(on, local, "/one", false)->acceptor) << "a server listens there";
    (*opened)->set_sharing(net::sharing::shared);
    opened->reset();
  }
  EXPECT_THAT(sockets.unused("/one"), testing::ElementsAre(name));
  EXPECT_THAT(sockets.unused("/on"), testing::IsEmpty());
  EXPECT_FALSE(sockets.take(on, local.with_port(0), "/two", false)->acceptor)
      << "any port is that of one server";
  {
    const auto by_port = sockets.take(on, local, "/two", false);
    ASSERT_TRUE(by_port->acceptor);
    EXPECT_EQ(by_port->acceptor->local_address(), local);
    EXPECT_EQ(*by_port->stored_as, name);
  }
  const auto any = sockets.take(on, local.with_port(0), "/one", false);
  ASSERT_TRUE(any->acceptor);
  EXPECT_EQ(any->acceptor->local_address(), local);
  sockets.remove(name);
  EXPECT_FALSE(sockets.take(on, local, "/one", false)->acceptor);
}

}  // namespace
}  // namespace coracle::server_internal::stored_sockets_test
