// Programs with datagrams, files, pipes, signals and names, stopped at each of their awaits.
#include "coracle/coro/when_all.hpp"
#include "coracle/net/connect.hpp"
#include "coracle/net/file.hpp"
#include "coracle/net/listener.hpp"
#include "coracle/net/pipe.hpp"
#include "coracle/net/signal_watch.hpp"
#include "coracle/net/udp_socket.hpp"
#include "unit/net/scratch_folder.hpp"
#include "unit/net/stop_replay.hpp"

#include <unistd.h>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <utility>
#include <vector>

namespace coracle::net::stop_in_io_test {
namespace {

using namespace std::chrono_literals;
using testing_support::counted;
using testing_support::expect_good;
using testing_support::good_value;
using testing_support::ledger;

task<> ask(udp_socket& from, const address& to, ledger& alive) {
  const counted here(alive);
  const std::array<std::uint8_t, 3> question{1, 2, 3};
  std::array<std::uint8_t, 64> room{};
  for (int i = 0; i < 2; ++i) {
    const status sent = co_await from.send_to(question, to);
    expect_good(sent);
    result<received_datagram> answer = co_await from.receive_from(room);
    EXPECT_EQ(good_value(std::move(answer)).size(), question.size());
  }
}
task<> answer(udp_socket& at, ledger& alive) {
  const counted here(alive);
  std::array<std::uint8_t, 64> room{};
  for (int i = 0; i < 2; ++i) {
    result<received_datagram> got = co_await at.receive_from(room);
    const received_datagram question = good_value(std::move(got));
    const status sent = co_await at.send_to(bytes_view(room).first(question.size()), question.sender());
    expect_good(sent);
  }
}
task<> through_datagrams(ledger& alive) {
  const counted here(alive);
  udp_socket one = udp_socket::bind(address::loopback_v4(0)).value();
  udp_socket two = udp_socket::bind(address::loopback_v4(0)).value();
  const address to = two.local_address();
  co_await when_all(ask(one, to, alive), answer(two, alive));
}

task<> through_a_file(ledger& alive) {
  const counted here(alive);
  const scratch_folder folder;
  result<file> opened = co_await file::open(folder / "row", file_options{.write = true, .create = true});
  file f = good_value(std::move(opened));
  const std::vector<std::uint8_t> row(10'000, 7);
  const status written = co_await f.write(row);
  expect_good(written);
  const status more = co_await f.write_at(row.size(), row);
  expect_good(more);
  const result<std::uint64_t> size = co_await f.size();
  EXPECT_EQ(good_value(size), 2 * row.size());
  std::vector<std::uint8_t> room(row.size());
  const result<std::size_t> got = co_await f.read_at(row.size(), room);
  EXPECT_EQ(good_value(got), row.size());
  EXPECT_EQ(room, row);
}

// More than a pipe holds.
constexpr std::size_t poured_bytes = 200'000;

task<> pour(output& into, ledger& alive) {
  const counted here(alive);
  const std::vector<std::uint8_t> row(poured_bytes, 7);
  const status written = co_await into.write(row);
  expect_good(written);
  into.close();
}
task<> drain(input& from, ledger& alive) {
  const counted here(alive);
  std::vector<std::uint8_t> room(50'000);
  std::size_t all = 0;
  for (;;) {
    const result<std::size_t> got = co_await from.read(room);
    const std::size_t n = good_value(got);
    if (n == 0) break;
    all += n;
  }
  EXPECT_EQ(all, poured_bytes);
}
task<> through_a_pipe(ledger& alive) {
  const counted here(alive);
  pipe_ends ends = pipe().value();
  co_await when_all(pour(ends.write_end, alive), drain(ends.read_end, alive));
}

task<> accept_one(listener& at, ledger& alive) {
  const counted here(alive);
  const result<stream> accepted = co_await at.accept();
  expect_good(accepted.status());
}
task<> connect_by_name(std::uint16_t port, ledger& alive) {
  const counted here(alive);
  const result<stream> connected = co_await connect("localhost", port);
  expect_good(connected.status());
}
task<> through_a_name(ledger& alive) {
  const counted here(alive);
  listener at = listener::open(address::loopback_v4(0)).value();
  co_await when_all(accept_one(at, alive), connect_by_name(at.local_address().port(), alive));
  co_await at.close();
}

sim::world* simulated = nullptr;  // or it is the real process

task<> send_signal(ledger& alive) {
  const counted here(alive);
  co_await sleep_for(20us);
  if (simulated) simulated->signal("host", process_signal::user2);
  else ::kill(::getpid(), SIGUSR2);
}
task<> expect_signal(signal_watch& watch, ledger& alive) {
  const counted here(alive);
  const result<process_signal> got = co_await watch.next();
  EXPECT_EQ(good_value(got), process_signal::user2);
}
task<> through_a_signal(ledger& alive) {
  const counted here(alive);
  signal_watch watch = signal_watch::open({process_signal::user2}).value();
  co_await when_all(send_signal(alive), expect_signal(watch, alive));
}

class StopInIo : public testing_support::stop_replay {};
INSTANTIATE_TEST_SUITE_P(On, StopInIo, testing_support::all_kinds, StopInIo::case_name);

TEST_P(StopInIo, NothingIsLeftOfDatagrams) { replay_both(&through_datagrams, 9); }
TEST_P(StopInIo, NothingIsLeftOfAFile) { replay_both(&through_a_file, 5); }
TEST_P(StopInIo, NothingIsLeftOfAPipe) { replay_both(&through_a_pipe, 5); }
TEST_P(StopInIo, NothingIsLeftOfAConnectionByName) { replay_both(&through_a_name, 4); }

TEST_P(StopInIo, NothingIsLeftOfAWaitForASignal) {
  // A signal that arrives after its watch was closed has no effect.
  const auto before = std::signal(SIGUSR2, SIG_IGN);
  simulated = sim_world();
  replay_both(&through_a_signal, 3);
  std::signal(SIGUSR2, before);
}

}  // namespace
}  // namespace coracle::net::stop_in_io_test
