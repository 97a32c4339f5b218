#include "coracle/net/line_reader.hpp"

#include "coracle/coro/with_timeout.hpp"
#include "coracle/net/pipe.hpp"
#include "support/every_backend.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace coracle::net::line_reader_test {
namespace {

using namespace std::chrono_literals;

class LineReader : public testing_support::every_backend {};
INSTANTIATE_TEST_SUITE_P(On, LineReader, testing_support::all_kinds, LineReader::case_name);

task<> put(output& into, std::string text) {
  const status written = co_await into.write(as_bytes(text));
  EXPECT_TRUE(written.ok()) << written;
}

// The line, "(end)" or the status.
template <class Source>
task<std::string> line_of(line_reader<Source>& lines) {
  const result<std::optional<std::string>> next = co_await lines.next();
  if (!next.ok()) co_return next.status().to_string();
  co_return next->value_or("(end)");
}

task<> all_of(std::string text, std::vector<std::string> expected) {
  pipe_ends ends = pipe().value();
  co_await put(ends.write_end, text);
  ends.write_end.close();
  line_reader lines(ends.read_end);
  for (const std::string& one : expected) {
    const std::string line = co_await line_of(lines);
    EXPECT_EQ(line, one);
  }
  const std::string end = co_await line_of(lines);
  EXPECT_EQ(end, "(end)");
}
TEST_P(LineReader, GivesLinesWithoutTheirEnds) {
  run(all_of("one\ntwo\r\n\n\r\nlast", {"one", "two", "", "", "last"}));
  run(all_of("one\n", {"one"}));
  run(all_of("x", {"x"}));
  const std::string longer(20'000, 'l');
  run(all_of(longer + "\n" + longer, {longer, longer}));
}
TEST_P(LineReader, OfNothingHasNone) { run(all_of("", {})); }

task<> in_pieces() {
  pipe_ends ends = pipe().value();
  line_reader lines(ends.read_end);
  co_await put(ends.write_end, "one\nhal");
  const std::string first = co_await line_of(lines);
  EXPECT_EQ(first, "one");
  const auto stopped = co_await with_timeout(2ms, lines.next());
  EXPECT_EQ(stopped.status().code(), status_code::deadline_exceeded);
  co_await put(ends.write_end, "f\n");
  const std::string second = co_await line_of(lines);
  EXPECT_EQ(second, "half") << "what was read before the stop is kept";
}
TEST_P(LineReader, AStopInTheMiddleOfALineLosesNothing) { run(in_pieces()); }

task<> too_long() {
  pipe_ends ends = pipe().value();
  line_reader lines(ends.read_end, 1000);
  co_await put(ends.write_end, std::string(10'000, 'x'));
  const std::string refused = co_await line_of(lines);
  EXPECT_EQ(refused, "RESOURCE_EXHAUSTED: a line exceeds the limit of 1000 bytes");
}
TEST_P(LineReader, ALineWithoutEndIsBounded) { run(too_long()); }

}  // namespace
}  // namespace coracle::net::line_reader_test
