#include "tools/terminal_text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace coracle::tools::terminal_text_test {
namespace {

TEST(TerminalText, HasNoControlCharactersButLineEndsAndTabs) {
  EXPECT_EQ(terminal_text("\x1b[2Jno\rsuch\x07 movie\x7f"), "?[2Jno?such? movie?");
  EXPECT_EQ(terminal_text("a\n\tb \xc3\xbc"), "a\n\tb \xc3\xbc");
}

TEST(TerminalText, HasNoneOfUnicodesControlCharactersEither) {
  EXPECT_EQ(terminal_text("a\xc2\x9b"
                          "2Jb\xc2\x80\xc2\x9f"),
            "a?2Jb??");
  EXPECT_EQ(terminal_text("\xe2\x80\xaa"
                          "a\xe2\x80\xae"
                          "b\xe2\x81\xa6"
                          "c\xe2\x81\xa9"),
            "?a?b?c?");
  // Their neighbours are letters, signs and spaces like others.
  for (const char* text : {"\xc2\xa0", "\xe2\x80\xaf", "\xe2\x80\x90", "\xe3\x80\xaa", "\xf0\x9f\x98\x80"})
    EXPECT_EQ(terminal_text(text), text);
}

TEST(TerminalText, HasNoCharactersWithoutAWidth) {
  for (const char* hidden : {"\xe2\x80\x8b", "\xe2\x80\x8d", "\xe2\x81\xa0", "\xef\xbb\xbf", "\xc2\xad",
                             "\xf3\xa0\x81\x81", "\xe2\x80\xa8"})
    EXPECT_EQ(terminal_text(std::string("a") + hidden + "b"), "a?b");
}

TEST(TerminalJson, EscapesWhatReordersOrHidesText) {
  for (const auto& [text, shown] : {std::pair{"\"a\u2066b\u2069\"", R"("a\u2066b\u2069")"},
                                    {"\"\u202e\u061c\u200f\"", R"("\u202e\u061c\u200f")"},
                                    {"\"\u2065\ufeff\u00ad\"", R"("\u2065\ufeff\u00ad")"},
                                    {"\"\U000e0041\"", R"("\udb40\udc41")"},
                                    {"{\n  \"\u2067\": 1\n}", "{\n  \"\\u2067\": 1\n}"}})
    EXPECT_EQ(terminal_json(text), shown);
  // Letters, an emoji with its variation selector, and JSON without such characters.
  for (const char* text : {"\"\u00fc\u3042\"", "\"\u2764\ufe0f\U0001f600\"", "{\"a\":\"\\u2066\"}\n", ""})
    EXPECT_EQ(terminal_json(text), text);
}

TEST(TerminalText, IsUtf8WhateverTheBytesAre) {
  EXPECT_EQ(terminal_text("a\x9b"
                          "2J\xff"),
            "a?2J?");
  // Truncated, too long, a surrogate, beyond Unicode.
  EXPECT_EQ(terminal_text("\xe2\x82"), "??");
  EXPECT_EQ(terminal_text("\xc0\x9b"), "??");
  EXPECT_EQ(terminal_text("\xed\xa0\x80"), "???");
  EXPECT_EQ(terminal_text("\xf4\x90\x80\x80"), "????");
  EXPECT_EQ(terminal_text("\xe2\x82\xac"), "\xe2\x82\xac");
}

TEST(TerminalText, OfALineHasNoLineEnds) { EXPECT_EQ(terminal_line("a\nb\tc\r"), "a?b?c?"); }

}  // namespace
}  // namespace coracle::tools::terminal_text_test
