#include "protocol/grpc_web/text_body.hpp"

#include "coracle/base/impl/base64.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace coracle::protocol::grpc_web::text_body_test {
namespace {

std::string sample(std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>(i * 101 + 7));
  return bytes;
}

TEST(GrpcWebText, IsDecodedAtEverySplit) {
  // Padded in the middle, as a server writes that flushes.
  const std::string bytes = sample(40);
  std::string text;
  for (const auto& [at, size] : {std::pair{0, 1}, {1, 2}, {3, 3}, {6, 10}, {16, 24}})
    text += base::padded_base64(
        std::string_view(bytes).substr(static_cast<std::size_t>(at), static_cast<std::size_t>(size)));
  for (std::size_t step = 1; step <= text.size(); ++step) {
    text_decoder decoder;
    std::string out;
    for (std::size_t at = 0; at < text.size(); at += step)
      ASSERT_TRUE(decoder.decode(std::string_view(text).substr(at, step), out)) << step;
    EXPECT_EQ(out, bytes) << step;
    EXPECT_TRUE(decoder.complete());
  }
}

TEST(GrpcWebText, ThatIsCutInAGroupIsIncomplete) {
  const std::string text = "Zm9vYg==";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    text_decoder decoder;
    std::string out;
    EXPECT_TRUE(decoder.decode(std::string_view(text).substr(0, size), out));
    EXPECT_EQ(decoder.complete(), size % 4 == 0) << size;
  }
}

TEST(GrpcWebText, ThatIsNotBase64IsRefused) {
  for (const std::string_view text : std::initializer_list<std::string_view>{
           "=", "Z=", "Z===", "====", "Zm=v", "Zg=v", "Zm9v=", "Zm9v====", "Zm9!", "Zm 9v", "Zm9v\n", "Zm-_",
           std::string_view("Zm9\0", 4)}) {
    text_decoder decoder;
    std::string out;
    EXPECT_FALSE(decoder.decode(text, out)) << text;
    EXPECT_FALSE(decoder.complete());
    EXPECT_FALSE(decoder.decode("Zm9v", out)) << "decodes after a fault";
  }
}

TEST(GrpcWebText, KeepsWhatCameBeforeAFault) {
  text_decoder decoder;
  std::string out;
  EXPECT_FALSE(decoder.decode("Zm9v!", out));
  EXPECT_EQ(out, "foo");
}

TEST(GrpcWebText, IsEncodedWithPaddingOnlyAtAFlush) {
  text_encoder encoder;
  std::string out;
  encoder.encode(as_bytes("f"), out);
  EXPECT_EQ(out, "");
  encoder.encode(as_bytes("o"), out);
  EXPECT_EQ(out, "");
  encoder.encode(as_bytes("ob"), out);
  EXPECT_EQ(out, "Zm9v");
  encoder.flush(out);
  EXPECT_EQ(out, "Zm9vYg==");
  encoder.flush(out);
  EXPECT_EQ(out, "Zm9vYg==");
  encoder.encode(as_bytes("fo"), out);
  encoder.flush(out);
  EXPECT_EQ(out, "Zm9vYg==Zm8=");
}

TEST(GrpcWebText, ComesBackWholeFromPiecesOfEverySize) {
  const std::string bytes = sample(61);
  for (std::size_t step = 1; step <= bytes.size(); ++step) {
    for (const bool flush_each : {false, true}) {
      text_encoder encoder;
      std::string text;
      for (std::size_t at = 0; at < bytes.size(); at += step) {
        encoder.encode(as_bytes(std::string_view(bytes).substr(at, step)), text);
        if (flush_each) encoder.flush(text);
      }
      encoder.flush(text);
      if (!flush_each) {
        EXPECT_EQ(text, base::padded_base64(bytes));
      }
      text_decoder decoder;
      std::string out;
      ASSERT_TRUE(decoder.decode(text, out));
      EXPECT_TRUE(decoder.complete());
      EXPECT_EQ(out, bytes) << step;
    }
  }
}

}  // namespace
}  // namespace coracle::protocol::grpc_web::text_body_test
