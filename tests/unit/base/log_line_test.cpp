#include "base/log_line.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::base::log_line_test {
namespace {

using namespace std::string_view_literals;

// 2026-02-03T04:05:06.000007Z.
constexpr std::chrono::system_clock::time_point some_time{std::chrono::microseconds(1'770'091'506'000'007)};

log_record line_of(std::string_view text, std::span<const log_field> fields = {},
                   const log_trace* trace = nullptr) {
  return {log_level::warning, log_room::server, some_time, text, fields, trace};
}

std::string json(const log_record& r) {
  log_line line;
  line.format_json(r);
  return std::string(line.bytes());
}
std::string logfmt(const log_record& r) {
  log_line line;
  line.format_logfmt(r);
  return std::string(line.bytes());
}

// What follows the parts that all lines have.
std::string rest_of(const std::string& line, std::string_view prefix) {
  EXPECT_EQ(line.substr(0, prefix.size()), prefix);
  return line.substr(prefix.size());
}
std::string json_rest(const log_record& r) {
  return rest_of(json(r), R"({"time":"2026-02-03T04:05:06.000007Z","level":"warning","room":"server")");
}
std::string logfmt_rest(const log_record& r) {
  return rest_of(logfmt(r), "time=2026-02-03T04:05:06.000007Z level=warning room=server");
}

TEST(LogLine, HostileTextStaysWithinItsStringAndItsLine) {
  struct example {
    std::string_view text;
    std::string_view json;
    std::string_view logfmt;
  };
  const example examples[] = {
      {"plain", R"("plain")", "plain"},
      {"two words", R"("two words")", R"("two words")"},
      {"a=b", R"("a=b")", R"("a=b")"},
      {"say \"x\"", R"("say \"x\"")", R"("say \"x\"")"},
      {"back\\slash", R"("back\\slash")", R"("back\\slash")"},
      {"line\nlevel=error", R"("line\nlevel=error")", R"("line\nlevel=error")"},
      {"cr\rlf\ttab", R"("cr\rlf\ttab")", R"("cr\rlf\ttab")"},
      {"nul\0end"sv, R"("nul\u0000end")", R"("nul\u0000end")"},
      {"\x1b[31mred\x7f", R"("\u001b[31mred\u007f")", R"("\u001b[31mred\u007f")"},
      {"c1\xc2\x9b", R"("c1\u009b")", R"("c1\u009b")"},                          // CSI, a control sequence
      {"ls\xe2\x80\xa8ps\xe2\x80\xa9", R"("ls\u2028ps\u2029")", R"("ls\u2028ps\u2029")"},
      {"rtl\xe2\x80\xae", R"("rtl\u202e")", R"("rtl\u202e")"},                    // right-to-left override
      {"isolate\xe2\x81\xa6", R"("isolate\u2066")", R"("isolate\u2066")"},
      {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"",
       "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},  // two, three and four bytes
      {"\xff", "\"\xef\xbf\xbd\"", "\"\xef\xbf\xbd\""},  // in no encoding
      {"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\"", "\"\xef\xbf\xbd\xef\xbf\xbd\""},  // "/", too long
      {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"",
       "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},  // a surrogate
      {"ok\xe2\x82", "\"ok\xef\xbf\xbd\xef\xbf\xbd\"",
       "\"ok\xef\xbf\xbd\xef\xbf\xbd\""},  // it ends too early
      {"\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"",
       "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},  // above U+10FFFF
  };
  for (const example& e : examples) {
    const log_field field("v", e.text);
    EXPECT_EQ(json_rest(line_of(e.text)), ",\"message\":" + std::string(e.json) + "}\n");
    EXPECT_EQ(json_rest(line_of("", {&field, 1})), ",\"v\":" + std::string(e.json) + "}\n");
    EXPECT_EQ(logfmt_rest(line_of(e.text)), " msg=" + std::string(e.logfmt) + "\n");
    EXPECT_EQ(logfmt_rest(line_of("", {&field, 1})), " v=" + std::string(e.logfmt) + "\n");
  }
  const log_field empty("v", "");
  EXPECT_EQ(json_rest(line_of("", {&empty, 1})), ",\"v\":\"\"}\n");
  EXPECT_EQ(logfmt_rest(line_of("", {&empty, 1})), " v=\"\"\n");
}

TEST(LogLine, ValuesKeepTheirTypes) {
  using namespace std::chrono_literals;
  const std::string text = "text";
  const std::vector<log_field> fields{{"i", -5},
                                      {"u", ~0ull},
                                      {"b", true},
                                      {"d", 0.25},
                                      {"nan", std::nan("")},
                                      {"inf", -std::numeric_limits<double>::infinity()},
                                      {"t", 1500us},
                                      {"s", text}};
  EXPECT_EQ(json_rest(line_of("m", fields)),
            R"(,"message":"m","i":-5,"u":18446744073709551615,"b":true,"d":0.25,"nan":"nan","inf":"-inf",)"
            R"("t":"1.5ms","s":"text"})"
            "\n");
  EXPECT_EQ(logfmt_rest(line_of("m", fields)),
            " msg=m i=-5 u=18446744073709551615 b=true d=0.25 nan=nan inf=-inf t=1.5ms s=text\n");
}

TEST(LogLine, KeysHaveNoOtherBytesAndDoNotReplaceThoseOfTheLine) {
  const std::vector<log_field> fields{
      {"a b\"\n=\xff", 1}, {"level", 2}, {"trace_id", 3}, {"", 4}, {"x.y-z_9", 5}};
  EXPECT_EQ(json_rest(line_of("", fields)), R"(,"a_b____":1,"level_":2,"trace_id_":3,"x.y-z_9":5})"
                                            "\n");
}

TEST(LogLine, IdsAreLowerCaseDigitsAtTheTop) {
  log_trace trace;
  for (std::uint8_t i = 0; i < 16; ++i) trace.trace[i] = static_cast<std::uint8_t>(0xa0 + i);
  trace.span = {1, 2, 3, 4, 5, 6, 7, 0xff};
  trace.flags = 1;
  EXPECT_EQ(json_rest(line_of("m", {}, &trace)),
            R"(,"message":"m","trace_id":"a0a1a2a3a4a5a6a7a8a9aaabacadaeaf","span_id":"01020304050607ff",)"
            R"("trace_flags":"01"})"
            "\n");
  EXPECT_EQ(logfmt_rest(line_of("m", {}, &trace)),
            " msg=m trace_id=a0a1a2a3a4a5a6a7a8a9aaabacadaeaf span_id=01020304050607ff trace_flags=01\n");
}

TEST(LogLine, LongTextIsCutBetweenCharacters) {
  for (const std::string_view unit : {"x"sv, "\xe2\x82\xac"sv, "\x01"sv, "\xff"sv}) {
    std::string text;
    while (text.size() < 10'000) text += unit;
    const log_field field("v", text);
    const std::string message = json_rest(line_of(text));
    const std::string value = json_rest(line_of("", {&field, 1}));
    EXPECT_LE(message.size(), log_text_bytes_max + 20);
    EXPECT_GT(message.size(), log_text_bytes_max - 10);
    EXPECT_LE(value.size(), log_value_bytes_max + 20);
    EXPECT_TRUE(message.ends_with("...\"}\n")) << message;
    EXPECT_TRUE(value.ends_with("...\"}\n")) << value;
  }
  // What fits exactly is not cut.
  const std::string fits(log_text_bytes_max, 'x');
  EXPECT_EQ(json_rest(line_of(fits)), ",\"message\":\"" + fits + "\"}\n");
  EXPECT_TRUE(json_rest(line_of(fits + "x")).ends_with("...\"}\n"));
}

TEST(LogLine, NoLineExceedsItsLimitAndTheRestIsCounted) {
  const std::string hostile(5'000, '\x02');
  const std::string key(500, '"');
  const std::vector<log_field> fields(40, {key, hostile});
  log_trace trace;
  for (const std::string& line :
       {json(line_of(hostile, fields, &trace)), logfmt(line_of(hostile, fields, &trace))}) {
    EXPECT_LE(line.size(), log_line_bytes_max);
    EXPECT_EQ(std::ranges::count(line, '\n'), 1);
    EXPECT_NE(line.find("dropped"), line.npos) << line;
  }
  log_line text;
  text.format_fields(line_of("", fields, &trace));
  EXPECT_TRUE(text.bytes().ends_with(" trace_flags=00")) << text.bytes();
  EXPECT_LE(text.bytes().size(), log_line_bytes_max);
}

}  // namespace
}  // namespace coracle::base::log_line_test
