#include "rest/rest_binding.hpp"

#include "protocol/rest/route_table.hpp"
#include "rest_kinds.pb.h"
#include "support/message_text.hpp"

#include <google/protobuf/dynamic_message.h>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace coracle::rest::rest_binding_test {
namespace {

using google::protobuf::MethodDescriptor;
using protocol::rest::path_template;
using rest_kinds::Book;
using rest_kinds::Everything;
using testing_support::message_text;

const MethodDescriptor& method(const std::string& name) {
  return *Book::descriptor()->file()->service(0)->FindMethodByName(name);
}

result<rest_binding> made(const std::string& of, const std::string& http_method, std::string_view path,
                          std::string body = {}, std::string response_body = {}, rest_options options = {}) {
  auto parsed = path_template::parse(path);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return rest_binding::make(method(of), {http_method, *parsed, std::move(body), std::move(response_body)},
                            options);
}

rest_binding of_option(const std::string& name, rest_options options = {}) {
  return *rest_binding::make(method(name), http_rules_of(method(name))->front(), options);
}

// Reads a request as a server does: "/path?query" with a body.
template <class Message>
std::string read(const rest_binding& b, std::string_view target, std::string_view body, Message& to,
                 std::string_view content_type = "application/json") {
  protocol::rest::route_table table;
  EXPECT_TRUE(table.add("GET", b.rule().path, 0, "s.M").ok());
  const std::size_t mark = target.find('?');
  const auto match = table.find("GET", target.substr(0, mark));
  if (match.outcome != protocol::rest::match_outcome::found) return "no match";
  const status s = b.read_request(
      {match.raw_values(), mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1),
       content_type, as_bytes(body)},
      to);
  EXPECT_TRUE(s.ok() || s.code() == status_code::invalid_argument) << s;
  return std::string(s.message());
}

template <class Message = Everything>
std::string read(const rest_binding& b, std::string_view target, std::string_view body = {}) {
  Message m;
  m.mutable_book();  // must be cleared
  const std::string error = read(b, target, body, m);
  return error.empty() ? message_text(m) : error;
}

// The value of a query of GET /v1/search.
std::string search(std::string_view query, rest_options options = {}) {
  return read(of_option("Search", options), "/v1/search?" + std::string(query));
}

TEST(RestBinding, ReadsEveryKindOfQueryParameter) {
  for (const auto& [query, message] :
       {std::pair{"", ""},
        {"int32_value=-5", "int32_value: -5"},
        {"int32Value=2147483647", "int32_value: 2147483647"},
        {"int32_value=-2147483648", "int32_value: -2147483648"},
        {"int64_value=-9223372036854775808", "int64_value: -9223372036854775808"},
        {"uint32_value=4294967295", "uint32_value: 4294967295"},
        {"uint64_value=18446744073709551615", "uint64_value: 18446744073709551615"},
        {"sint32_value=-1&sint64_value=-2", "sint32_value: -1 sint64_value: -2"},
        {"fixed32_value=1&fixed64_value=2", "fixed32_value: 1 fixed64_value: 2"},
        {"sfixed32_value=-1&sfixed64_value=-2", "sfixed32_value: -1 sfixed64_value: -2"},
        {"float_value=1.5", "float_value: 1.5"},
        {"float_value=NaN", "float_value: nan"},
        {"float_value=-Infinity", "float_value: -inf"},
        {"double_value=1e300", "double_value: 1e+300"},
        {"double_value=-.5e-3", "double_value: -0.0005"},
        {"double_value=Infinity", "double_value: inf"},
        {"bool_value=true", "bool_value: true"},
        {"bool_value=false&int32_value=1", "int32_value: 1"},
        {"string_value=a+b%26c%C3%A9", "string_value: \"a b&c\\303\\251\""},
        {"string_value=", ""},
        {"bytes_value=_-8%3D", "bytes_value: \"\\377\\357\""},
        {"bytes_value=%2F%2B8=", "bytes_value: \"\\377\\357\""},
        {"bytes_value=_-8", "bytes_value: \"\\377\\357\""},
        {"enum_value=PAPERBACK", "enum_value: PAPERBACK"},
        {"enum_value=1", "enum_value: HARDCOVER"},
        {"enum_value=77", "enum_value: 77"},
        {"numbers=1&numbers=2&numbers=1", "numbers: 1 numbers: 2 numbers: 1"},
        {"bindings=PAPERBACK&bindings=1", "bindings: PAPERBACK bindings: HARDCOVER"},
        {"names=a&names=&names=b", "names: \"a\" names: \"\" names: \"b\""},
        {"book.title=t&book.year=7", "book { title: \"t\" year: 7 }"},
        {"book.tags=a&book.tags=b", "book { tags: \"a\" tags: \"b\" }"},
        {"book.author.givenName=n", "book { author { given_name: \"n\" } }"},
        {"inner.inner.bool_value=true", "inner { inner { bool_value: true } }"},
        {"time=1970-01-01T00:00:01.5Z", "time { seconds: 1 nanos: 500000000 }"},
        {"time=1970-01-01T01:00:01%2B01:00", "time { seconds: 1 }"},
        {"length=-1.5s", "length { seconds: -1 nanos: -500000000 }"},
        {"mask=title,author.givenName", "mask { paths: \"title\" paths: \"author.given_name\" }"},
        {"mask=author.given_name", "mask { paths: \"author.given_name\" }"},
        {"mask=", "mask { }"},
        {"int32_wrapper=0", "int32_wrapper { }"},
        {"string_wrapper=x&bool_wrapper=true",
         "string_wrapper { value: \"x\" } bool_wrapper { value: true }"},
        {"bytes_wrapper=_w", "bytes_wrapper { value: \"\\377\" }"},
        {"double_wrapper=NaN", "double_wrapper { value: nan }"},
        {"times=1970-01-01T00:00:01Z&times=1970-01-01T00:00:02Z",
         "times { seconds: 1 } times { seconds: 2 }"},
        {"int64_wrappers=1&int64Wrappers=2", "int64_wrappers { value: 1 } int64_wrappers { value: 2 }"},
        {"word=w", "word: \"w\""},
        {"number=0", "number: 0"},
        {"chosen_book.title=t", "chosen_book { title: \"t\" }"},
        {"optional_number=0", "optional_number: 0"},
        {"renamed=x", "other_name: \"x\""},
        {"other_name=x", "other_name: \"x\""}})
    EXPECT_EQ(search(query), message) << query;
}

TEST(RestBinding, NamesTheParameterThatIsWrong) {
  for (const auto& [query, error] :
       {std::pair{"int32_value=abc", "field int32_value: 'abc' is no int32"},
        {"int32_value=", "field int32_value: '' is no int32"},
        {"int32_value=1.0", "field int32_value: '1.0' is no int32"},
        {"int32_value=+1", "field int32_value: ' 1' is no int32"},
        {"int32_value=0x1", "field int32_value: '0x1' is no int32"},
        {"int32_value=2147483648", "field int32_value: '2147483648' is out of the range of int32"},
        {"int32_value=-2147483649", "field int32_value: '-2147483649' is out of the range of int32"},
        {"int64_value=9223372036854775808",
         "field int64_value: '9223372036854775808' is out of the range of int64"},
        {"uint32_value=-1", "field uint32_value: '-1' is out of the range of uint32"},
        {"uint32_value=4294967296", "field uint32_value: '4294967296' is out of the range of uint32"},
        {"uint64_value=-x", "field uint64_value: '-x' is no uint64"},
        {"float_value=1e39", "field float_value: '1e39' is out of the range of float"},
        {"double_value=1e400", "field double_value: '1e400' is out of the range of double"},
        {"double_value=nan", "field double_value: 'nan' is no double"},
        {"double_value=inf", "field double_value: 'inf' is no double"},
        {"double_value=1e", "field double_value: '1e' is no double"},
        {"double_value=", "field double_value: '' is no double"},
        {"double_value=0x1p3", "field double_value: '0x1p3' is no double"},
        {"int32_value=%2B", "field int32_value: '+' is no int32"},
        {"int32_value=%2B-1", "field int32_value: '+-1' is no int32"},
        {"uint32_value=%2B1", "field uint32_value: '+1' is no uint32"},
        {"bool_value=2", "field bool_value: '2' is no bool, which is true or false"},
        {"bool_value=yes", "field bool_value: 'yes' is no bool, which is true or false"},
        {"bool_value=tRUE", "field bool_value: 'tRUE' is no bool, which is true or false"},
        {"bool_value", "field bool_value: '' is no bool, which is true or false"},
        {"string_value=%FF", "field string_value: '?' is not UTF-8"},
        {"bytes_value=%25", "field bytes_value: '%' is no base64"},
        {"bytes_value=a", "field bytes_value: 'a' is no base64"},
        {"enum_value=NONE", "field enum_value: 'NONE' is no value of Binding"},
        {"enum_value=paperback", "field enum_value: 'paperback' is no value of Binding"},
        {"enum_value=4294967296", "field enum_value: '4294967296' is out of the range of value of Binding"},
        {"book.year=x", "field book.year: 'x' is no int32"},
        {"numbers=1&numbers=b", "field numbers: 'b' is no int32"},
        {"numbers=1,2", "field numbers: '1,2' is no int32"},
        {"time=yesterday", "field time: 'yesterday' is no google.protobuf.Timestamp"},
        {"time=%FF", "field time: '?' is not UTF-8"},
        {"time=", "field time: '' is no google.protobuf.Timestamp"},
        {"time=9999999-01-01T00:00:00Z",
         "field time: '9999999-01-01T00:00:00Z' is no google.protobuf.Timestamp"},
        {"length=1", "field length: '1' is no google.protobuf.Duration"},
        {"length=\"1s\"", "field length: '\"1s\"' is no google.protobuf.Duration"},
        {"int32_wrapper=x", "field int32_wrapper: 'x' is no int32"},
        {"int64_wrappers=x", "field int64_wrappers: 'x' is no int64"},
        {"nothing=1", "query parameter nothing: the message rest_kinds.Everything has no such field"},
        {"book.nothing=1", "query parameter book.nothing: the message rest_kinds.Book has no such field"},
        {"book..title=1", "query parameter book..title: the message rest_kinds.Book has no such field"},
        {".book=1", "query parameter .book: the message rest_kinds.Everything has no such field"},
        {"otherName=x", "query parameter otherName: the message rest_kinds.Everything has no such field"},
        {"book=1", "query parameter book: a message cannot be a query parameter; name its fields"},
        {"books=1", "query parameter books: a message cannot be a query parameter; name its fields"},
        {"books.title=1", "query parameter books.title: the field books has no fields of its own here"},
        {"string_value.x=1",
         "query parameter string_value.x: the field string_value has no fields of its own here"},
        {"struct.fields=1", "query parameter struct.fields: the field struct has no fields of its own here"},
        {"any.value=1", "query parameter any.value: the field any has no fields of its own here"},
        {"time.seconds=x", "field time.seconds: 'x' is no int64"},
        {"time.seconds=1&time.seconds=1", "query parameter time.seconds: the field is set twice"},
        {"time=1970-01-01T00:00:01Z&time.seconds=1",
         "query parameter time.seconds: the message that holds the field is set as a whole"},
        {"time.nanos=1&time=1970-01-01T00:00:01Z",
         "query parameter time: a field of the message is set, too"},
        {"times.seconds=1", "query parameter times.seconds: the field times has no fields of its own here"},
        {"shelf=1", "query parameter shelf: a map cannot be a query parameter"},
        {"shelf.a.title=1", "query parameter shelf.a.title: the field shelf has no fields of its own here"},
        {"shelf[a]=1", "query parameter shelf[a]: the message rest_kinds.Everything has no such field"},
        {"struct=1", "query parameter struct: a message cannot be a query parameter; name its fields"},
        {"any=1", "query parameter any: a message cannot be a query parameter; name its fields"},
        {"value=1", "query parameter value: a message cannot be a query parameter; name its fields"},
        {"int32_value=1&int32_value=1", "query parameter int32_value: the field is set twice"},
        {"int32_value=1&int32Value=1", "query parameter int32Value: the field is set twice"},
        {"time=1970-01-01T00:00:01Z&time=1970-01-01T00:00:01Z",
         "query parameter time: the field is set twice"},
        {"word=w&number=1", "query parameter number: the field word of the same oneof, choice, is set"},
        {"number=1&chosen_book.title=t",
         "query parameter chosen_book.title: the field number of the same oneof, choice, is set"},
        {"int32_value=%4", "the query parameter 'int32_value=%4' has a '%' without two hexadecimal digits"}})
    EXPECT_EQ(search(query), error) << query;
}

TEST(RestBinding, ReadsFieldsOfMessagesThatAlsoHaveATextForm) {
  EXPECT_EQ(search("time.seconds=5&time.nanos=7"), "time { seconds: 5 nanos: 7 }");
  EXPECT_EQ(search("length.seconds=-5"), "length { seconds: -5 }");
  EXPECT_EQ(search("int32_wrapper.value=5&stringWrapper.value=a"),
            "int32_wrapper { value: 5 } string_wrapper { value: \"a\" }");
  EXPECT_EQ(search("mask.paths=a&mask.paths=b"), "mask { paths: \"a\" paths: \"b\" }");
}

TEST(RestBinding, ReadsTheWordsOfOtherTranscoders) {
  for (const char* yes : {"true", "1", "t", "T", "TRUE", "True"})
    EXPECT_EQ(search(std::string("bool_value=") + yes), "bool_value: true") << yes;
  for (const char* no : {"false", "0", "f", "F", "FALSE", "False"})
    EXPECT_EQ(search(std::string("bool_wrapper=") + no), "bool_wrapper { }") << no;
  EXPECT_EQ(search("int32_value=%2B5&int64_value=%2B0&sint32_value=%2B7"), "int32_value: 5 sint32_value: 7");
}

TEST(RestBinding, IgnoresUnknownParametersWhereThatIsWanted) {
  const rest_options lenient{.ignore_unknown_parameters = true};
  EXPECT_EQ(search("nothing=1&book.nothing=2&int32_value=3&a.b.c=4", lenient), "int32_value: 3");
  EXPECT_EQ(search("int32_value=x", lenient), "field int32_value: 'x' is no int32");
  EXPECT_EQ(search("book=x", lenient),
            "query parameter book: a message cannot be a query parameter; name its fields");
}

TEST(RestBinding, LimitsHowDeepAParameterNames) {
  std::string name;
  for (std::size_t i = 1; i < rest_binding::field_depth_max; ++i) name += "inner.";
  EXPECT_TRUE(search(name + "bool_value=true").starts_with("inner { inner {"));
  EXPECT_TRUE(search("inner." + name + "bool_value=true").ends_with("it is nested deeper than 32"));
  std::string endless;
  for (int i = 0; i < 100'000; ++i) endless += "inner.";
  EXPECT_TRUE(search(endless + "bool_value=true").ends_with("it is nested deeper than 32"));
}

TEST(RestBinding, ReadsTheVariablesOfThePath) {
  EXPECT_EQ(read<Everything>(of_option("Replace"), "/v1/everything/-7"), "int64_value: -7");
  EXPECT_EQ(read<Everything>(of_option("Replace"), "/v1/everything/7x"),
            "field int64_value: '7x' is no int64");
  EXPECT_EQ(read<Everything>(of_option("Replace"), "/v1/everything/%37"), "int64_value: 7");
  EXPECT_EQ(read<Everything>(of_option("Move"), "/v1/everything/a%2Fb%20c:move"),
            "book { author { given_name: \"a/b c\" } }");
  EXPECT_EQ(read<Everything>(of_option("Move"), "/v1/everything/%FF:move"),
            "field book.author.given_name: '?' is not UTF-8");
  EXPECT_EQ(read<Everything>(of_option("SetPicture"), "/v1/pictures/x"),
            "string_wrapper { value: \"x\" } picture { content_type: \"application/json\" }");
  Book book;
  EXPECT_EQ(read(of_option("Download"), "/v1/files/a%20b/c%2Fd/", "", book), "");
  EXPECT_EQ(book.name(), "a b/c%2Fd/");
  EXPECT_EQ(read(of_option("GetBook"), "/v1/shelves/1/books/2?title=t", "", book), "");
  EXPECT_EQ(message_text(book), "name: \"shelves/1/books/2\" title: \"t\"");
}

TEST(RestBinding, RefusesAParameterThatThePathOrTheBodySets) {
  EXPECT_EQ(read<Everything>(of_option("UpdateBook"), "/v1/shelves/1/books/2?book.name=x"),
            "query parameter book.name: the body holds this field");
  EXPECT_EQ(read<Everything>(of_option("Move"), "/v1/everything/a:move?book.author.given_name=b"),
            "query parameter book.author.given_name: the path sets this field");
  EXPECT_EQ(read<Everything>(of_option("Move"), "/v1/everything/a:move?book.author.givenName=b"),
            "query parameter book.author.givenName: the path sets this field");
  EXPECT_EQ(read<Everything>(of_option("Move"), "/v1/everything/a:move?book.title=b"),
            "book { title: \"b\" author { given_name: \"a\" } }");
  EXPECT_EQ(read<Everything>(of_option("Replace"), "/v1/everything/1?int32_value=1"),
            "query parameter int32_value: the body holds all fields that are not in the path");
  EXPECT_EQ(read<Everything>(of_option("CreateBook"), "/v1/shelves/1/books?book.title=x"),
            "query parameter book.title: the body holds this field");
}

TEST(RestBinding, ReadsTheBodyAsTheMessageOrAsOneField) {
  const rest_binding whole = of_option("Replace");
  EXPECT_EQ(read<Everything>(whole, "/v1/everything/1", R"({"int64_value":2,"numbers":[3]})"),
            "int64_value: 1 numbers: 3")
      << "the path overrides";
  EXPECT_EQ(read<Everything>(whole, "/v1/everything/1", R"({"book":{"year":"x"}})"),
            "field book.year: \"x\" is no int32");
  EXPECT_EQ(read<Everything>(whole, "/v1/everything/1", R"({"a":1})"),
            "field a: the message has no such field");
  EXPECT_EQ(read<Everything>(of_option("Replace", {.ignore_unknown_fields = true}), "/v1/everything/1",
                             R"({"a":1})"),
            "int64_value: 1");
  EXPECT_EQ(read<Everything>(whole, "/v1/everything/1", "{"),
            "the JSON is invalid at line 1, column 2: expected a name in quotes");

  const rest_binding one = of_option("UpdateBook");
  EXPECT_EQ(read<Everything>(one, "/v1/shelves/1/books/2?int32_value=5", R"({"title":"t","name":"other"})"),
            "int32_value: 5 book { name: \"shelves/1/books/2\" title: \"t\" }");
  EXPECT_EQ(read<Everything>(one, "/v1/shelves/1/books/2"), "book { name: \"shelves/1/books/2\" }");
  EXPECT_EQ(read<Everything>(one, "/v1/shelves/1/books/2", R"({"year":"x"})"),
            "field book.year: \"x\" is no int32");
  EXPECT_EQ(read<Everything>(one, "/v1/shelves/1/books/2", R"({},"int32_value":1)"),
            "the JSON is invalid at line 1, column 3: text follows the value");

  for (const auto& [field, body, message] :
       {std::tuple{"int32_value", "5", "int32_value: 5"},
        {"numbers", "[1,2]", "numbers: 1 numbers: 2"},
        {"string_value", "\"s\"", "string_value: \"s\""},
        {"shelf", R"({"a":{}})", "shelf { key: \"a\" value { } }"},
        {"numbers", "1", "the JSON is invalid at line 1, column 1: the field numbers must be an array"}}) {
    const auto b = made("Replace", "PUT", "/x", field);
    ASSERT_TRUE(b.ok()) << b.status();
    EXPECT_EQ(read<Everything>(*b, "/x", body), message);
  }
}

TEST(RestBinding, TakesNoBodyWithoutABodyInTheRule) {
  for (const char* body : {"1", "{\"year\":1}", "{} {}", "{", "}", "[]", "null", "{}x"})
    EXPECT_EQ(read<Everything>(of_option("Search"), "/v1/search", body), "GET /v1/search takes no body")
        << body;
  for (const char* body : {"", "{}", " {\n}\r\n"})
    EXPECT_EQ(read<Everything>(of_option("Search"), "/v1/search", body), "") << "'" << body << "'";
  EXPECT_FALSE(of_option("Search").takes_body());
  EXPECT_TRUE(of_option("Replace").takes_body());
}

TEST(RestBinding, MovesTheBytesOfHttpBody) {
  const rest_binding upload = of_option("Upload");
  EXPECT_TRUE(upload.has_raw_request());
  EXPECT_FALSE(upload.has_raw_reply());
  google::api::HttpBody whole;
  EXPECT_EQ(read(upload, "/v1/uploads", "\xff{not json", whole, "image/png"), "");
  EXPECT_EQ(whole.content_type(), "image/png");
  EXPECT_EQ(whole.data(), "\xff{not json");

  EXPECT_EQ(read(upload, "/v1/uploads", "x", whole, "text/pl\xe4in"), "the content-type is not UTF-8");
  EXPECT_EQ(read(upload, "/v1/uploads", "\xff{not json", whole, "image/png"), "");

  const rest_binding picture = of_option("SetPicture");
  EXPECT_TRUE(picture.has_raw_request());
  EXPECT_TRUE(picture.has_raw_reply());
  Everything part;
  EXPECT_EQ(read(picture, "/v1/pictures/p?int32_value=1", "bytes", part, "text/plain"), "");
  EXPECT_EQ(part.picture().data(), "bytes");
  EXPECT_EQ(part.picture().content_type(), "text/plain");
  EXPECT_EQ(part.string_wrapper().value(), "p");
  EXPECT_EQ(part.int32_value(), 1);

  rest_reply reply;
  ASSERT_EQ(picture.write_reply(whole, reply), status());
  EXPECT_EQ(reply.content_type, "image/png");
  EXPECT_EQ(reply.body, "\xff{not json");
  for (const std::string type : {"", "a\r\nb: c", "a\xff"}) {
    whole.set_content_type(type);
    if (type == "a\xff") whole.mutable_content_type()->assign("a\tb");
    ASSERT_EQ(picture.write_reply(whole, reply), status());
    EXPECT_EQ(reply.content_type, "application/octet-stream") << "a header field cannot be split";
  }

  const auto field = made("Move", "GET", "/x", "", "picture");
  ASSERT_TRUE(field.ok());
  EXPECT_TRUE(field->has_raw_reply());
  ASSERT_EQ(field->write_reply(part, reply), status());
  EXPECT_EQ(reply.content_type + " " + reply.body, "text/plain bytes");
}

TEST(RestBinding, WritesTheReplyOrOneFieldOfIt) {
  Everything m;
  m.set_int32_value(1);
  m.add_numbers(2);
  m.mutable_book()->set_title("t");
  rest_reply reply;
  const auto written = [&](const std::string& response_body, rest_options options = {}) {
    const auto b = made("Replace", "PUT", "/x", "*", response_body, options);
    EXPECT_TRUE(b.ok()) << b.status();
    reply.body = "old";
    EXPECT_EQ(b->write_reply(m, reply), status());
    EXPECT_EQ(reply.content_type, "application/json");
    return reply.body;
  };
  EXPECT_EQ(written(""), R"({"int32Value":1,"book":{"title":"t"},"numbers":[2]})");
  EXPECT_EQ(written("", {.proto_field_names = true}),
            R"({"int32_value":1,"book":{"title":"t"},"numbers":[2]})");
  EXPECT_EQ(written("numbers"), "[2]");
  EXPECT_EQ(written("book"), R"({"title":"t"})");
  EXPECT_EQ(written("book", {.emit_defaults = true}),
            R"({"name":"","title":"t","year":0,"tags":[],"binding":"BINDING_UNSPECIFIED","stock":{}})");
  EXPECT_EQ(written("book", {.emit_defaults = true, .enums_as_numbers = true}),
            R"({"name":"","title":"t","year":0,"tags":[],"binding":0,"stock":{}})");
  EXPECT_EQ(written("int32_value"), "1");
  EXPECT_EQ(written("shelf"), "{}");
  EXPECT_EQ(written("time"), "null");
}

TEST(RestBinding, IsCheckedAgainstTheMessages) {
  const std::string start = "the HTTP rule GET ";
  for (const auto& [path, body, response, error] :
       {std::tuple{"/{nothing}", "", "", "the message rest_kinds.Everything has no field nothing"},
        {"/{book.nothing}", "", "", "the message rest_kinds.Book has no field nothing"},
        {"/{int32Value}", "", "", "the message rest_kinds.Everything has no field int32Value"},
        {"/{numbers}", "", "", "the field numbers is repeated and cannot be a variable of the path"},
        {"/{shelf}", "", "", "the field shelf is repeated and cannot be a variable of the path"},
        {"/{book}", "", "", "the field book is a message and cannot be a variable of the path"},
        {"/{time}", "", "", "the field time is a message and cannot be a variable of the path"},
        {"/{books.title}", "", "", "the field books of the variable books.title has no fields"},
        {"/{int32_value.x}", "", "", "the field int32_value of the variable int32_value.x has no fields"},
        {"/{struct.fields}", "", "", "the field struct of the variable struct.fields has no fields"},
        {"/x", "nothing", "", "the request rest_kinds.Everything has no field nothing, which body names"},
        {"/x", "book.title", "",
         "the request rest_kinds.Everything has no field book.title, which body names"},
        {"/{string_value}", "string_value", "", "the field string_value is both the body and in the path"},
        {"/x", "", "nothing",
         "the response rest_kinds.Everything has no field nothing, which response_body names"},
        {"/x", "", "*", "the response rest_kinds.Everything has no field *, which response_body names"}}) {
    const auto b = made("Replace", "GET", path, body, response);
    ASSERT_FALSE(b.ok()) << path;
    EXPECT_EQ(b.status().code(), status_code::invalid_argument);
    EXPECT_EQ(b.status().message(), start + path + " of rest_kinds.Library.Replace: " + error);
  }
  EXPECT_TRUE(
      made("Replace", "GET", "/{string_wrapper}/{bool_value}/{enum_value}/{bytes_value}/{word}").ok());
}

TEST(RestBinding, RefusesAFieldOfThePathThatIsNestedTooDeep) {
  std::string path = "/{";
  for (std::size_t i = 1; i < rest_binding::field_depth_max; ++i) path += "inner.";
  EXPECT_TRUE(made("Replace", "GET", path + "word}").ok());
  EXPECT_FALSE(made("Replace", "GET", path + "inner.word}").ok());
}

TEST(RestBinding, WorksOnMessagesThatAreMadeAtRunTime) {
  google::protobuf::DescriptorPool pool(google::protobuf::DescriptorPool::generated_pool());
  google::protobuf::DynamicMessageFactory factory(&pool);
  const rest_binding b = of_option("UpdateBook");
  const std::unique_ptr<google::protobuf::Message> request(
      factory.GetPrototype(Everything::descriptor())->New());
  const std::string_view value = "shelves/1/books/2";
  ASSERT_EQ(b.read_request(
                {{&value, 1}, "time=1970-01-01T00:00:01Z&int32_wrapper=5", "", as_bytes(R"({"year":7})")},
                *request),
            status());
  EXPECT_EQ(message_text(*request),
            "book { name: \"shelves/1/books/2\" year: 7 } time { seconds: 1 } int32_wrapper { value: 5 }");
  rest_reply reply;
  ASSERT_EQ(b.write_reply(*request, reply), status());
  EXPECT_EQ(reply.body, R"({"name":"shelves/1/books/2","year":7})");
}

TEST(RestBinding, NoticesValuesOfAnotherTemplate) {
  Everything m;
  EXPECT_EQ(of_option("Replace").read_request({}, m).code(), status_code::internal);
}

}  // namespace
}  // namespace coracle::rest::rest_binding_test
