#include "services/content_types.hpp"

#include <gtest/gtest.h>

namespace coracle::services::content_types_test {
namespace {

TEST(ContentTypes, FollowFromTheEndOfTheName) {
  EXPECT_EQ(content_type_of("index.html").value, "text/html; charset=utf-8");
  EXPECT_EQ(content_type_of("a/b.min.JS").value, "text/javascript; charset=utf-8");
  EXPECT_EQ(content_type_of("a.woff2").value, "font/woff2");
  for (const char* name : {"", "html", "a.", "a.unknown", "a.html.bak"})
    EXPECT_EQ(content_type_of(name).value, "application/octet-stream") << name;
}

TEST(ContentTypes, OnlyTextIsWorthCompressing) {
  for (const char* name : {"a.html", "a.css", "a.svg", "a.wasm", "a.json"})
    EXPECT_TRUE(content_type_of(name).compressible) << name;
  for (const char* name : {"a.png", "a.gz", "a.mp4", "a.unknown"})
    EXPECT_FALSE(content_type_of(name).compressible) << name;
}

}  // namespace
}  // namespace coracle::services::content_types_test
