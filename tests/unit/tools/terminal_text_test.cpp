#include "tools/terminal_text.hpp"

#include <gtest/gtest.h>

namespace coracle::tools {
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
  // Their neighbours are letters, signs and spaces like others; what was cut short is left to the terminal.
  for (const char* text : {"\xc2\xa0", "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\xa5", "\xe2\x81\xaa",
                           "\xe3\x80\xaa", "\xc2", "\xe2\x80"})
    EXPECT_EQ(terminal_text(text), text);
}

}  // namespace
}  // namespace coracle::tools
