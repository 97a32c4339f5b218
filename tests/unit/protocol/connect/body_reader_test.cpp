#include "protocol/connect/body_reader.hpp"

#include <gtest/gtest.h>

#include <string>

namespace coracle::protocol::connect::body_reader_test {
namespace {

using state = body_reader::state;

std::string framed(std::string_view content, std::uint8_t flags) {
  std::string out(envelope_prefix_bytes, '\0');
  write_envelope_prefix(reinterpret_cast<std::uint8_t*>(out.data()), flags,
                        static_cast<std::uint32_t>(content.size()));
  return out.append(content);
}

TEST(ConnectBody, EndsWithTheEndStreamMessage) {
  const std::string message = framed("m", compressed_flag);
  const std::string body = message + framed(write_end_stream(nullptr, {}), end_stream_flag);
  body_reader reader;
  bytes_view rest = as_bytes(body);
  ASSERT_EQ(reader.next(rest), state::messages);
  EXPECT_EQ(as_text(reader.messages()), message);
  ASSERT_EQ(reader.next(rest), state::last);
  EXPECT_FALSE(reader.last_compressed());
  EXPECT_TRUE(read_end_stream(reader.last()));
}

TEST(ConnectBody, MayEndWithACompressedMessage) {
  const std::string body = framed("x", end_stream_flag | compressed_flag);
  body_reader reader;
  bytes_view rest = as_bytes(body);
  ASSERT_EQ(reader.next(rest), state::last);
  EXPECT_TRUE(reader.last_compressed());
}

TEST(ConnectBody, PassesFlagsThatMeanNothingToTheDeframerOfMessages) {
  const std::string body = framed("m", 0x84);
  body_reader reader;
  bytes_view rest = as_bytes(body);
  ASSERT_EQ(reader.next(rest), state::messages);
  EXPECT_EQ(as_text(reader.messages()), body);
}

TEST(ConnectBody, RefusesAnEndStreamMessageOverTheLimitOfJson) {
  for (const std::size_t size : {json_bytes_max, json_bytes_max + 1}) {
    std::string prefix = framed("", end_stream_flag);
    write_envelope_prefix(reinterpret_cast<std::uint8_t*>(prefix.data()), end_stream_flag,
                          static_cast<std::uint32_t>(size));
    body_reader reader;
    bytes_view rest = as_bytes(prefix);
    EXPECT_EQ(reader.next(rest), size > json_bytes_max ? state::last_too_large : state::need_more);
  }
}

}  // namespace
}  // namespace coracle::protocol::connect::body_reader_test
