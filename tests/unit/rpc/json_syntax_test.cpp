#include "rpc/json_syntax.hpp"

#include "rest_kinds.pb.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace coracle::rpc::json_syntax_test {
namespace {

using rest_kinds::Everything;

std::string nested(std::size_t depth, const std::string& open, const std::string& inner,
                   const std::string& close) {
  std::string text;
  for (std::size_t i = 0; i < depth; ++i) text += open;
  text += inner;
  for (std::size_t i = 0; i < depth; ++i) text += close;
  return text;
}

TEST(JsonSyntax, AcceptsOneValue) {
  for (const std::string_view text : {"{}",
                                      "[]",
                                      "null",
                                      "true",
                                      "false",
                                      "0",
                                      "-0",
                                      "12",
                                      "-1.5",
                                      "1e5",
                                      "1E+5",
                                      "0.1e-9",
                                      "\"\"",
                                      "\"a\"",
                                      " \t\r\n{ \"a\" : [ 1 , 2 ] } \n",
                                      "[[],[{}]]",
                                      "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"",
                                      "\"\\ud83d\\uDE00\"",
                                      "\"\xf0\x9f\x98\x80\"",
                                      "{\"a\":1,\"b\":1,\"A\":1}",
                                      "{\"\":1}",
                                      "{\"a\":{\"a\":1},\"b\":{\"a\":1}}",
                                      "[{\"a\":1},{\"a\":1}]",
                                      "\"\x7f\""})
    EXPECT_EQ(check_json(text), status()) << text;
}

TEST(JsonSyntax, NamesTheLineAndColumnOfWhatIsNoJson) {
  for (const auto& [text, line, column, reason] :
       {std::tuple{"", 1, 1, "a value is missing"},
        {" \n ", 2, 2, "a value is missing"},
        {"{", 1, 2, "expected a name in quotes"},
        {"{\"a\"", 1, 5, "expected ':'"},
        {"{\"a\":", 1, 6, "a value is malformed"},
        {"{\"a\":1", 1, 7, "expected ',' or '}'"},
        {"{\"a\":1,}", 1, 8, "expected a name in quotes"},
        {"{a:1}", 1, 2, "expected a name in quotes"},
        {"{'a':1}", 1, 2, "expected a name in quotes"},
        {"{\n\"a\":\n x}", 3, 2, "a value is malformed"},
        {"[1,]", 1, 4, "a value is malformed"},
        {"[1 2]", 1, 4, "expected ',' or ']'"},
        {"[", 1, 2, "a value is malformed"},
        {"]", 1, 1, "a value is malformed"},
        {"{} {}", 1, 4, "text follows the value"},
        {"1,\"b\":2", 1, 2, "text follows the value"},
        {"nul", 1, 1, "a value is malformed"},
        {"nullx", 1, 5, "text follows the value"},
        {"NaN", 1, 1, "a value is malformed"},
        {"01", 1, 2, "text follows the value"},
        {"+1", 1, 1, "a value is malformed"},
        {"-", 1, 2, "a value is malformed"},
        {"1.", 1, 3, "a value is malformed"},
        {".5", 1, 1, "a value is malformed"},
        {"1e", 1, 3, "a value is malformed"},
        {"\"a", 1, 3, "the quote at the end of a string is missing"},
        {"\"a\\", 1, 4, "an escape in a string is malformed"},
        {"\"\\x\"", 1, 3, "an escape in a string is malformed"},
        {"\"\\u12g4\"", 1, 6, "'\\u' must be followed by four hexadecimal digits"},
        {"\"\\u12", 1, 6, "'\\u' must be followed by four hexadecimal digits"},
        {"\"\\ud800\"", 1, 7, "a high surrogate without a low one"},
        {"\"\\ud800\\u0041\"", 1, 13, "a high surrogate without a low one"},
        {"\"\\udc00\"", 1, 7, "a low surrogate without a high one"},
        {"\"\n\"", 1, 2, "a control character within a string must be escaped"},
        {"\"\xff\"", 1, 2, "the text is not UTF-8"},
        {"\"\xed\xa0\x80\"", 1, 2, "the text is not UTF-8"},
        {"\xef\xbb\xbf{}", 1, 1, "a value is malformed"},
        {"// x\n1", 1, 1, "a value is malformed"},
        {"{\"a\":1,\n\"b\":2,\"a\":3}", 2, 7, "the field a is set twice"},
        {"{\"a\":1,\"\\u0061\":3}", 1, 8, "the field a is set twice"},
        {"{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":3}", 1, 19, "the field ???? is set twice"},
        {"{\"\\u00e9\":1,\"\xc3\xa9\":3}", 1, 13, "the field ?? is set twice"},
        {"{\"\\u20ac\":1,\"\xe2\x82\xac\":3}", 1, 13, "the field ??? is set twice"},
        {"{\"\\n\\/\":1,\"\\n/\":3}", 1, 11, "the field ?/ is set twice"}}) {
    const status s = check_json(text);
    EXPECT_EQ(s.code(), status_code::invalid_argument);
    EXPECT_EQ(s.message(), "the JSON is invalid at line " + std::to_string(line) + ", column " +
                               std::to_string(column) + ": " + reason)
        << text;
  }
  EXPECT_FALSE(check_json(std::string_view("\0", 1)).ok());
  EXPECT_FALSE(check_json(std::string_view("1\0", 2)).ok());
}

TEST(JsonSyntax, AllowsAHundredLevels) {
  EXPECT_TRUE(check_json(nested(json_depth_max, "[", "", "]")).ok());
  EXPECT_TRUE(check_json(nested(json_depth_max, "{\"a\":", "1", "}")).ok());
  for (const auto& text :
       {nested(json_depth_max + 1, "[", "", "]"), nested(json_depth_max + 1, "{\"a\":", "1", "}"),
        std::string(1'000'000, '['), nested(300'000, "[{\"a\":", "", "")}) {
    const status s = check_json(text);
    EXPECT_NE(s.message().find("the text is nested deeper than 100"), std::string_view::npos) << s;
  }
}

TEST(JsonSyntax, CountsTheTwoNamesOfAFieldAsOne) {
  const auto& type = *rest_kinds::Everything::descriptor();
  for (const auto& [text, twin] :
       {std::pair{R"({"int32_value":1,"int32Value":1})", "int32_value"},
        {R"({"book":{"title":"a","title":"b"}})", "title"},
        {R"({"book":{"author":{"given_name":"a","givenName":"b"}}})", "given_name"},
        {R"({"books":[{},{"author":{"given_name":"a","givenName":"b"}}]})", "given_name"},
        {R"({"shelf":{"x":{"author":{"given_name":"","givenName":""}}}})", "given_name"},
        {R"({"shelf":{"given_name":{},"given_name":{}}})", "given_name"},
        {R"({"other_name":"","renamed":""})", "other_name"},
        {R"({"struct":{"a":1,"a":2}})", "a"},
        {R"({"unknown":{"a":1,"a":2}})", "a"},
        {R"({"any":{"@type":"x","@type":"y"}})", "@type"}}) {
    const status s = check_json(text, &type);
    EXPECT_TRUE(s.message().ends_with("the field " + std::string(twin) + " is set twice")) << text << s;
  }
  for (const std::string_view text :
       {R"({"shelf":{"given_name":{},"givenName":{}}})", R"({"struct":{"int32_value":1,"int32Value":2}})",
        R"({"unknown":{"int32_value":1,"int32Value":2}})", R"({"otherName":"","renamed":""})",
        R"({"book":{"title":""},"inner":{"book":{"title":""}}})"})
    EXPECT_EQ(check_json(text, &type), status()) << text;
}

TEST(JsonSyntax, DistinguishesOneValueFromSeveral) {
  const auto& type = *rest_kinds::Everything::descriptor();
  for (const auto& [text, error] :
       {std::pair{R"({"numbers":1})", "the field numbers must be an array"},
        {R"({"numbers":{}})", "the field numbers must be an array"},
        {R"({"times":"x"})", "the field times must be an array"},
        {R"({"shelf":[]})", "the field shelf must be an object"},
        {R"({"boolValue":"yes"})", "the field bool_value must be true or false"},
        {R"({"boolValue":1})", "the field bool_value must be true or false"},
        {R"({"flags":{"1":"true"}})", "the field value must be true or false"},
        {R"({"inner":{"books":[{"tags":"x"}]}})", "the field tags must be an array"}}) {
    const status s = check_json(text, &type);
    EXPECT_TRUE(s.message().ends_with(error)) << text << s;
  }
  for (const std::string_view text :
       {R"({"numbers":null,"shelf":null,"boolValue":null})", R"({"numbers":[],"flags":{"1":true}})",
        R"({"boolWrapper":true,"struct":{"numbers":1},"value":[1]})"})
    EXPECT_EQ(check_json(text, &type), status()) << text;
}

TEST(JsonSyntax, OfAFieldIsThatOfItsValue) {
  const auto& type = *rest_kinds::Everything::descriptor();
  EXPECT_TRUE(check_json(R"([{"name":"a"}])", *type.FindFieldByName("books")).ok());
  EXPECT_FALSE(
      check_json(R"([{"author":{"given_name":"","givenName":""}}])", *type.FindFieldByName("books")).ok());
  EXPECT_FALSE(
      check_json(R"({"k":{"author":{"given_name":"","givenName":""}}})", *type.FindFieldByName("shelf"))
          .ok());
  EXPECT_TRUE(check_json(R"({"given_name":{},"givenName":{}})", *type.FindFieldByName("shelf")).ok());
}

TEST(JsonSyntax, HasNoNullInArraysAndMaps) {
  for (const std::string_view text :
       {R"({"numbers":[null]})", R"({"books":[{},null]})", R"({"names":["a",null]})", R"({"times":[null]})",
        R"({"int64Wrappers":[null]})", R"({"flags":{"1":null}})", R"({"shelf":{"a":null}})",
        R"({"inner":{"inner":{"numbers":[null]}}})", R"({"books":[{"stock":{"a":null}}]})"}) {
    const status s = check_json(text, Everything::descriptor());
    EXPECT_EQ(s.code(), status_code::invalid_argument) << text;
    EXPECT_NE(s.message().find("null is no value of an array or a map"), std::string_view::npos) << s;
  }
  for (const std::string_view text :
       {R"({"numbers":null})", R"({"book":null})", R"({"flags":null})", R"({"value":[null]})",
        R"({"struct":{"a":null,"b":[null]}})", R"({"unknown":[null]})", R"({"any":{"a":[null]}})"})
    EXPECT_EQ(check_json(text, Everything::descriptor()), status()) << text;
}

TEST(JsonSyntax, HasNumbersOfTheRangeOfADouble) {
  const std::string long_number(400, '9');
  for (const std::string& text : {std::string("1e309"), std::string("-1e309"), std::string("1e99999999999"),
                                  long_number, "-" + long_number + ".5"})
    EXPECT_EQ(check_json("[" + text + "]").message(),
              "the JSON is invalid at line 1, column 2: a number is beyond the range of a double")
        << text;
  for (const std::string& text :
       {std::string("1e308"), std::string("1e-999"), "0." + long_number, long_number + "e-200"})
    EXPECT_EQ(check_json("[" + text + "]"), status()) << text;
}

// protobuf 3.21 takes a minute for a mask of 200 KB with nested parentheses.
TEST(JsonSyntax, OfAFieldMaskHasNoParentheses) {
  EXPECT_EQ(check_json(R"({"mask":"a,b.c"})", Everything::descriptor()), status());
  for (const std::string_view text : {R"j({"mask":"a(b,c)"})j", R"j({"mask":"a\u0028b,c)"})j"})
    EXPECT_EQ(check_json(text, Everything::descriptor()).message(),
              "the JSON is invalid at line 1, column 9: a field mask has no parentheses");
}

std::size_t cost_of(const std::string& text) {
  json_cost cost;
  EXPECT_EQ(check_json(text, Everything::descriptor(), &cost), status()) << text;
  return cost.used / json_cost::mapped_value_bytes;
}

TEST(JsonSyntax, CountsWhatTheMappingHasToRead) {
  EXPECT_EQ(cost_of("{}"), 1u);
  EXPECT_EQ(cost_of(R"({"numbers":[1,2,3],"book":{"year":1}})"), 7u);
  EXPECT_EQ(cost_of(R"({"flags":{"1":true,"2":false}})"), 6u);  // keys, too
  EXPECT_EQ(cost_of(R"({"mask":"a,b,c"})"), 4u);
  EXPECT_EQ(cost_of(R"({"names":["a,b,c"]})"), 3u);
  // Each Any around a value has it read again.
  EXPECT_GT(cost_of(R"({"any":{"value":{"value":{"value":[1,2,3,4]}}}})"),
            4 * cost_of(R"({"numbers":[1,2,3,4]})"));
  EXPECT_GT(cost_of(R"({"any":{"value":")" + std::string(100'000, '(') + R"("}})"), 1'000'000u);
}

TEST(JsonSyntax, StopsAtTheLimitOfTheCost) {
  json_cost cost{10 * json_cost::mapped_value_bytes};
  EXPECT_EQ(check_json("[1,2,3,4,5,6,7,8]", nullptr, &cost), status());
  cost.used = 0;
  const status s = check_json("[1,2,3,4,5,6,7,8,9,10, no JSON", nullptr, &cost);
  EXPECT_EQ(s.code(), status_code::resource_exhausted);
  EXPECT_EQ(
      s.message().find("max_receive_bytes exceeded: a message in JSON has too many values, limit 10 to 80"),
      0u)
      << s;
  EXPECT_EQ(cost.used, cost.max);
}

TEST(JsonSyntax, ChecksManyNamesInReasonableTime) {
  std::string text = "{";
  for (int i = 0; i < 200'000; ++i) text += "\"" + std::to_string(i) + "\":0,";
  EXPECT_TRUE(check_json(text + "\"x\":0}").ok());
  EXPECT_FALSE(check_json(text + "\"0\":0}").ok());
}

TEST(JsonString, IsQuotedSoThatItIsReadBack) {
  for (const auto& [text, quoted] : {std::pair<std::string_view, std::string_view>{"", "\"\""},
                                     {"a\"b\\c", "\"a\\\"b\\\\c\""},
                                     {"\n\t\x01\x1f", "\"\\n\\u0009\\u0001\\u001f\""},
                                     {"\xc3\xa9", "\"\xc3\xa9\""},
                                     {"a\xff"
                                      "b\xc3",
                                      "\"a\xef\xbf\xbd"
                                      "b\xef\xbf\xbd\""},
                                     {std::string_view("\0", 1), "\"\\u0000\""}}) {
    std::string to = "x";
    append_json_string(to, text);
    EXPECT_EQ(to, "x" + std::string(quoted));
    EXPECT_TRUE(check_json(quoted).ok());
  }
}

}  // namespace
}  // namespace coracle::rpc::json_syntax_test
