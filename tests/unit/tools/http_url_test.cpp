#include "tools/load/http_url.hpp"

#include "tools/failure.hpp"

#include <gtest/gtest.h>

namespace coracle::tools::load::http_url_test {
namespace {

TEST(HttpUrl, HasItsParts) {
  const http_url plain("http://127.0.0.1:5000/movies/1");
  EXPECT_EQ(plain.origin(), "http://127.0.0.1:5000");
  EXPECT_EQ(plain.path(), "/movies/1");
  EXPECT_FALSE(plain.secure());
  const http_url shortest("https://example.org");
  EXPECT_EQ(shortest.origin(), "https://example.org");
  EXPECT_EQ(shortest.path(), "/");
  EXPECT_TRUE(shortest.secure());
  EXPECT_EQ(http_url("http://[::1]:81/a").origin(), "http://[::1]:81");
  const http_url asking("http://h/a?x=1&y");
  EXPECT_EQ(asking.path(), "/a");
  EXPECT_EQ(asking.query(), "x=1&y");
}

TEST(HttpUrl, RefusesWhatIsNone) {
  for (const char* text : {"", "localhost:5000", "ftp://x", "http://", "http:///x", "http://u:p@h/",
                           "http://h/a#y", "http://h/{id}", "http://h/*"})
    EXPECT_THROW(http_url{text}, usage_failure) << text;
}

}  // namespace
}  // namespace coracle::tools::load::http_url_test
