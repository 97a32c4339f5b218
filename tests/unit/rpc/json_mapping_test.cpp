#include "rpc/json_mapping.hpp"

#include "rest_kinds.pb.h"
#include "support/message_text.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace coracle::rpc::json_mapping_test {
namespace {

using google::protobuf::FieldDescriptor;
using rest_kinds::Everything;
using testing_support::message_text;

const FieldDescriptor& field(const std::string& name) {
  return *Everything::descriptor()->FindFieldByName(name);
}

TEST(JsonMapping, ReadsAMessageAfterClearingIt) {
  Everything m;
  m.set_string_value("old");
  ASSERT_EQ(read_json(m, R"({"int32Value":7,"book":{"title":"t"},"numbers":[1,2]})"), status());
  EXPECT_EQ(m.string_value(), "");
  EXPECT_EQ(m.int32_value(), 7);
  EXPECT_EQ(m.book().title(), "t");
  EXPECT_EQ(m.numbers_size(), 2);
}

TEST(JsonMapping, NamesTheFieldThatIsWrong) {
  for (const auto& [text, error] :
       {std::pair{R"({"int32_value":"abc"})", "field int32_value: \"abc\" is no int32"},
        {R"({"int32Value":3000000000})", "field int32_value: 3000000000 is no int32"},
        {R"({"book":{"year":"x"}})", "field book.year: \"x\" is no int32"},
        {R"({"books":[{},{"year":1.5}]})", "field books[1].year: 1.5 is no int32"},
        {R"({"book":{"yaer":1}})", "field book.yaer: the message has no such field"},
        {R"({"nothing":1})", "field nothing: the message has no such field"},
        {R"({"bytesValue":"%"})", "field bytes_value: \"%\" is no bytes"},
        {R"({"boolValue":"yes"})",
         "the JSON is invalid at line 1, column 14: the field bool_value must be true or false"},
        {"{", "the JSON is invalid at line 1, column 2: expected a name in quotes"},
        {R"({"a":1,"a":1})", "the JSON is invalid at line 1, column 8: the field a is set twice"}}) {
    Everything m;
    const status s = read_json(m, text);
    EXPECT_EQ(s.code(), status_code::invalid_argument);
    EXPECT_EQ(s.message(), error) << text;
  }
}

TEST(JsonMapping, DescribesErrorsInWordsOfItsOwn) {
  for (const auto& [text, error] :
       {std::pair{R"({"time":"x"})", "field time: the value is no valid google.protobuf.Timestamp"},
        {R"({"length":5})", "field length: the value is no valid google.protobuf.Duration"},
        {R"({"word":"a","number":1})", "field number: another field of the oneof choice is set"},
        {R"({"any":{"@type":"type.googleapis.com/no.Such"}})",
         "field any: the value is no valid google.protobuf.Any of a known type"},
        {R"({"any":{"a":1}})", "field any: the value is no valid google.protobuf.Any of a known type"},
        {R"({"enumValue":"N"})", "field enum_value: \"N\" is no rest_kinds.Binding"},
        {R"({"book":"a"})", "field book: \"a\" is no rest_kinds.Book"},
        {R"({"book":[]})", "field book: must not be an array"},
        {R"({"stringValue":{}})", "field string_value: must not be an object"},
        {R"({"doubleValue":1e999})",
         "the JSON is invalid at line 1, column 16: a number is beyond the range of a double"},
        {R"({"unknown":[-1e999]})",
         "the JSON is invalid at line 1, column 13: a number is beyond the range of a double"}}) {
    Everything m;
    EXPECT_EQ(read_json(m, text).message(), error) << text;
  }
}

TEST(JsonMapping, ReadsAndWritesACord) {
  Everything m;
  m.GetReflection()->SetString(&m, &field("cord_value"), std::string(1'000, 'x'));
  std::string text;
  EXPECT_EQ(write_json(m, text), status());
  std::string by_protobuf;
  EXPECT_EQ(write_json_by_protobuf(m, by_protobuf), status());
  EXPECT_EQ(text, by_protobuf);
  Everything read;
  EXPECT_EQ(read_json(read, text), status());
  EXPECT_EQ(read.GetReflection()->GetString(read, &field("cord_value")), std::string(1'000, 'x'));
}

TEST(JsonMapping, FindsTheWrongOneOfManyValues) {
  const auto books = [](int n, const std::string& title) {
    std::string text = R"({"books":[)";
    for (int i = 0; i < n; ++i) text += R"({"title":"a title of some length","year":1},)";
    return text + R"({"year":1,"title":)" + title + "}]}";
  };
  Everything m;
  EXPECT_EQ(read_json(m, books(2'000, "5")).message(), "field books[2000].title: 5 is no string");
  EXPECT_EQ(read_json(m, R"({"shelf":{"a":{},"b":{"year":"x"}}})").message(),
            R"(field shelf["b"].year: "x" is no int32)");
  EXPECT_EQ(read_json(m, R"({"flags":{"1":true,"x":true}})").message(),
            R"(field flags: the key "x" is no int64)");
  EXPECT_EQ(read_json(m, R"( { "book" : { "ye\u0061r" : "x" } } )").message(),
            R"(field book.year: "x" is no int32)");
}

// The search reads parts of the text again: what nests a fault deeply in a long text has only the way to it
// described.
TEST(JsonMapping, LimitsTheSearchForWhatIsWrong) {
  std::string text = R"({"year":"x","title":")" + std::string(4u << 20, 'a') + "\"}";
  text = R"({"book":)" + text + "}";
  for (int i = 0; i < 90; ++i) text = R"({"inner":)" + text + "}";
  Everything m;
  const status s = read_json(m, text);
  EXPECT_EQ(s.code(), status_code::invalid_argument);
  EXPECT_TRUE(s.message().starts_with("field inner")) << s.message();
  EXPECT_EQ(s.message().find("year"), std::string::npos) << s.message();
  // Each value would take 20 times its bytes.
  std::string numbers = "1";
  for (int i = 0; i < 200'000; ++i) numbers += ",1";
  EXPECT_EQ(read_json(m, R"({"numbers":[)" + numbers + R"(,"x"]})").message(),
            "field numbers: the value is no valid int32");
}

// What each value costs is a bound for what reading it takes, whichever of the two ways it goes.
TEST(JsonMapping, LimitsTheValuesOfAPeersMessage) {
  constexpr std::size_t limit = 1u << 20;
  const auto list = [](std::string text, std::string_view unit, std::string_view end, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) text.append(unit).append(",");
    return text.append(unit).append(end);
  };
  const auto code = [](const std::string& text) {
    json_cost cost{limit};
    Everything m;
    return read_json(m, text, {.ignore_unknown_fields = true, .cost = &cost}).code();
  };
  constexpr std::size_t plain = limit / json_cost::plain_value_bytes;
  constexpr std::size_t mapped = limit / json_cost::mapped_value_bytes;
  for (const auto& [begin, unit, end, max] : {std::tuple{R"({"names":[)", R"("")", "]}", plain},
                                              {R"({"books":[)", "{}", "]}", plain / 2},
                                              {R"({"unknown":[)", "{}", "]}", mapped},
                                              {R"({"struct":{"a":[)", "[]", "]}}", mapped},
                                              {R"({"mask":")", "a", R"("})", mapped * 32 / 33}}) {
    EXPECT_EQ(code(list(begin, unit, end, max - 20)), status_code::ok) << begin;
    EXPECT_EQ(code(list(begin, unit, end, max + 20)), status_code::resource_exhausted) << begin;
  }
}

TEST(JsonMapping, RefusesValuesOfAnotherType) {
  for (const std::string_view text :
       {"[]", "1", "\"x\"", "null", R"({"book":[]})", R"({"book":1})", R"({"numbers":1})",
        R"({"numbers":{}})", R"({"enumValue":"NONE"})", R"({"time":"x"})", R"({"time":5})",
        R"({"length":"1"})", R"({"word":"a","number":1})", R"({"shelf":[]})", R"({"flags":{"x":true}})",
        R"({"floatValue":1e50})", R"({"uint32Value":-1})",
        R"({"any":{"@type":"type.googleapis.com/no.Such"}})", R"({"any":{"a":1}})"}) {
    Everything m;
    const status s = read_json(m, text);
    EXPECT_EQ(s.code(), status_code::invalid_argument) << text;
    EXPECT_NE(s.message(), "") << text;
  }
}

TEST(JsonMapping, DoesNotRepeatLongOrUnprintableValuesInErrors) {
  Everything m;
  const status s = read_json(m, R"({"int32Value":")" + std::string(10'000, 'x') + "\xc3\xa9\"}");
  EXPECT_LT(s.message().size(), 500u);
  const status foreign = read_json(m, "{\"int32Value\":\"\xc3\xa9\"}");
  EXPECT_EQ(foreign.message(), "field int32_value: \"??\" is no int32");
}

TEST(JsonMapping, IgnoresUnknownFieldsWhereThatIsWanted) {
  Everything m;
  EXPECT_EQ(read_json(m, R"({"nothing":{"a":[1]},"int32Value":1})", {.ignore_unknown_fields = true}),
            status());
  EXPECT_EQ(m.int32_value(), 1);
  EXPECT_FALSE(read_json(m, R"({"int32Value":"x"})", {.ignore_unknown_fields = true}).ok());
}

TEST(JsonMapping, ReadsTheValueOfOneFieldOfAnyKind) {
  for (const auto& [name, text, result] :
       {std::tuple{"int32_value", "5", "int32_value: 5"},
        {"int64_value", "\"5\"", "int64_value: 5"},
        {"string_value", "\"a\\u0062\"", "string_value: \"ab\""},
        {"enum_value", "\"PAPERBACK\"", "enum_value: PAPERBACK"},
        {"book", R"({"title":"t"})", "book { title: \"t\" }"},
        {"book", "null", ""},
        {"numbers", "[1,2]", "numbers: 1 numbers: 2"},
        {"books", R"([{"year":1}])", "books { year: 1 }"},
        {"shelf", R"({"a":{"year":1}})", "shelf { key: \"a\" value { year: 1 } }"},
        {"time", "\"1970-01-01T00:00:01Z\"", "time { seconds: 1 }"},
        {"int32_wrapper", "0", "int32_wrapper { }"},
        {"other_name", "\"x\"", "other_name: \"x\""}}) {
    Everything m;
    m.set_double_value(1);
    EXPECT_EQ(read_json_field(m, field(name), text), status()) << text;
    EXPECT_EQ(message_text(m), result) << name;
  }
}

TEST(JsonMapping, LetsNoValueSetAnotherField) {
  for (const std::string_view text : {R"(1,"string_value":"x")", R"(1},{"a":1)", "1 ", " 1", "", "}"}) {
    Everything m;
    (void)read_json_field(m, field("int32_value"), text);
    EXPECT_EQ(m.string_value(), "") << text;
  }
  Everything m;
  EXPECT_FALSE(read_json_field(m, field("int32_value"), R"(1,"string_value":"x")").ok());
  EXPECT_EQ(read_json_field(m, field("book"), R"({"year":"x"})").message(),
            "field book.year: \"x\" is no int32");
}

TEST(JsonMapping, WritesWithTheOptionsNames) {
  Everything m;
  m.set_int32_value(1);
  m.set_enum_value(rest_kinds::HARDCOVER);
  std::string to;
  ASSERT_EQ(write_json(m, to), status());
  EXPECT_EQ(to, R"({"int32Value":1,"enumValue":"HARDCOVER"})");
  to.clear();
  ASSERT_EQ(write_json(m, to, {.proto_field_names = true, .enums_as_numbers = true}), status());
  EXPECT_EQ(to, R"({"int32_value":1,"enum_value":1})");
  to = "x";
  rest_kinds::Author author;
  ASSERT_EQ(write_json(author, to, {.emit_defaults = true}), status());
  EXPECT_EQ(to, R"(x{"givenName":""})");
}

TEST(JsonMapping, ReportsWhatJsonCannotHold) {
  Everything m;
  m.mutable_time()->set_seconds(1'000'000'000'000);
  std::string to;
  const status s = write_json(m, to);
  EXPECT_EQ(s.code(), status_code::internal);
  EXPECT_NE(s.message().find("rest_kinds.Everything"), std::string_view::npos) << s;
  EXPECT_EQ(to, "");
}

TEST(JsonMapping, WritesTheValueOfOneFieldOfAnyKind) {
  Everything m;
  m.set_int32_value(5);
  m.set_int64_value(6);
  m.set_float_value(1.5);
  m.set_bool_value(true);
  m.set_string_value("a:\"b\"");
  m.set_bytes_value("\xff");
  m.set_enum_value(rest_kinds::PAPERBACK);
  m.add_numbers(1);
  m.add_numbers(2);
  m.mutable_book()->set_title("t");
  m.add_books()->set_year(1);
  m.add_books();
  (*m.mutable_shelf())["a\"b"].set_year(3);
  (*m.mutable_flags())[-4] = true;
  m.mutable_time()->set_seconds(1);
  m.mutable_int32_wrapper()->set_value(0);
  m.add_int64_wrappers()->set_value(7);
  m.set_other_name("o");
  (*m.mutable_struct_()->mutable_fields())["k"].set_bool_value(true);
  for (const auto& [name, json] : {std::pair{"int32_value", "5"},
                                   {"int64_value", "\"6\""},
                                   {"float_value", "1.5"},
                                   {"bool_value", "true"},
                                   {"string_value", R"("a:\"b\"")"},
                                   {"bytes_value", "\"/w==\""},
                                   {"enum_value", "\"PAPERBACK\""},
                                   {"numbers", "[1,2]"},
                                   {"book", R"({"title":"t"})"},
                                   {"books", R"([{"year":1},{}])"},
                                   {"shelf", R"({"a\"b":{"year":3}})"},
                                   {"flags", R"({"-4":true})"},
                                   {"time", "\"1970-01-01T00:00:01Z\""},
                                   {"int32_wrapper", "0"},
                                   {"int64_wrappers", "[\"7\"]"},
                                   {"other_name", "\"o\""},
                                   {"struct", R"({"k":true})"}}) {
    std::string to;
    EXPECT_EQ(write_json_field(m, field(name), to), status()) << name;
    EXPECT_EQ(to, json) << name;
    // It is what a reader takes for the same field.
    Everything back;
    EXPECT_EQ(read_json_field(back, field(name), to), status()) << name;
    std::string again;
    EXPECT_EQ(write_json_field(back, field(name), again), status()) << name;
    EXPECT_EQ(again, json);
  }
  std::string to;
  EXPECT_EQ(write_json_field(m, field("books"), to, {.proto_field_names = true, .emit_defaults = true}),
            status());
  EXPECT_EQ(to, R"([{"name":"","title":"","year":1,"tags":[],"binding":"BINDING_UNSPECIFIED","stock":{}},)"
                R"({"name":"","title":"","year":0,"tags":[],"binding":"BINDING_UNSPECIFIED","stock":{}}])");
}

TEST(JsonMapping, WritesAFieldWithoutAValueAsItsDefault) {
  const Everything m;
  for (const auto& [name, json] : {std::pair{"int32_value", "0"},
                                   {"uint32_value", "0"},
                                   {"int64_value", "\"0\""},
                                   {"fixed64_value", "\"0\""},
                                   {"double_value", "0"},
                                   {"bool_value", "false"},
                                   {"string_value", "\"\""},
                                   {"bytes_value", "\"\""},
                                   {"enum_value", "\"BINDING_UNSPECIFIED\""},
                                   {"numbers", "[]"},
                                   {"shelf", "{}"},
                                   {"book", "{}"},
                                   {"time", "null"},
                                   {"int32_wrapper", "null"}}) {
    std::string to;
    EXPECT_EQ(write_json_field(m, field(name), to), status());
    EXPECT_EQ(to, json) << name;
  }
  std::string to;
  EXPECT_EQ(write_json_field(m, field("enum_value"), to, {.enums_as_numbers = true}), status());
  EXPECT_EQ(to, "0");
}

}  // namespace
}  // namespace coracle::rpc::json_mapping_test
