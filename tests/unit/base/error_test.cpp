#include "headscope/base/error.h"

#include <gtest/gtest.h>

#include <string>

namespace headscope {
namespace {

TEST(Printable, LeavesPlainTextAndUtf8Alone) {
  EXPECT_EQ(printable("h.0.attn.c_attn.weight"), "h.0.attn.c_attn.weight");
  EXPECT_EQ(printable("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x99\x82"), "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x99\x82");
}

TEST(Printable, EscapesWhatWouldBreakALineOrATerminal) {
  EXPECT_EQ(printable("a\nb\x1b[31m"), "a\\x0ab\\x1b[31m");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(printable("\xE2\x80\xAE"
                      "exe.csv"),
            "\\u202eexe.csv");                     // right-to-left override
  EXPECT_EQ(printable("\xC2\x9B"), "\\xc2\\x9b");  // CSI as one C1 control character
}

TEST(Printable, EscapesMalformedUtf8) {
  EXPECT_EQ(printable("\xFF"), "\\xff");
  EXPECT_EQ(printable("\xC3"), "\\xc3");                    // cut short
  EXPECT_EQ(printable("\xC0\xAF"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(printable("\xED\xA0\x80"), "\\xed\\xa0\\x80");  // surrogate
}

TEST(Printable, CutsLongText) {
  const std::string cut = printable(std::string(10000, 'x'));
  EXPECT_LT(cut.size(), 250u);
  EXPECT_TRUE(cut.ends_with("..."));
}

}  // namespace
}  // namespace headscope
