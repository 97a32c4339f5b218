#include "rpc/message_format.hpp"

#include "coracle/rpc/bytes_message.hpp"
#include "support/manual_executor.hpp"

#include <google/protobuf/wrappers.pb.h>

#include <gtest/gtest.h>

namespace coracle::rpc::message_format_test {
namespace {

using google::protobuf::StringValue;

StringValue value(std::string text) {
  StringValue v;
  v.set_value(std::move(text));
  return v;
}

class format : public testing::Test {
 protected:
  status write(const codec& k, const void* message) {
    body_.clear();
    return format_.write(k, message, body_);
  }
  test::manual_executor here_;  // whose buffers messages pass through
  message_format format_;
  std::string body_;
};

TEST_F(format, LeavesMessagesAloneUnlessItIsToldOtherwise) {
  EXPECT_TRUE(format_.writes_as_is(protobuf_codec));
  EXPECT_TRUE(format_.reads_as_is(protobuf_codec));
  format_.set_send_encoding(encoding::gzip);
  EXPECT_FALSE(format_.writes_as_is(protobuf_codec));
  EXPECT_TRUE(format_.reads_as_is(protobuf_codec)) << "the other direction has an encoding of its own";
  format_.set_send_encoding(encoding::identity);
  EXPECT_TRUE(format_.writes_as_is(protobuf_codec));
}

TEST_F(format, HasNoOtherFormForBytesAndForLiteMessages) {
  format_.use(&json_codec());
  StringValue v = value("x");
  ASSERT_EQ(write(protobuf_codec, codec_of<StringValue>::address(v)), status());
  EXPECT_EQ(body_, "\"x\"");
  EXPECT_EQ(write(protobuf_lite_codec, codec_of<StringValue>::address(v)).code(), status_code::internal);
  std::size_t cost = 0;
  EXPECT_EQ(format_.read(protobuf_lite_codec, codec_of<StringValue>::address(v), {}, 1000, cost).code(),
            status_code::internal);
  const bytes_message bytes("any");
  EXPECT_TRUE(format_.reads_as_is(bytes_codec));
  ASSERT_EQ(write(bytes_codec, &bytes), status());
  EXPECT_EQ(body_, "any");
}

TEST_F(format, PacksWhatIsLargeEnoughAndGetsSmaller) {
  format_.set_send_encoding(compression(encoding::gzip).min_bytes(100));
  format_.set_receive_encoding(encoding::gzip);
  EXPECT_FALSE(format_.compress(as_bytes(std::string(99, 'x'))).compressed);
  const std::string text(100, 'x');
  const protocol::grpc::framed_message packed = format_.compress(as_bytes(text));
  ASSERT_TRUE(packed.compressed);
  EXPECT_LT(packed.body.size(), text.size());
}

TEST_F(format, RefusesToSendWhatIsLargerThanItsLimit) {
  format_.set_max_send_bytes(5);
  const bytes_message five("12345");
  EXPECT_EQ(write(bytes_codec, &five), status());
  const bytes_message six("123456");
  EXPECT_EQ(write(bytes_codec, &six).code(), status_code::resource_exhausted);
  format_.use(&json_codec());
  const StringValue v = value("1234");  // six with its quotes
  EXPECT_EQ(write(protobuf_codec, codec_of<StringValue>::address(v)).code(), status_code::resource_exhausted);
}

// protobuf counts the written bytes in an int: a message of 2 GiB would be sent without its contents.
TEST_F(format, SendsNoMessageThatProtobufCannotWriteWhateverItsLimit) {
  constexpr std::size_t two_gib = std::size_t{1} << 31;
  const codec huge{message_kind::protobuf, [](const void*) { return two_gib; },
                   [](const void*, std::uint8_t*) { FAIL() << "written all the same"; },
                   [](void*, bytes_view) { return false; }};
  const StringValue v;
  for (const std::uint32_t limit : {std::uint32_t{0}, std::numeric_limits<std::uint32_t>::max()}) {
    if (limit > 0) format_.set_max_send_bytes(limit);  // otherwise: no size was passed
    EXPECT_EQ(format_.max_send_bytes(), two_gib - 1);
    EXPECT_EQ(write(huge, codec_of<StringValue>::address(v)).code(), status_code::resource_exhausted);
    EXPECT_EQ(body_, "");
  }
}

TEST(Json, ReplacesWhatAMessageHeldOrSaysThatItCannot) {
  google::protobuf::Int32Value v;
  v.set_value(7);
  EXPECT_EQ(json_codec().read(v, as_bytes("8")), status());
  EXPECT_EQ(v.value(), 8);
  EXPECT_EQ(json_codec().read(v, as_bytes("{")).code(), status_code::internal);
  EXPECT_EQ(json_codec().read(v, as_bytes("\"text\"")).code(), status_code::internal);
}

}  // namespace
}  // namespace coracle::rpc::message_format_test
