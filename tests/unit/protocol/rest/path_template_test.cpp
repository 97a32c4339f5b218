#include "protocol/rest/path_template.hpp"

#include <gtest/gtest.h>

namespace coracle::protocol::rest::path_template_test {
namespace {

// "/v1/{name=shelves/*}:x" as "v1 shelves * | name=1-3+ | x"; '+' marks a value that may contain '/'.
std::string shape(std::string_view text) {
  const auto t = path_template::parse(text);
  if (!t.ok()) return std::string(t.status().message());
  std::string out;
  for (const auto& s : t->segments())
    out.append(s.kind == path_template::segment_kind::one    ? "*"
               : s.kind == path_template::segment_kind::rest ? "**"
                                                             : s.literal)
        .append(" ");
  for (const auto& v : t->variables())
    out.append("| ")
        .append(v.field_path)
        .append("=")
        .append(std::to_string(v.first))
        .append("-")
        .append(std::to_string(v.end))
        .append(v.several ? "+ " : " ");
  return out.append("| ").append(t->verb());
}

TEST(PathTemplate, IsParsedByTheGrammar) {
  for (const auto& [text, expected] :
       {std::pair{"/", "| "},
        {"/v1", "v1 | "},
        {"/v1/*/x", "v1 * x | "},
        {"/v1/**", "v1 ** | "},
        {"/**", "** | "},
        {"/v1/{id}", "v1 * | id=1-2 | "},
        {"/v1/{id=*}", "v1 * | id=1-2 | "},
        {"/v1/{id=fixed}", "v1 fixed | id=1-2 | "},
        {"/v1/{path=**}", "v1 ** | path=1-2+ | "},
        {"/{name=shelves/*/books/**}:verb", "shelves * books ** | name=0-4+ | verb"},
        {"/{a.b.c}/{d_1}", "* * | a.b.c=0-1 | d_1=1-2 | "},
        {"/v1:cancel", "v1 | cancel"},
        {"/:cancel", "| cancel"},
        {"/a:b/c", "a:b c | "},
        {"/a:b:c", "a:b | c"},
        {"/{x=a:b/*}", "a:b * | x=0-2+ | "},
        {"/a%20b/%7Bx%7D", "a b {x} | "},
        {"/caf\xc3\xa9/x", "caf\xc3\xa9 x | "},
        {"/-._~!$&'()+,;=@", "-._~!$&'()+,;=@ | "}}) {
    EXPECT_EQ(shape(text), expected) << text;
    const auto parsed = path_template::parse(text);
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(parsed->text(), text);
  }
}

TEST(PathTemplate, ThatIsMalformedNamesThePosition) {
  for (const auto& [text, position, reason] : {std::tuple{"", 0, "a template must begin with '/'"},
                                               {"v1", 0, "a template must begin with '/'"},
                                               {"//", 1, "an empty segment"},
                                               {"/v1/", 4, "an empty segment"},
                                               {"/v1//x", 4, "an empty segment"},
                                               {"/**/x", 3, "'**' must be the last segment"},
                                               {"/{a=**}/x", 7, "'**' must be the last segment"},
                                               {"/{a=**/x}", 6, "'**' must be the last segment"},
                                               {"/***", 3, "'*' must be a whole segment"},
                                               {"/*a", 2, "'*' must be a whole segment"},
                                               {"/a*", 2, "unexpected '*'"},
                                               {"/{a", 3, "'}' is missing"},
                                               {"/{a=x", 5, "'}' is missing"},
                                               {"/{}", 2, "expected the name of a field"},
                                               {"/{1a}", 2, "expected the name of a field"},
                                               {"/{a.}", 4, "expected the name of a field"},
                                               {"/{a..b}", 4, "expected the name of a field"},
                                               {"/{a=}", 4, "unexpected '}'"},
                                               {"/{a=x/}", 6, "unexpected '}'"},
                                               {"/{a={b}}", 4, "a variable within a variable"},
                                               {"/{a}b", 4, "expected '/' after a variable"},
                                               {"/{a}{b}", 4, "expected '/' after a variable"},
                                               {"/{a}/{a}", 6, "the variable a is named twice"},
                                               {"/x{a}", 2, "unexpected '{'"},
                                               {"/a}", 2, "unexpected '}'"},
                                               {"/a b", 2, "unexpected ' '"},
                                               {"/a?b", 2, "unexpected '?'"},
                                               {"/a\n", 2, "unexpected '?'"},
                                               {"/a%2", 2, "'%' must be followed by two hexadecimal digits"},
                                               {"/a%zz", 2, "'%' must be followed by two hexadecimal digits"},
                                               {"/a:", 3, "the verb after ':' is empty"},
                                               {"/a:b*", 4, "a verb is a literal"},
                                               {"/{a:b}", 3, "unexpected ':'"}}) {
    const auto t = path_template::parse(text);
    ASSERT_FALSE(t.ok()) << text;
    EXPECT_EQ(t.status().code(), status_code::invalid_argument);
    const std::string end = "position " + std::to_string(position) + ": " + reason;
    EXPECT_TRUE(t.status().message().ends_with(end)) << text << "\n" << t.status() << "\n" << end;
  }
}

std::string repeated(std::string_view unit, std::size_t n) {
  std::string all;
  while (n-- > 0) all += unit;
  return all;
}

TEST(PathTemplate, HasItsLimits) {
  EXPECT_TRUE(path_template::parse(repeated("/a", path_template::segments_max)).ok());
  EXPECT_FALSE(path_template::parse(repeated("/a", path_template::segments_max + 1)).ok());
  EXPECT_TRUE(path_template::parse("/" + std::string(path_template::bytes_max - 1, 'a')).ok());
  EXPECT_FALSE(path_template::parse("/" + std::string(path_template::bytes_max, 'a')).ok());
  std::string variables;
  for (std::size_t i = 0; i < path_template::variables_max; ++i) variables += "/{v" + std::to_string(i) + "}";
  EXPECT_TRUE(path_template::parse(variables).ok());
  EXPECT_FALSE(path_template::parse(variables + "/{one_more}").ok());
}

TEST(PathTemplate, MayHaveAVariableForEachSegment) {
  std::string nineteen = "/v1";
  for (int i = 0; i < 19; ++i) nineteen += "/{field_" + std::to_string(i) + "}";
  const auto parsed = path_template::parse(nineteen);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->variables().size(), 19u);
}

}  // namespace
}  // namespace coracle::protocol::rest::path_template_test
