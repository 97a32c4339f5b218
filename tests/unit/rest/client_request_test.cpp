#include "rest/client_request.hpp"

#include "protocol/rest/route_table.hpp"
#include "rest_kinds.pb.h"

#include <google/protobuf/text_format.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace coracle::client_request_test {
namespace {

using namespace rest;
using rest_kinds::Book;
using rest_kinds::Everything;
using ::testing::HasSubstr;

// Of a method of Everything.
rest_binding binding(const std::string& http_method, std::string_view path, std::string body = {}) {
  auto parsed = protocol::rest::path_template::parse(path);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  const auto* const method = Book::descriptor()->file()->service(0)->FindMethodByName("Replace");
  return *rest_binding::make(*method, {http_method, *parsed, std::move(body), {}});
}

Everything everything(const std::string& text) {
  Everything m;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &m)) << text;
  return m;
}

std::string target(const rest_binding& b, const Everything& m) {
  const auto made = write_client_request(b, m);
  return made.ok() ? made->target : std::string(made.status().message());
}

// Whether a server reads from the request what the client wrote.
void expect_round_trip(const rest_binding& b, const Everything& m) {
  const auto made = write_client_request(b, m);
  ASSERT_TRUE(made.ok()) << made.status();
  protocol::rest::route_table table;
  ASSERT_TRUE(table.add("GET", b.rule().path, 0, "s.M").ok());
  const std::size_t mark = made->target.find('?');
  const std::string path = made->target.substr(0, mark);
  const auto match = table.find("GET", path);
  ASSERT_EQ(match.outcome, protocol::rest::match_outcome::found) << path;
  Everything read;
  const status s = b.read_request(
      {match.raw_values(), mark == std::string::npos ? "" : std::string_view(made->target).substr(mark + 1),
       made->content_type, as_bytes(made->body)},
      read);
  EXPECT_EQ(s, status()) << made->target;
  EXPECT_EQ(read.DebugString(), m.DebugString()) << made->target << "\n" << made->body;
}

TEST(ClientRequest, AServerReadsEveryKindOfQueryParameterBack) {
  const rest_binding get = binding("GET", "/v1/search");
  for (const char* text : {"",
                           "int32_value: -5",
                           "int64_value: -9223372036854775808",
                           "uint64_value: 18446744073709551615",
                           "sint32_value: -1 sint64_value: -2 fixed32_value: 1 sfixed64_value: -2",
                           "float_value: 0.1",
                           "float_value: nan",
                           "double_value: 1e300",
                           "double_value: -inf",
                           "bool_value: true",
                           "string_value: 'a b&c=?/%\\303\\251'",
                           "bytes_value: '\\377\\357'",
                           "enum_value: PAPERBACK",
                           "enum_value: 77",
                           "numbers: 1 numbers: 2 numbers: 1",
                           "bindings: PAPERBACK bindings: HARDCOVER",
                           "names: 'a' names: '' names: 'b'",
                           "book { title: 't' year: 7 tags: 'x' author { given_name: 'n' } }",
                           "time { seconds: 1 nanos: 500000000 }",
                           "length { seconds: -1 nanos: -500000000 }",
                           "mask { paths: 'title' paths: 'author.given_name' }",
                           "int32_wrapper { }",
                           "string_wrapper { value: 'x' } bytes_wrapper { value: '\\377' }",
                           "times { seconds: 1 } times { }",
                           "int64_wrappers { value: 1 } int64_wrappers { }",
                           "word: 'w'",
                           "number: 0",
                           "optional_number: 0",
                           "other_name: 'x'"})
    expect_round_trip(get, everything(text));
}

TEST(ClientRequest, AServerReadsPathAndBodyBack) {
  const char* const text =
      "int64_value: 5 string_value: 'shelves/a b' book { name: 'shelves/1/books/x:y' title: 't' } numbers: 1";
  expect_round_trip(binding("PUT", "/v1/everything/{int64_value}", "*"), everything(text));
  expect_round_trip(binding("POST", "/v1/{string_value=shelves/*}/books", "book"), everything(text));
  expect_round_trip(binding("PATCH", "/v1/{book.name=shelves/*/books/*}:move"), everything(text));
  expect_round_trip(binding("GET", "/v1/files/{string_value=**}"), everything("string_value: 'a//b%2Fc/ '"));
  expect_round_trip(binding("GET", "/v1/{book.author.given_name}"),
                    everything("book { author { given_name: '..%2F' } }"));
}

TEST(ClientRequest, ALiteralIsEscapedAndAWildcardHasAnySegment) {
  EXPECT_EQ(target(binding("GET", "/v1/*/a%20b:go"), {}), "/v1/-/a%20b:go");
}

TEST(ClientRequest, AWholeBodyHasNoQuery) {
  const auto made = write_client_request(binding("POST", "/v1/{int64_value}", "*"),
                                         everything("int64_value: 1 string_value: 'a' flags { key: 1 }"));
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->target, "/v1/1");
  EXPECT_EQ(made->body, R"({"stringValue":"a","flags":{"1":false}})");
  EXPECT_EQ(made->content_type, "application/json");
}

TEST(ClientRequest, NamesTheFieldThatHasNoPlace) {
  const rest_binding get = binding("GET", "/v1/{string_value=shelves/*}");
  EXPECT_THAT(target(get, everything("")), HasSubstr("the field string_value is '', which does not match"));
  EXPECT_THAT(target(get, everything("string_value: 'shelves/'")), HasSubstr("does not match"));
  EXPECT_THAT(target(get, everything("string_value: 'shelves/1/2'")), HasSubstr("does not match"));
  EXPECT_THAT(target(get, everything("string_value: 'books/1'")), HasSubstr("does not match"));
  EXPECT_THAT(target(binding("GET", "/v1/{string_value}"), everything("")),
              HasSubstr("the field string_value is empty, but in the path of GET /v1/{string_value}"));
  for (const char* text : {"shelf { key: 'a' value {} }", "books { title: 'x' }", "struct { }", "any { }"})
    EXPECT_THAT(target(binding("GET", "/v1"), everything(text)), HasSubstr("has no form for the query"));
}

TEST(ClientRequest, ReadsAReply) {
  const rest_binding get = binding("GET", "/v1");
  Everything reply;
  EXPECT_EQ(read_client_reply(get, "application/json",
                              as_bytes(std::string_view(R"({"stringValue":"a","later":1})")), reply),
            status());
  EXPECT_EQ(reply.string_value(), "a");
  const status wrong = read_client_reply(get, "text/html", as_bytes(std::string_view("<html>")), reply);
  EXPECT_EQ(wrong.code(), status_code::internal);
  EXPECT_THAT(std::string(wrong.message()), HasSubstr("the response is not rest_kinds.Everything"));
}

}  // namespace
}  // namespace coracle::client_request_test
