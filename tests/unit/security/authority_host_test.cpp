// The host of an authority, with which certificates are compared.
#include "security/authority_host.hpp"

#include <gtest/gtest.h>

namespace coracle::security::authority_host_test {
namespace {

TEST(AuthorityHost, IsWhatStandsBeforeThePort) {
  for (const char* fine : {"movies.example", "movies.example:443", "movies.example:", "10.0.0.1:80", "::1",
                           "[::1]", "[::1]:443"})
    EXPECT_TRUE(is_host_with_port(fine)) << fine;
  EXPECT_EQ(host_of("movies.example:443"), "movies.example");
  EXPECT_EQ(host_of("[::1]:443"), "::1");
}

// Servers may route by all of the text.
TEST(AuthorityHost, IsFollowedByNothingElse) {
  for (const char* odd : {"[movies.example].evil.com", "[movies.example]", "[::1]x", "[::1", "[::1]:4x",
                          "movies.example:443.evil.com", "movies.example:http"})
    EXPECT_FALSE(is_host_with_port(odd)) << odd;
}

}  // namespace
}  // namespace coracle::security::authority_host_test
