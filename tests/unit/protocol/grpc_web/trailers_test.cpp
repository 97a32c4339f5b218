#include "protocol/grpc_web/trailers.hpp"

#include "protocol/grpc/response_headers.hpp"
#include "protocol/grpc/status_headers.hpp"

#include <gtest/gtest.h>

#include <string>

namespace coracle::protocol::grpc_web::trailers_test {
namespace {

// Returns "name=value;" for each line, or the error.
std::string read_all(std::string_view content) {
  trailer_lines lines(content);
  std::string all;
  const bool fine = lines.read([&](std::uint32_t slot, auto text) {
    EXPECT_EQ(slot, 0u);
    const http::header_view field = text();
    all.append(field.name).append("=").append(field.value).append(";");
  });
  EXPECT_EQ(fine, lines.error() == trailer_error::none);
  return fine ? all : std::string(to_string(lines.error()));
}

TEST(GrpcWebTrailers, AreWrittenAsLinesInLowerCase) {
  trailer_block block;
  block.add("grpc-status", "0");
  block.add("X-Custom", "a, b");
  block.add("empty", "");
  const std::string frame = block.take_frame();
  const std::string lines = "grpc-status: 0\r\nx-custom: a, b\r\nempty: \r\n";
  ASSERT_EQ(frame.size(), envelope_prefix_bytes + lines.size());
  const auto prefix = read_envelope_prefix(reinterpret_cast<const std::uint8_t*>(frame.data()));
  EXPECT_EQ(prefix.flags, 0x80);
  EXPECT_EQ(prefix.length_bytes, lines.size());
  EXPECT_EQ(frame.substr(envelope_prefix_bytes), lines);
}

TEST(GrpcWebTrailers, OfAnEmptyListAreAnEmptyFrame) {
  EXPECT_EQ(trailer_block().take_frame(), std::string("\x80\0\0\0\0", 5));
  EXPECT_EQ(read_all(""), "");
}

TEST(GrpcWebTrailers, CannotBeForgedByAValue) {
  trailer_block block;
  block.add("a", std::string_view("x\r\ngrpc-status: 0\0", 18));
  EXPECT_EQ(block.lines(), "a: x  grpc-status: 0 \r\n");
}

TEST(GrpcWebTrailers, AreEmptyAfterTheFrameWasTaken) {
  trailer_block block;
  block.add("a", "1");
  (void)block.take_frame();
  EXPECT_EQ(block.lines(), "");
  block.add("b", "2");
  EXPECT_EQ(block.take_frame().substr(envelope_prefix_bytes), "b: 2\r\n");
}

TEST(GrpcWebTrailers, CarryAStatusThroughTheSameCodeAsHttp2Trailers) {
  trailer_block block;
  const status sent(status_code::not_found, "no such m\xc3\xb6vie\r\n", "details");
  grpc::add_status(block, sent);
  block.add("x-custom", "bing");
  block.add("x-bytes-bin", "AAEC");
  const std::string frame = block.take_frame();
  trailer_lines lines(std::string_view(frame).substr(envelope_prefix_bytes));
  grpc::response_headers headers;
  ASSERT_TRUE(headers.read(lines));
  EXPECT_TRUE(headers.has_status);
  EXPECT_EQ(headers.code, status_code::not_found);
  EXPECT_EQ(headers.message, sent.message());
  EXPECT_EQ(headers.details, sent.details());
  EXPECT_EQ(headers.metadata.find("x-custom"), "bing");
  EXPECT_EQ(headers.metadata.find("x-bytes-bin"), std::string_view("\0\1\2", 3));
}

TEST(GrpcWebTrailers, MayHaveNamesOfAnyCaseAndWhitespaceAroundNamesAndValues) {
  EXPECT_EQ(read_all("Grpc-Status:9\r\ngRPC-Message :  two words\t\r\nX:\r\n"),
            "grpc-status=9;grpc-message=two words;x=;");
}

TEST(GrpcWebTrailers, MayEndTheirLinesInEveryWayThatServersDo) {
  for (const std::string_view content :
       {"a: 1\r\nb: 2\r\n", "a: 1\nb: 2\n", "a: 1\r\nb: 2", "a: 1\r\nb: 2\r\n\r\n"})
    EXPECT_EQ(read_all(content), "a=1;b=2;") << content;
}

TEST(GrpcWebTrailers, ThatAreMalformedAreRefused) {
  struct row {
    std::string_view content;
    trailer_error error;
  };
  for (const auto& [content, error] :
       {row{"a", trailer_error::no_colon}, row{"a: 1\r\nb\r\n", trailer_error::no_colon},
        row{": 1\r\n", trailer_error::bad_name}, row{" a: 1\r\n", trailer_error::bad_name},
        row{"a: 1\r\n b: 2\r\n", trailer_error::bad_name}, row{"a b: 1\r\n", trailer_error::bad_name},
        row{"a\x80: 1\r\n", trailer_error::bad_name},
        row{std::string_view("a\0: 1\r\n", 7), trailer_error::bad_name},
        row{":status: 200\r\n", trailer_error::bad_name}, row{"a: 1\rb: 2\r\n", trailer_error::bad_value},
        row{std::string_view("a: \0\r\n", 6), trailer_error::bad_value},
        row{"a: 1\r\r\n", trailer_error::bad_value}, row{"\r\na: 1\r\n", trailer_error::line_after_end},
        row{"a: 1\r\n\r\nb: 2\r\n", trailer_error::line_after_end},
        row{"a: 1\n\n\n", trailer_error::line_after_end}}) {
    EXPECT_EQ(read_all(content), to_string(error)) << content;
    EXPECT_NE(to_string(error), "");
  }
}

TEST(GrpcWebTrailers, HaveALimitedNumberOfFields) {
  std::string content;
  for (std::size_t i = 0; i < trailer_fields_max; ++i) content += "a:\n";
  EXPECT_EQ(read_all(content).size(), 3 * trailer_fields_max);
  content += "a:\n";
  EXPECT_EQ(read_all(content), to_string(trailer_error::too_many_fields));
  EXPECT_NE(to_string(trailer_error::too_many_fields).find(std::to_string(trailer_fields_max)),
            std::string_view::npos);
}

TEST(GrpcWebTrailers, ReadsCutAnywhereNeverCrossTheirEnd) {
  const std::string content = "Grpc-Status : 9\r\ngrpc-message: a b\r\nx: y\r\n\r\n";
  for (std::size_t size = 0; size <= content.size(); ++size) {
    const std::string exact(content, 0, size);  // of its own, so that a sanitizer sees its end
    trailer_lines lines(exact);
    http::header_view field;
    while (lines.next(field))
      EXPECT_EQ(content.substr(0, size).find(field.value) == std::string::npos, false);
    // A cut is noticed only within a name: the length of the frame protects the rest.
    EXPECT_TRUE(lines.error() == trailer_error::none || lines.error() == trailer_error::no_colon) << size;
  }
  EXPECT_EQ(read_all(content), "grpc-status=9;grpc-message=a b;x=y;");
}

TEST(GrpcWebBody, EndsWithTheTrailerFrame) {
  trailer_block block;
  block.add("grpc-status", "0");
  const std::string message("\0\0\0\0\1m", 6);
  const std::string body = message + block.take_frame();
  body_reader reader;
  bytes_view rest = as_bytes(body);
  ASSERT_EQ(reader.next(rest), body_reader::state::messages);
  EXPECT_EQ(as_text(reader.messages()), message);
  ASSERT_EQ(reader.next(rest), body_reader::state::last);
  EXPECT_EQ(read_all(reader.last()), "grpc-status=0;");
}

TEST(GrpcWebBody, RefusesTrailersOverTheirLimit) {
  for (const std::uint32_t size : {trailer_bytes_max, trailer_bytes_max + 1}) {
    std::string prefix(envelope_prefix_bytes, '\0');
    write_envelope_prefix(reinterpret_cast<std::uint8_t*>(prefix.data()), trailer_flag, size);
    body_reader reader;
    bytes_view rest = as_bytes(prefix);
    EXPECT_EQ(reader.next(rest),
              size > trailer_bytes_max ? body_reader::state::last_too_large : body_reader::state::need_more);
  }
}

}  // namespace
}  // namespace coracle::protocol::grpc_web::trailers_test
