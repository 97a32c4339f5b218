#include "tools/load/http_url.hpp"

#include "tools/failure.hpp"

#include <gtest/gtest.h>

namespace coracle::tools::load::http_url_test {
namespace {

TEST(HttpUrl, HasItsParts) {
  const http_url plain("http://127.0.0.1:5000/movies?x=1#y");
  EXPECT_EQ(plain.host(), "127.0.0.1");
  EXPECT_EQ(plain.port(), 5000);
  EXPECT_EQ(plain.authority(), "127.0.0.1:5000");
  EXPECT_EQ(plain.path(), "/movies?x=1");
  const http_url shortest("http://example.org");
  EXPECT_EQ(shortest.port(), 80);
  EXPECT_EQ(shortest.path(), "/");
  const http_url v6("http://[::1]:81/a");
  EXPECT_EQ(v6.host(), "::1");
  EXPECT_EQ(v6.port(), 81);
}

TEST(HttpUrl, RefusesWhatIsNone) {
  for (const char* text :
       {"", "localhost:5000", "https://x", "http://", "http:///x", "http://a:b", "http://a:0",
        "http://a:65536", "http://a/b c", "http://u:p@h/", "http://a/\r\nX: y"})
    EXPECT_THROW(http_url{text}, usage_failure) << text;
}

}  // namespace
}  // namespace coracle::tools::load::http_url_test
