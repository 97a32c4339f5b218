#include "protocol/web/byte_range.hpp"

#include <gtest/gtest.h>

namespace coracle::protocol::web::byte_range_test {
namespace {

using kind = range_request::kind;

range_request part(std::uint64_t first, std::uint64_t length) { return {kind::part, {first, length}}; }
const range_request whole{};
const range_request unsatisfiable{kind::unsatisfiable, {}};

TEST(ByteRange, OneRangeIsAPart) {
  EXPECT_EQ(parse_range("bytes=0-499", 1000), part(0, 500));
  EXPECT_EQ(parse_range("bytes=500-999", 1000), part(500, 500));
  EXPECT_EQ(parse_range("bytes=500-", 1000), part(500, 500));
  EXPECT_EQ(parse_range("bytes=-1", 1000), part(999, 1));
  EXPECT_EQ(parse_range("bytes=999-999", 1000), part(999, 1));
  EXPECT_EQ(parse_range("Bytes=0-0", 1), part(0, 1));
}

TEST(ByteRange, EndsWhereTheRepresentationDoes) {
  EXPECT_EQ(parse_range("bytes=990-2000", 1000), part(990, 10));
  EXPECT_EQ(parse_range("bytes=-2000", 1000), part(0, 1000));
  EXPECT_EQ(parse_range("bytes=0-99999999999999999999", 1000), part(0, 1000));
}

TEST(ByteRange, BytesThatDoNotExistCannotBeSent) {
  EXPECT_EQ(parse_range("bytes=1000-", 1000), unsatisfiable);
  EXPECT_EQ(parse_range("bytes=99999999999999999999-", 1000), unsatisfiable);
  EXPECT_EQ(parse_range("bytes=-0", 1000), unsatisfiable);
  EXPECT_EQ(parse_range("bytes=0-", 0), unsatisfiable);
}

TEST(ByteRange, AnythingElseIsIgnored) {
  for (const char* value :
       {"", "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=1-a", "bytes=5-4", "bytes=0-1,3-4",
        "bytes=+1-2", "bytes=1--2", "lines=0-1", "bytes 0-1", "bytes=0x1-2"})
    EXPECT_EQ(parse_range(value, 1000), whole) << value;
}

}  // namespace
}  // namespace coracle::protocol::web::byte_range_test
