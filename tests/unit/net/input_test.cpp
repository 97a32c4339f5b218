#include "coracle/net/input.hpp"

#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/when_all.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "coracle/net/output.hpp"
#include "support/every_backend.hpp"
#include "unit/net/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <pty.h>
#include <sys/socket.h>
#include <unistd.h>
#include <array>
#include <fstream>
#include <string>
#include <vector>

namespace coracle::net::input_test {
namespace {

using namespace std::chrono_literals;
using testing_support::kernel_kinds;

// A simulation does not support descriptors of the machine.
class Input : public testing_support::every_backend {};
INSTANTIATE_TEST_SUITE_P(On, Input, kernel_kinds, Input::case_name);

bool is_non_blocking(int descriptor) { return (::fcntl(descriptor, F_GETFL) & O_NONBLOCK) != 0; }

task<std::string> read_some(input& from, std::size_t most = 1000) {
  std::vector<std::uint8_t> room(most);
  const result<std::size_t> n = co_await from.read(room);
  if (!n) co_return n.status().to_string();
  co_return std::string(as_text(bytes_view(room).first(*n)));
}

task<> type_into(int terminal, std::string text) {
  co_await sleep_for(1ms);  // sleeps on purpose: the read waits by then
  EXPECT_EQ(::write(terminal, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}
task<> read_lines(int from) {
  input lines = input::borrow(from).value();
  const std::string first = co_await read_some(lines);
  EXPECT_EQ(first, "one\n") << "a terminal gives a line at a time";
  const std::string second = co_await read_some(lines);
  EXPECT_EQ(second, "two\n");
  const std::string end = co_await read_some(lines);
  EXPECT_EQ(end, "") << "Ctrl-D";
}
task<> terminal(int master, int slave) {
  co_await when_all(read_lines(slave), type_into(master, "one\ntwo\n\x04"));
}
TEST_P(Input, ATerminalIsReadByLinesAndStaysBlocking) {
  int master = -1;
  int slave = -1;
  ASSERT_EQ(::openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
  run(terminal(master, slave));
  EXPECT_FALSE(is_non_blocking(slave)) << "the shell shares it";
  ::close(master);
  ::close(slave);
}

// As a pager that pauses after it has made a little room.
task<> write_to_a_stalled_terminal(int master, int slave) {
  output screen = output::borrow(slave).value();
  const std::vector<std::uint8_t> page(64 * 1024, 'x');
  const status filled = co_await with_timeout(20ms, screen.write(page));
  EXPECT_EQ(filled.code(), status_code::deadline_exceeded);
  std::array<char, 1000> seen{};
  EXPECT_GT(::read(master, seen.data(), seen.size()), 0);
  const status again = co_await with_timeout(20ms, screen.write(page));
  EXPECT_EQ(again.code(), status_code::deadline_exceeded) << "the loop was not held, or there were no timers";
}
TEST_P(Input, ATerminalThatStandsStillHoldsNoLoop) {
  int master = -1;
  int slave = -1;
  ASSERT_EQ(::openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
  run(write_to_a_stalled_terminal(master, slave));
  EXPECT_FALSE(is_non_blocking(slave));
  ::close(master);
  ::close(slave);
}

task<> watch_and_lend(int both, int peer) {
  input in = input::borrow(both).value();
  std::string got;
  scope reading;
  auto read_into = [](input& from, std::string& to) -> task<> { to = co_await read_some(from); };
  reading.spawn(read_into(in, got));
  co_await sleep_for(1ms);  // sleeps on purpose: the read waits by then
  output::borrow(both).value().close();
  EXPECT_EQ(::write(peer, "hi", 2), 2);
  co_await reading.join();
  EXPECT_EQ(got, "hi");
}
// A second object over the same descriptor is created and destroyed while the first one waits.
TEST_P(Input, ADescriptorInTwoObjectsStaysWatched) {
  std::array<int, 2> pair{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()), 0);
  run(watch_and_lend(pair[0], pair[1]));
  for (const int s : pair) ::close(s);
}

task<> note(input& from, std::string& outcome) { outcome = co_await read_some(from); }
task<> stop_at(int from) {
  input in = input::borrow(from).value();
  std::string outcome;
  scope reading;
  reading.spawn(note(in, outcome));
  co_await sleep_for(1ms);  // sleeps on purpose: the read reaches the kernel
  reading.request_stop();
  co_await reading.join();
  EXPECT_EQ(outcome, "CANCELLED: the task was asked to stop");
}
TEST_P(Input, AStopEndsAReadOfATerminal) {
  int master = -1;
  int slave = -1;
  ASSERT_EQ(::openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
  run(stop_at(slave));
  ::close(master);
  ::close(slave);
}

TEST_P(Input, ABlockingPipeHoldsUpNobodyAndStaysBlocking) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  run(stop_at(ends[0]));
  EXPECT_FALSE(is_non_blocking(ends[0]));
  ::close(ends[0]);
  ::close(ends[1]);
}

task<> read_all(int from, const std::string& expected) {
  input in = input::borrow(from).value();
  std::string got;
  for (;;) {
    const std::string more = co_await read_some(in);
    if (more.empty()) break;
    got += more;
  }
  EXPECT_EQ(got, expected);
}
TEST_P(Input, ARedirectedFileIsReadFromWhereItStandsToItsEnd) {
  const scratch_folder folder;
  std::string text = "skipped:";
  for (int i = 0; i < 1000; ++i) text += std::to_string(i);
  std::ofstream(folder / "f") << text;
  const int file = ::open((folder / "f").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::lseek(file, 8, SEEK_SET), 8);  // as a shell's `read` leaves it
  run(read_all(file, text.substr(8)));
  ::close(file);
}

TEST_P(Input, NothingComesFromDevNull) {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  run(read_all(null, ""));
  ::close(null);
}

// A borrowed descriptor that stays open elsewhere, as a terminal does in the shell, and whose number is
// reused: what the loop knew of the old one must not affect the new one.
task<> used_again(int one, int other, int number) {
  co_await stop_at(number);
  EXPECT_EQ(::dup2(other, number), number);
  input in = input::borrow(number).value();
  std::string outcome;
  scope reading;
  reading.spawn(note(in, outcome));
  co_await sleep_for(1ms);  // sleeps on purpose: the read reaches the kernel
  EXPECT_EQ(::write(one, "to the old", 10), 10);
  co_await sleep_for(1ms);  // sleeps on purpose: nothing must come of it
  EXPECT_EQ(outcome, "");
  reading.request_stop();
  co_await reading.join();
}
TEST_P(Input, ANumberThatIsUsedAgainIsAnotherDescriptor) {
  std::array<int, 2> old{};
  std::array<int, 2> fresh{};
  ASSERT_EQ(::pipe(old.data()), 0);
  ASSERT_EQ(::pipe(fresh.data()), 0);
  const int number = ::dup(old[0]);
  run(used_again(old[1], fresh[0], number));
  for (const int d : {old[0], old[1], fresh[0], fresh[1], number}) ::close(d);
}

task<> write_to(int descriptor, std::string text) {
  output out = output::borrow(descriptor).value();
  const status written = co_await out.write(as_bytes(text));
  EXPECT_TRUE(written.ok()) << written;
}
task<> write_and_close(int descriptor, const std::string& text) {
  output out = output::adopt(descriptor).value();
  const status written = co_await out.write(as_bytes(text));
  EXPECT_TRUE(written.ok()) << written;
}
task<> both_ends(int from, int into, const std::string& text) {
  co_await when_all(read_all(from, text), write_and_close(into, text));
}
TEST_P(Input, AnOutputOverABlockingPipeWaitsForItsReader) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  run(both_ends(ends[0], ends[1], std::string(1 << 20, 'x')));
  ::close(ends[0]);
}

TEST_P(Input, AnOutputWritesAFileAndASocket) {
  const scratch_folder folder;
  const int file = ::open((folder / "f").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  run(write_to(file, "redirected "));
  run(write_to(file, "twice"));
  ::close(file);
  std::string got;
  std::getline(std::ifstream(folder / "f") >> std::ws, got);
  EXPECT_EQ(got, "redirected twice");
  std::array<int, 2> s{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s.data()), 0);
  run(write_to(s[0], "inherited"));
  ::close(s[0]);
  run(read_all(s[1], "inherited"));
  ::close(s[1]);
}

task<status> borrow_stdin() { co_return standard_input().status(); }
TEST_P(Input, StandardInputIsThere) { EXPECT_TRUE(run(borrow_stdin()).ok()); }
TEST(InputInASimulation, HasNoPlace) {
  sim::world world(1);
  EXPECT_EQ(sync_wait(world.host("host"), borrow_stdin()).code(), status_code::unimplemented);
}

}  // namespace
}  // namespace coracle::net::input_test
