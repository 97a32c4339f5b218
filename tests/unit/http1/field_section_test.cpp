#include "http1/field_section.hpp"

#include <gtest/gtest.h>
#include <string>

namespace coracle::http1::field_section_test {
namespace {

refusal add(std::string_view line) {
  field_section section;
  return section.add(line, 0);
}

TEST(Http1FieldSection, HasNamesAndValuesWithoutTheWhiteSpaceAroundThem) {
  const std::string octets = "A:b\r\nLong-Name: \t a b \t\r\nEmpty:\r\nBlank: \r\n";
  field_section section;
  for (std::size_t at = 0; at < octets.size();) {
    const std::size_t end = octets.find('\r', at);
    ASSERT_FALSE(section.add(std::string_view(octets).substr(at, end - at), at));
    at = end + 2;
  }
  ASSERT_EQ(section.size(), 4u);
  EXPECT_EQ(section.lines()[0].name(octets), "A");
  EXPECT_EQ(section.lines()[0].value(octets), "b");
  EXPECT_EQ(section.lines()[1].name(octets), "Long-Name");
  EXPECT_EQ(section.lines()[1].value(octets), "a b");
  EXPECT_EQ(section.lines()[2].value(octets), "");
  EXPECT_EQ(section.lines()[3].value(octets), "");
}

TEST(Http1FieldSection, RefusesAContinuedLine) {
  EXPECT_EQ(add(" a: b").reason, "a field line that begins with white space (obs-fold)");
  EXPECT_EQ(add("\ta").reason, "a field line that begins with white space (obs-fold)");
}

TEST(Http1FieldSection, RefusesWhiteSpaceBeforeTheColon) {
  for (const char* line : {"a : b", "a\t: b", "a b: c"})
    EXPECT_EQ(add(line).reason, "white space within or after a field name") << line;
}

TEST(Http1FieldSection, RefusesAnEmptyName) { EXPECT_EQ(add(": b").reason, "a field with an empty name"); }

TEST(Http1FieldSection, RefusesALineWithoutAColon) {
  EXPECT_EQ(add("abc").reason, "a field line without a colon");
}

TEST(Http1FieldSection, RefusesANameThatIsNoToken) {
  for (const char* line : {"a(: b", "a\x01: b", "a\x80: b", "\"a\": b", "a/b: c", "a\x7f: b"})
    EXPECT_EQ(add(line).reason, "a field name with a forbidden character") << line;
}

// At every position of a word of eight octets, which the check reads at once.
TEST(Http1FieldSection, RefusesEveryControlCharacterInAValueButTab) {
  for (int c = 0; c < 256; ++c)
    for (std::size_t at = 0; at < 17; ++at) {
      std::string value(17, 'v');
      value[at] = static_cast<char>(c);
      const bool control = (c < 0x20 && c != '\t') || c == 0x7f;
      EXPECT_EQ(static_cast<bool>(add("a: \"" + value + "\"")), control) << c << " at " << at;
    }
}

TEST(Http1FieldSection, KnowsItsOwnFieldsInAnyCase) {
  EXPECT_EQ(kind_of_field("host"), field_kind::host);
  EXPECT_EQ(kind_of_field("HOST"), field_kind::host);
  EXPECT_EQ(kind_of_field("Content-Length"), field_kind::content_length);
  EXPECT_EQ(kind_of_field("tRANSFER-eNCODING"), field_kind::transfer_encoding);
  EXPECT_EQ(kind_of_field("Connection"), field_kind::connection);
  EXPECT_EQ(kind_of_field("Expect"), field_kind::expect);
  EXPECT_EQ(kind_of_field("TE"), field_kind::te);
  for (const char* name : {"Keep-Alive", "Proxy-Connection", "Trailer", "Upgrade"})
    EXPECT_EQ(kind_of_field(name), field_kind::hop_by_hop) << name;
  for (const char* name : {"hose", "content-lengthy", "tf", "x", "content_length", "transfer_encoding"})
    EXPECT_EQ(kind_of_field(name), field_kind::regular) << name;
}

}  // namespace
}  // namespace coracle::http1::field_section_test
