#include "coracle/net/pipe.hpp"

#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/when_all.hpp"
#include "coracle/coro/when_any.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "support/every_backend.hpp"
#include "support/misuse.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace coracle::net::pipe_test {
namespace {

using namespace std::chrono_literals;
using testing_support::all_kinds;
using testing_support::kernel_kinds;

class Pipe : public testing_support::every_backend {};
INSTANTIATE_TEST_SUITE_P(On, Pipe, all_kinds, Pipe::case_name);
class KernelPipe : public testing_support::every_backend {};
INSTANTIATE_TEST_SUITE_P(On, KernelPipe, kernel_kinds, KernelPipe::case_name);

task<std::string> read_some(input& from, std::size_t most = 1000) {
  std::vector<std::uint8_t> room(most);
  const result<std::size_t> n = co_await from.read(room);
  if (!n) co_return n.status().to_string();
  co_return std::string(as_text(bytes_view(room).first(*n)));
}

task<> write_all(output& to, std::string text) {
  const status written = co_await to.write(as_bytes(text));
  EXPECT_TRUE(written.ok()) << written;
}

task<> through() {
  pipe_ends ends = pipe().value();
  co_await write_all(ends.write_end, "in and out");
  const std::string got = co_await read_some(ends.read_end);
  EXPECT_EQ(got, "in and out");
  co_await write_all(ends.write_end, "the last");
  ends.write_end.close();
  const std::string last = co_await read_some(ends.read_end);
  EXPECT_EQ(last, "the last");
  const std::string end = co_await read_some(ends.read_end);
  EXPECT_EQ(end, "") << "the last writer has gone";
}
TEST_P(Pipe, WhatGoesInComesOutAndThenTheEnd) { run(through()); }

std::string noise(std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * 31 + (i >> 9));
  return text;
}
task<> read_until_end(input& from, const std::string& expected) {
  std::string got;
  for (;;) {
    const std::string more = co_await read_some(from, 30'000);
    if (more.empty()) break;
    got += more;
  }
  EXPECT_TRUE(got == expected) << got.size() << " of " << expected.size();
}
task<> write_and_close(output& to, const std::string& text) {
  co_await write_all(to, text);
  to.close();
}
task<> much() {
  pipe_ends ends = pipe().value();
  const std::string text = noise((5 << 20) + 3);
  co_await when_all(read_until_end(ends.read_end, text), write_and_close(ends.write_end, text));
}
TEST_P(Pipe, MegabytesGoThroughASmallPipe) { run(much()); }

task<> note(input& from, std::string& outcome) { outcome = co_await read_some(from); }
task<> stop_a_read() {
  pipe_ends ends = pipe().value();
  std::string outcome;
  scope reading;
  reading.spawn(note(ends.read_end, outcome));
  co_await sleep_for(1ms);  // sleeps on purpose: the read reaches the kernel
  reading.request_stop();
  co_await reading.join();
  EXPECT_EQ(outcome, "CANCELLED: the task was asked to stop");

  scope stopped_before;
  stopped_before.request_stop();
  stopped_before.spawn(note(ends.read_end, outcome));
  co_await stopped_before.join();
  EXPECT_EQ(outcome, "CANCELLED: the task was asked to stop");

  std::vector<std::uint8_t> room(100);
  const auto late = co_await with_timeout(2ms, ends.read_end.read(room));
  EXPECT_EQ(late.status().code(), status_code::deadline_exceeded);

  co_await write_all(ends.write_end, "still here");
  const std::string next = co_await read_some(ends.read_end);
  EXPECT_EQ(next, "still here");
}
TEST_P(Pipe, AStopOrADeadlineEndsAReadAndTakesNothing) { run(stop_a_read()); }

task<> race_a_stop() {
  pipe_ends ends = pipe().value();
  for (int i = 0; i < 300; ++i) {
    std::string outcome;
    scope reading;
    reading.spawn(note(ends.read_end, outcome));
    co_await write_all(ends.write_end, std::to_string(i));
    reading.request_stop();
    co_await reading.join();
    if (outcome != std::to_string(i)) {
      EXPECT_EQ(outcome, "CANCELLED: the task was asked to stop");
      const std::string next = co_await read_some(ends.read_end);
      EXPECT_EQ(next, std::to_string(i));
    }
  }
}
TEST_P(Pipe, AStopThatRacesWithBytesLosesNone) { run(race_a_stop()); }

task<> note_write(output& to, const std::string& text, status& outcome) {
  const status written = co_await to.write(as_bytes(text));
  outcome = written;
}
task<> stop_a_write() {
  pipe_ends ends = pipe().value();
  const std::string text = noise(4 << 20);
  status outcome;
  scope writing;
  writing.spawn(note_write(ends.write_end, text, outcome));
  co_await sleep_for(2ms);  // sleeps on purpose: the pipe fills up
  writing.request_stop();
  co_await writing.join();
  EXPECT_EQ(outcome.code(), status_code::cancelled);
}
TEST_P(Pipe, AStopEndsAWriteThatNobodyReads) { run(stop_a_write()); }

// SIGPIPE has its default action here: it would end the test program.
task<> broken() {
  pipe_ends ends = pipe().value();
  ends.read_end.close();
  const status written = co_await ends.write_end.write(as_bytes("nobody reads this"));
  EXPECT_EQ(written.code(), status_code::unavailable) << written;

  pipe_ends half = pipe().value();
  const std::string text = noise(4 << 20);
  status outcome;
  scope writing;
  writing.spawn(note_write(half.write_end, text, outcome));
  co_await sleep_for(2ms);  // sleeps on purpose: the pipe fills up
  half.read_end.close();
  co_await writing.join();
  EXPECT_EQ(outcome.code(), status_code::unavailable) << outcome;
}
// The pipes of the simulation break as its connections do: a moment later.
TEST_P(KernelPipe, ABrokenPipeIsAStatusAndNoSignal) { run(broken()); }

task<> two_reads() {
  pipe_ends ends = pipe().value();
  co_await when_any(read_some(ends.read_end), read_some(ends.read_end));
}
task<> closed_under_a_read() {
  pipe_ends ends = pipe().value();
  std::string outcome;
  scope reading;
  reading.spawn(note(ends.read_end, outcome));
  ends.read_end.close();
  co_await reading.join();
}
void on_epoll(task<> t) {
  runtime rt(runtime_options{.backend = backend_choice::epoll});
  sync_wait(rt, std::move(t));
}
TEST(PipeDefect, TwoReadsThrowAndACloseUnderOneAborts) {
  test::expect_misuse([] { on_epoll(two_reads()); },
                      "concurrent reads on one input: await one read before the next");
  EXPECT_DEATH(on_epoll(closed_under_a_read()), "closed or destroyed while a task waits for it");
}

}  // namespace
}  // namespace coracle::net::pipe_test
