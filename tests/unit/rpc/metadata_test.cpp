#include "coracle/rpc/metadata.hpp"

#include "protocol/grpc/wire_metadata.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace coracle::metadata_test {
namespace {

TEST(Metadata, TakesWhatTheProtocolAllows) {
  metadata m;
  EXPECT_TRUE(m.add("x-user_1.a", "printable ~ text"));
  EXPECT_TRUE(m.add("x-blob-bin", std::string("\0\xff\n", 3)));
  EXPECT_TRUE(m.add("x-empty", ""));
  EXPECT_EQ(m.size(), 3u);
}

TEST(Metadata, RefusesKeysAndValuesThatBreakTheRules) {
  metadata m;
  for (const std::string_view key : {"", "Upper", "sp ace", ":path", "grpc-status", "grpc-timeout",
                                     "content-type", "te", "connection", "host", "user-agent", "k\xc3\xbc"}) {
    EXPECT_FALSE(m.add(key, "v")) << key;
  }
  EXPECT_FALSE(m.add("x-line", "a\nb"));
  EXPECT_FALSE(m.add("x-high", "\x80"));
  EXPECT_TRUE(m.empty());
}

TEST(Metadata, DropsBlanksAroundAsciiValues) {
  metadata m;
  ASSERT_TRUE(m.add("x-key", "  value "));
  EXPECT_EQ(m.find("x-key"), "value");
}

TEST(Metadata, KeepsTheOrderUnderOneKey) {
  metadata m;
  m.add("x-a", "1");
  m.add("x-b", "2");
  m.add("x-a", "3");
  EXPECT_EQ(m.find_all("x-a"), (std::vector<std::string_view>{"1", "3"}));
  EXPECT_EQ(m.find("x-none"), std::nullopt);
}

TEST(Metadata, IsIteratedByKeyAndValue) {
  metadata m;
  m.add("x-a", "1");
  m.add("x-b", "2");
  std::string all;
  for (auto& [key, value] : m) all.append(key).append("=").append(value).append(";");
  for (const auto& [key, value] : std::as_const(m)) all.append(key).append("=").append(value).append(";");
  EXPECT_EQ(all, "x-a=1;x-b=2;x-a=1;x-b=2;");
}

bool read_into(metadata& to, std::string_view name, std::string_view value) {
  return protocol::grpc::read_wire_field(
      name, value, [&](std::string_view key, std::string_view one) { to.add_received(key, one); });
}

TEST(WireMetadata, CarriesBinaryValuesAsBase64) {
  metadata m;
  m.add("x-blob-bin", std::string("\0\xff", 2));
  m.add("x-text", "plain");
  std::vector<std::pair<std::string, std::string>> fields;
  protocol::grpc::for_each_wire_field(
      m, [&](std::string_view name, std::string_view value) { fields.emplace_back(name, value); });
  EXPECT_EQ(fields,
            (std::vector<std::pair<std::string, std::string>>{{"x-blob-bin", "AP8"}, {"x-text", "plain"}}));
}

TEST(WireMetadata, SplitsBinaryValuesThatAProxyJoined) {
  metadata m;
  ASSERT_TRUE(read_into(m, "x-blob-bin", "AP8, Zg==,"));
  EXPECT_EQ(m.find_all("x-blob-bin"),
            (std::vector<std::string_view>{std::string_view("\0\xff", 2), "f", ""}));
  EXPECT_FALSE(read_into(m, "x-blob-bin", "no base64!"));
}

// Each comma creates a value, and each value a copy of the name.
TEST(WireMetadata, CommasDoNotMultiplyALongName) {
  metadata m;
  std::string name(8000, 'n');
  name.append("-bin");
  EXPECT_FALSE(read_into(m, name, std::string(8000, ',')));
  EXPECT_LT(m.size(), 20u);
}

}  // namespace
}  // namespace coracle::metadata_test
