#include "protocol/connect/error.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace coracle::protocol::connect::error_test {
namespace {

using details_type = std::vector<error_detail>;

// 401 is the HTTP status of all responses here; no error below has its code.
constexpr status_code derived = status_code::unauthenticated;
error read(std::string_view json) { return read_error(json, 401); }

std::string repeated(std::string_view text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

TEST(ConnectError, IsWrittenWithoutWhatIsEmpty) {
  EXPECT_EQ(write_error(status_code::not_found, "", {}), R"({"code":"not_found"})");
  EXPECT_EQ(write_error(status_code::cancelled, "gone", {}), R"({"code":"canceled","message":"gone"})");
  const details_type details{{"google.rpc.ErrorInfo", "f"}, {"a.B", ""}};
  EXPECT_EQ(write_error(status_code::internal, "m", details),
            R"({"code":"internal","message":"m","details":[{"type":"google.rpc.ErrorInfo","value":"Zg"},)"
            R"({"type":"a.B","value":""}]})");
}

TEST(ConnectError, OfOkIsUnknown) {
  EXPECT_EQ(write_error(status_code::ok, "", {}), R"({"code":"unknown"})");
}

TEST(ConnectError, EscapesItsTextAndReplacesWhatIsNotUtf8) {
  EXPECT_EQ(write_error(status_code::unknown, "a\"\\\n\x01", {}),
            R"({"code":"unknown","message":"a\"\\\n\u0001"})");
  EXPECT_EQ(write_error(status_code::unknown,
                        "a\xff"
                        "b\xc3",
                        {}),
            "{\"code\":\"unknown\",\"message\":\"a\xef\xbf\xbd"
            "b\xef\xbf\xbd\"}");
}

TEST(ConnectError, ComesBackWhole) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  for (int i = 1; i <= 16; ++i) {
    const error sent{static_cast<status_code>(i), "m\xc3\xb6vie \"\\\n", {{"a.b.C", bytes}, {"d", "x"}}};
    EXPECT_EQ(read(write_error(sent.code, sent.message, sent.details)), sent);
  }
}

TEST(ConnectError, IsReadWithoutMembersThatAreUnknown) {
  EXPECT_EQ(read(R"( {"foobar":{"code":"internal"}, "code":"out_of_range", "message":"oops", "x":[[]],
                     "details":[{"type":"a.B","value":"Zg==","debug":"garbage","frob":1}]} )"),
            (error{status_code::out_of_range, "oops", {{"a.B", "f"}}}));
}

TEST(ConnectError, WithoutAValidCodeHasThatOfTheHttpStatus) {
  for (const std::string_view code : {R"("code":null,)", "", R"("code":"foobar",)", R"("code":"ok",)",
                                      R"("code":5,)", R"("code":["internal"],)"})
    EXPECT_EQ(read("{" + std::string(code) + R"("message":"oops"})"), (error{derived, "oops", {}})) << code;
}

TEST(ConnectError, ThatIsNotJsonHasTheCodeOfTheHttpStatus) {
  for (const std::string_view text :
       {"", " ", "null", "true", "5", "[]", "\"internal\"", R"({"code":"internal")",
        R"({"code":"internal"}x)", R"({"code":"internal",})", R"({code:"internal"})",
        "{\"code\":\"internal\",\"message\":\"\xff\"}", R"({"code":"internal","message":"\ud800"})",
        "<html>"})
    EXPECT_EQ(read(text), (error{derived, "", {}})) << text;
}

TEST(ConnectError, WithWrongTypesHasTheCodeOfTheHttpStatusAndKeepsWhatIsReadable) {
  EXPECT_EQ(read(R"({"code":"internal","message":5})"), (error{derived, "", {}}));
  EXPECT_EQ(read(R"({"code":"internal","message":"m","details":{}})"), (error{derived, "m", {}}));
  for (const std::string_view broken :
       {"5", "null", "[]", "{}", R"({"type":"a.B"})", R"({"value":"Zg"})", R"({"type":1,"value":"Zg"})",
        R"({"type":"a.B","value":1})", R"({"type":"a.B","value":"Z"})", R"({"type":"a.B","value":"!!!!"})"}) {
    EXPECT_EQ(read(R"({"code":"internal","message":"m","details":[)" + std::string(broken) +
                   R"(,{"type":"a.B","value":"Zg"}]})"),
              (error{derived, "m", {{"a.B", "f"}}}))
        << broken;
  }
}

TEST(ConnectError, TreatsNullAsAbsence) {
  EXPECT_EQ(read(R"({"code":"internal","message":null,"details":null})"),
            (error{status_code::internal, "", {}}));
}

TEST(ConnectError, TakesTheLastOfMembersWithTheSameName) {
  EXPECT_EQ(read(R"({"code":"internal","code":"aborted"})").code, status_code::aborted);
  EXPECT_EQ(read(R"({"code":"internal","code":null})").code, derived);
}

TEST(ConnectError, AcceptsTheTypeAsAUrl) {
  EXPECT_EQ(read(R"({"code":"internal","details":[{"type":"type.googleapis.com/a.B","value":""}]})").details,
            (details_type{{"a.B", ""}}));
}

TEST(ConnectJson, HasALimitedDepth) {
  for (const std::size_t depth : {json_depth_max, json_depth_max + 1}) {
    for (const auto& [open, close] : {std::pair{"[", "]"}, {R"({"a":)", "}"}}) {
      const bool object = *open == '{';
      const std::string inner = repeated(open, depth - 1) + (object ? "1" : "") + repeated(close, depth - 1);
      EXPECT_EQ(read(R"({"code":"internal","x":)" + inner + "}").code,
                depth > json_depth_max ? derived : status_code::internal)
          << depth;
    }
  }
}

TEST(ConnectJson, OfAnyDepthAndLengthIsRefusedInBoundedTime) {
  EXPECT_EQ(read(repeated("[", 500'000)).code, derived);
  EXPECT_EQ(read(repeated(R"({"a":)", 150'000)).code, derived);
  EXPECT_FALSE(read_end_stream(repeated("[", 500'000)));
}

TEST(ConnectJson, HasALimitedNumberOfValues) {
  // Besides the elements: the object, the names and values of "code" and "x".
  for (const std::size_t elements : {json_values_max - 5, json_values_max - 4}) {
    const std::string text = R"({"code":"internal","x":[1)" + repeated(",1", elements - 1) + "]}";
    EXPECT_EQ(read(text).code, elements + 5 > json_values_max ? derived : status_code::internal);
  }
}

TEST(ConnectJson, HasALimitedLength) {
  const std::string start = R"({"code":"internal","message":")";
  for (const std::size_t size : {json_bytes_max, json_bytes_max + 1}) {
    const std::string text = start + std::string(size - start.size() - 2, 'm') + "\"}";
    ASSERT_EQ(text.size(), size);
    EXPECT_EQ(read(text).code, size > json_bytes_max ? derived : status_code::internal);
  }
}

TEST(ConnectJson, ThatIsCutAnywhereIsMalformed) {
  const error sent{status_code::internal, "m\xc3\xb6", {{"a.B", "xyz"}}};
  http::header_list metadata;
  metadata.add("k", "v");
  const std::string text = write_end_stream(&sent, metadata);
  ASSERT_TRUE(read_end_stream(text));
  for (std::size_t size = 0; size < text.size(); ++size) {
    const std::string cut(text, 0, size);
    EXPECT_FALSE(read_end_stream(cut)) << cut;
    EXPECT_EQ(read(cut).code, derived) << cut;
  }
}

TEST(ConnectEndStream, IsWrittenWithoutWhatIsAbsent) {
  EXPECT_EQ(write_end_stream(nullptr, {}), "{}");
  http::header_list metadata;
  metadata.add("name", "v1");
  metadata.add("other", "x");
  metadata.add("name", "v2");
  EXPECT_EQ(write_end_stream(nullptr, metadata), R"({"metadata":{"name":["v1","v2"],"other":["x"]}})");
  const error e{status_code::unavailable, "overloaded", {}};
  EXPECT_EQ(write_end_stream(&e, {}), R"({"error":{"code":"unavailable","message":"overloaded"}})");
  EXPECT_EQ(write_end_stream(&e, metadata), R"({"error":{"code":"unavailable","message":"overloaded"},)"
                                            R"("metadata":{"name":["v1","v2"],"other":["x"]}})");
}

TEST(ConnectEndStream, ReplacesMetadataThatIsNotUtf8) {
  http::header_list metadata;
  metadata.add("name", "a\xff");
  EXPECT_EQ(write_end_stream(nullptr, metadata), "{\"metadata\":{\"name\":[\"a\xef\xbf\xbd\"]}}");
}

TEST(ConnectEndStream, ComesBackWhole) {
  const error sent{status_code::data_loss, "lost", {{"a.B", std::string("\0\1", 2)}}};
  http::header_list metadata;
  metadata.add("a", "1");
  metadata.add("b-bin", "AAE");
  metadata.add("b-bin", "Ag==");
  const auto got = read_end_stream(write_end_stream(&sent, metadata));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->error, sent);
  http::header_list expected;
  expected.add("a", "1");
  expected.add("b-bin", std::string_view("\0\1", 2));
  expected.add("b-bin", "\2");
  EXPECT_EQ(got->metadata, expected);
}

TEST(ConnectEndStream, WithoutErrorIsSuccess) {
  for (const std::string_view text : {"{}", R"({"error":null})", R"({"metadata":null})", R"({"metadata":{}})",
                                      R"({"code":"out_of_range","message":"oops"})"}) {
    const auto got = read_end_stream(text);
    ASSERT_TRUE(got) << text;
    EXPECT_FALSE(got->error) << text;
    EXPECT_TRUE(got->metadata.empty()) << text;
  }
}

TEST(ConnectEndStream, WithAnErrorWithoutAValidCodeIsUnknown) {
  for (const std::string_view code : {R"("code":null,)", "", R"("code":"foobar",)", R"("code":"ok",)"}) {
    const auto got = read_end_stream(R"({"error":{)" + std::string(code) + R"("message":"oops"}})");
    ASSERT_TRUE(got) << code;
    EXPECT_EQ(got->error, (error{status_code::unknown, "oops", {}})) << code;
  }
  EXPECT_EQ(read_end_stream(R"({"error":{}})")->error, (error{status_code::unknown, "", {}}));
}

TEST(ConnectEndStream, ThatIsMalformedIsNone) {
  for (const std::string_view text :
       {"", "null", "[]", "5", R"({"error":5})", R"({"error":[]})", R"({"error":"internal"})",
        R"({"error":{"code":5}})", R"({"error":{"code":"internal","message":[]}})", R"({"metadata":[]})",
        R"({"metadata":{"a":"b"}})", R"({"metadata":{"a":[1]}})", R"({"metadata":{"a":[null]}})",
        R"({"metadata":{"a":{}}})", R"({"metadata":{"":["x"]}})", R"({"metadata":{"a b":["x"]}})",
        R"({"metadata":{":path":["x"]}})", R"({"metadata":{"a":["x\r\ny: z"]}})",
        R"({"metadata":{"a":["\u0000"]}})"})
    EXPECT_FALSE(read_end_stream(text)) << text;
}

TEST(ConnectEndStream, MetadataIsReadAsHeadersAre) {
  const auto got = read_end_stream(
      R"({"metadata":{"X-Custom":["a"],"connect-x":["b"],"grpc-status":["0"],"content-length":["5"],)"
      R"("bad-bin":["!"],"two-bin":["AA,AQ"],"none":[],"nil":null}})");
  ASSERT_TRUE(got);
  http::header_list expected;  // in the order of the names as sent
  expected.add("x-custom", "a");
  expected.add("two-bin", std::string_view("\0", 1));
  expected.add("two-bin", "\1");
  EXPECT_EQ(got->metadata, expected);
}

}  // namespace
}  // namespace coracle::protocol::connect::error_test
