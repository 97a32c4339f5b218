#include "tools/terminal_text.hpp"

#include <gtest/gtest.h>

namespace coracle::tools {
namespace {

TEST(TerminalText, HasNoControlCharactersButLineEndsAndTabs) {
  EXPECT_EQ(terminal_text("\x1b[2Jno\rsuch\x07 movie\x7f"), "?[2Jno?such? movie?");
  EXPECT_EQ(terminal_text("a\n\tb \xc3\xbc"), "a\n\tb \xc3\xbc");
}

}  // namespace
}  // namespace coracle::tools
