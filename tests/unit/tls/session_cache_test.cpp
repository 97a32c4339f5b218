#include "tls/session_cache.hpp"

#include "coracle/tls/limits.hpp"

#include <gtest/gtest.h>

#include <string>

namespace coracle::tls::session_cache_test {
namespace {

openssl_ptr<SSL_SESSION> session(int version) {
  openssl_ptr<SSL_SESSION> s(SSL_SESSION_new());
  SSL_SESSION_set_protocol_version(s.get(), version);
  return s;
}

TEST(SessionCache, GivesTheNewestOnce) {
  session_cache cache;
  EXPECT_FALSE(cache.take("a"));
  openssl_ptr<SSL_SESSION> older = session(TLS1_3_VERSION);
  openssl_ptr<SSL_SESSION> newer = session(TLS1_3_VERSION);
  const SSL_SESSION* expected[] = {newer.get(), older.get()};
  cache.keep("a", std::move(older));
  cache.keep("a", std::move(newer));
  EXPECT_FALSE(cache.take("b"));
  for (const SSL_SESSION* one : expected) EXPECT_EQ(cache.take("a").get(), one);
  EXPECT_FALSE(cache.take("a"));
}

TEST(SessionCache, GivesSessionsOfTls1Dot2AgainAndAgain) {
  session_cache cache;
  cache.keep("a", session(TLS1_2_VERSION));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(cache.take("a"));
}

TEST(SessionCache, ForgetsTheOldestOfAHostAndHostsBeyondItsLimits) {
  session_cache cache;
  for (std::size_t i = 0; i < limits::sessions_per_host + 3; ++i) cache.keep("a", session(TLS1_3_VERSION));
  for (std::size_t i = 0; i < limits::sessions_per_host; ++i) EXPECT_TRUE(cache.take("a"));
  EXPECT_FALSE(cache.take("a"));

  std::size_t kept = 0;
  const auto host = [](std::size_t i) { return "host" + std::to_string(i); };
  for (std::size_t i = 0; i < limits::session_hosts + 3; ++i) cache.keep(host(i), session(TLS1_2_VERSION));
  for (std::size_t i = 0; i < limits::session_hosts + 3; ++i) kept += cache.take(host(i)) ? 1 : 0;
  EXPECT_EQ(kept, limits::session_hosts);
}

}  // namespace
}  // namespace coracle::tls::session_cache_test
