#include "protocol/grpc/deframer.hpp"

#include "protocol/envelope.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace coracle::protocol::grpc::deframer_test {
namespace {

std::string framed(std::string_view body, std::uint8_t flag = 0) {
  std::string out(protocol::envelope_prefix_bytes, '\0');
  protocol::write_envelope_prefix(reinterpret_cast<std::uint8_t*>(out.data()), flag,
                                  static_cast<std::uint32_t>(body.size()));
  return out.append(body);
}

TEST(Deframer, CutsMessagesHoweverTheBytesAreSplit) {
  const std::vector<std::string> bodies{"", "a", std::string(300, 'b'), "", "last"};
  std::string wire;
  for (const std::string& b : bodies) wire += framed(b);
  for (std::size_t step = 1; step <= wire.size(); ++step) {
    deframer d;
    std::vector<std::string> got;
    for (std::size_t at = 0; at < wire.size(); at += step) {
      d.append(as_bytes(std::string_view(wire).substr(at, step)));
      framed_message message;
      while (d.front(1000, message) == deframer::state::message) {
        got.emplace_back(as_text(message.body));
        d.pop(message);
      }
    }
    EXPECT_EQ(got, bodies) << step;
    EXPECT_TRUE(d.empty());
  }
}

TEST(Deframer, RefusesAMessageOverTheLimitByItsPrefixAlone) {
  const std::string wire = framed(std::string(11, 'x'));
  framed_message message;
  EXPECT_EQ(deframer::peek(as_bytes(std::string_view(wire).substr(0, 5)), 10, message),
            deframer::state::too_large);
  EXPECT_EQ(deframer::peek(as_bytes(wire), 11, message), deframer::state::message);
  EXPECT_EQ(deframer::peek(as_bytes(std::string_view(wire).substr(0, 4)), 10, message),
            deframer::state::need_more);
}

TEST(Deframer, TellsCompressedMessagesFromPlainOnes) {
  framed_message message;
  const std::string compressed = framed("x", 1);
  ASSERT_EQ(deframer::peek(as_bytes(compressed), 10, message), deframer::state::message);
  EXPECT_TRUE(message.compressed);
  const std::string plain = framed("x", 0);
  ASSERT_EQ(deframer::peek(as_bytes(plain), 10, message), deframer::state::message);
  EXPECT_FALSE(message.compressed);
}

TEST(Deframer, RefusesAFlagThatMeansNothing) {
  framed_message message;
  const std::string strange = framed("x", 2);
  EXPECT_EQ(deframer::peek(as_bytes(strange), 10, message), deframer::state::bad_flag);
  EXPECT_EQ(deframer::peek(as_bytes(std::string_view(strange).substr(0, 1)), 10, message),
            deframer::state::bad_flag);
}

}  // namespace
}  // namespace coracle::protocol::grpc::deframer_test
