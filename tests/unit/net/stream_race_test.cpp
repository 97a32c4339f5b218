// What happens to a stream when two events occur at once.
#include "coracle/coro/scope.hpp"
#include "coracle/coro/when_all.hpp"
#include "coracle/coro/when_any.hpp"
#include "coracle/net/stream.hpp"
#include "support/every_backend.hpp"
#include "support/misuse.hpp"
#include "unit/net/connection.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace coracle::net::stream_race_test {
namespace {

using testing_support::all_kinds;

class StreamRace : public testing_support::every_backend {};
INSTANTIATE_TEST_SUITE_P(On, StreamRace, all_kinds, StreamRace::case_name);

task<> note_read(stream& s, std::string& outcome) {
  std::vector<std::uint8_t> room(100);
  const result<std::size_t> n = co_await s.read(room);
  outcome = n.ok() ? std::string(as_text(bytes_view(room).first(*n))) : n.status().to_string();
}

task<> stop_as_bytes_come() {
  stream_pair pair = co_await connected_pair();
  for (int i = 0; i < 300; ++i) {
    std::string outcome;
    scope reading;
    reading.spawn(note_read(pair.client, outcome));
    const std::string text = std::to_string(i);
    const status sent = co_await write_text(pair.server, text);
    EXPECT_TRUE(sent.ok()) << sent;
    reading.request_stop();
    co_await reading.join();
    if (outcome != text) {
      EXPECT_EQ(outcome, "CANCELLED: the task was asked to stop");
      const std::string next = co_await read_text(pair.client, text.size());
      EXPECT_EQ(next, text);
    }
  }
}
TEST_P(StreamRace, AStopThatRacesWithBytesLosesNone) { run(stop_as_bytes_come()); }

task<> note_write(stream& s, const std::string& text, status& outcome) {
  const status sent = co_await write_text(s, text);
  outcome = sent;
}
task<> stop_at_once() {
  stream_pair pair = co_await connected_pair();
  std::string read;
  status written;
  const std::string text = pattern(16 << 20, 5);
  scope work;
  work.spawn(note_read(pair.client, read));
  work.spawn(note_write(pair.client, text, written));
  work.request_stop();  // before either has reached the kernel
  co_await work.join();
  EXPECT_EQ(read, "CANCELLED: the task was asked to stop");
  EXPECT_EQ(written.code(), status_code::cancelled);
}
TEST_P(StreamRace, AStopAtOnceEndsBothDirections) { run(stop_at_once()); }

// Repeated short reads, also when the end follows directly after the last bytes: no byte and no end is
// missed.
task<> talk_in_short_messages(stream& s) {
  for (int i = 0; i < 500; ++i) {
    const status sent = co_await write_text(s, "0123456789");
    EXPECT_TRUE(sent.ok());
  }
  s.shutdown_send();
}
task<> hear_it_all(stream& s) {
  const std::string got = co_await read_text(s, 1 << 20);
  EXPECT_EQ(got.size(), 5000u);
}
task<> short_messages() {
  for (int round = 0; round < 20; ++round) {
    stream_pair pair = co_await connected_pair();
    co_await when_all(talk_in_short_messages(pair.client), hear_it_all(pair.server));
  }
}
TEST_P(StreamRace, TheEndRightBehindTheLastBytesIsSeen) { run(short_messages()); }

task<> two_reads() {
  stream_pair pair = co_await connected_pair();
  co_await when_any(read_text(pair.client, 1), read_text(pair.client, 1));
}
task<> close_under_a_read() {
  stream_pair pair = co_await connected_pair();
  std::string outcome;
  scope reading;
  reading.spawn(note_read(pair.client, outcome));
  pair.client.close();
  co_await reading.join();
}
void on_epoll(task<> t) {
  runtime rt(runtime_options{.backend = backend_choice::epoll});
  sync_wait(rt, std::move(t));
}
TEST(StreamDefect, TwoReadsThrowAndACloseUnderOneAborts) {
  test::expect_misuse([] { on_epoll(two_reads()); },
                      "concurrent reads on one stream: await one read before the next");
  EXPECT_DEATH(on_epoll(close_under_a_read()), "closed or destroyed while a task waits for it");
}

}  // namespace
}  // namespace coracle::net::stream_race_test
