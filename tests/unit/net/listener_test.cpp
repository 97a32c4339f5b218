#include "coracle/net/listener.hpp"

#include "coracle/coro/event.hpp"
#include "coracle/coro/scope.hpp"
#include "net/acceptor.hpp"
#include "net/socket_duplex.hpp"
#include "support/every_backend.hpp"
#include "unit/net/connection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <linux/filter.h>
#include <sys/socket.h>
#include <fstream>
#include <optional>

namespace coracle::net::listener_test {
namespace {

using testing::HasSubstr;

class Listener : public testing_support::every_backend {};
INSTANTIATE_TEST_SUITE_P(On, Listener, testing_support::all_kinds, Listener::case_name);

// Tests that need files or sockets, which simulated hosts do not have.
class SocketFile : public testing_support::every_backend {};
INSTANTIATE_TEST_SUITE_P(On, SocketFile, testing_support::kernel_kinds, SocketFile::case_name);

task<> in_use() {
  listener first = listener::open(address::loopback_v4(0)).value();
  EXPECT_NE(first.local_address().port(), 0);
  const result<listener> second = listener::open(first.local_address());
  EXPECT_EQ(second.status().code(), status_code::already_exists);
  EXPECT_EQ(second.status().message(),
            first.local_address().to_string() +
                " is already in use: stop the other process or choose another port");
  co_await first.close();
}
TEST_P(Listener, AnAddressInUseIsToldWithTheMend) { run(in_use()); }

task<> free_again() {
  listener first = listener::open(address::loopback_v4(0)).value();
  const address at = first.local_address();
  stream_pair pair = co_await connected_pair();  // and connections do not block it
  co_await first.close();
  EXPECT_FALSE(first.is_open());
  listener second = listener::open(at).value();
  co_await second.close();
}
TEST_P(Listener, AClosedOneLeavesItsAddressFree) { run(free_again()); }

task<> not_ours() {
  const result<listener> l = listener::open(address::ipv4({192, 0, 2, 1}, 0));  // RFC 5737
  EXPECT_EQ(l.status().code(), status_code::invalid_argument);
  EXPECT_THAT(std::string(l.status().message()), HasSubstr("0.0.0.0"));
  co_return;
}
TEST_P(Listener, AnAddressOfAnotherMachineIsToldWithTheMend) { run(not_ours()); }

task<> shared() {
  const listen_options options{.reuse_port = true};
  listener first = listener::open(address::loopback_v4(0), options).value();
  result<listener> second = listener::open(first.local_address(), options);
  EXPECT_TRUE(second.ok()) << second.status();
  co_await first.close();
  co_await second->close();
}
TEST_P(Listener, TwoShareAPortWhenBothSaySo) { run(shared()); }

task<> accept_once(listener& l, std::optional<status>& outcome) {
  const result<stream> s = co_await l.accept();
  outcome = s.status();
}

task<> closed_while_waiting() {
  listener l = listener::open(address::loopback_v4(0)).value();
  scope waiting;
  std::optional<status> outcome;
  waiting.spawn(accept_once(l, outcome));
  co_await l.close();
  co_await waiting.join();
  EXPECT_EQ(*outcome, status::cancelled("the listener was closed"));
  co_await accept_once(l, outcome);
  EXPECT_EQ(outcome->code(), status_code::cancelled);
  co_await l.close();
}
TEST_P(Listener, ClosingEndsAWaitingAccept) { run(closed_while_waiting()); }

task<> stopped_while_waiting() {
  listener l = listener::open(address::loopback_v4(0)).value();
  scope waiting;
  std::optional<status> outcome;
  waiting.spawn(accept_once(l, outcome));
  waiting.request_stop();
  co_await waiting.join();
  EXPECT_EQ(outcome->code(), status_code::cancelled);
  // It still listens.
  task<result<stream>> accepting = l.accept();
  task<result<stream>> connecting = stream::connect(l.local_address());
  auto both = co_await when_all(std::move(accepting), std::move(connecting));
  EXPECT_TRUE(std::get<0>(both).ok() && std::get<1>(both).ok());
  co_await l.close();
}
TEST_P(Listener, AStopEndsAcceptAndNotTheListener) { run(stopped_while_waiting()); }

task<> moved_while_waiting() {
  listener l = listener::open(address::loopback_v4(0)).value();
  scope waiting;
  std::optional<status> outcome;
  waiting.spawn(accept_once(l, outcome));
  listener moved = std::move(l);
  const result<stream> s = co_await stream::connect(moved.local_address());
  EXPECT_TRUE(s.ok());
  co_await waiting.join();
  EXPECT_TRUE(outcome->ok());
  co_await moved.close();
}
TEST_P(Listener, MayMoveWhileAcceptWaits) { run(moved_while_waiting()); }

task<> path_in_use(address at) {
  listener first = listener::open(at).value();
  const result<listener> second = listener::open(at);
  EXPECT_EQ(second.status(),
            status(status_code::already_exists,
                   at.to_string() + " is already in use: stop the other process or choose another path"));
  const result<stream> s = co_await stream::connect(at);  // the attempt did not affect the first one
  EXPECT_TRUE(s.ok()) << s.status();
  co_await first.close();
}
TEST_P(Listener, AUnixSocketThatSomebodyListensOnIsInUse) {
  const socket_path path;
  run(path_in_use(path.where()));
  EXPECT_FALSE(std::filesystem::exists(path.path())) << "the file goes with its listener";
}

task<> open_and_close(address at, std::string& error) {
  result<listener> l = listener::open(at);
  error = std::string(l.status().message());
  if (l) co_await l->close();
}

TEST_P(SocketFile, IsReplacedWhenStale) {
  const socket_path path;
  // As a program that crashed leaves it: bound under another name, of which only a hard link remains.
  const socket_path born;
  std::string error;
  struct at_two_names {
    static task<> make(address at, std::filesystem::path from, std::filesystem::path to) {
      listener l = listener::open(at).value();
      std::filesystem::create_hard_link(from, to);
      co_await l.close();
    }
  };
  run(at_two_names::make(born.where(), born.path(), path.path()));
  ASSERT_TRUE(std::filesystem::is_socket(path.path()));
  run(open_and_close(path.where(), error));
  EXPECT_EQ(error, "");
}

TEST_P(SocketFile, IsLeftAloneWhenItIsNoSocket) {
  const socket_path path;
  std::ofstream(path.path()) << "precious";
  std::string error;
  run(open_and_close(path.where(), error));
  EXPECT_THAT(error, HasSubstr("exists and is not a socket: remove it"));
  EXPECT_TRUE(std::filesystem::is_regular_file(path.path()));
}

TEST_P(SocketFile, NeedsItsFolder) {
  const socket_path path;
  std::string error;
  run(open_and_close(address::path((path.path() / "a.sock").string()).value(), error));
  EXPECT_THAT(error, HasSubstr("does not exist"));
}

// acceptor: the same for callbacks.
class recording_sink final : public acceptor_sink {
 public:
  explicit recording_sink(loop& on) : on_(on) {}
  std::vector<std::unique_ptr<duplex>> connections;
  std::vector<runtime_internal::handle> handles;  // of these
  event<> changed;
  bool done = false;
  int pauses = 0;
  // Until `reached` holds.
  template <class Condition>
  task<> until(Condition reached) {
    while (!reached()) {
      changed.reset();
      co_await changed;
    }
  }

 private:
  void accepted(runtime_internal::handle connection) noexcept override {
    handles.push_back(connection);
    connections.push_back(make_socket_duplex(on_, connection));
    changed.set();
  }
  void accept_failed(status reason) noexcept override { ADD_FAILURE() << reason; }
  void paused() noexcept override {
    ++pauses;
    changed.set();
  }
  void closed() noexcept override {
    done = true;
    changed.set();
  }
  loop& on_;
};

task<> accepts_many() {
  loop& here = *loop::current();
  recording_sink sink(here);
  std::unique_ptr<acceptor> a = acceptor::open(here, address::loopback_v4(0)).value();
  const result<stream> early = co_await stream::connect(a->local_address());  // waits in the kernel
  EXPECT_TRUE(early.ok());
  a->start(sink);
  std::vector<stream> clients;
  for (int i = 0; i < 20; ++i) {
    result<stream> s = co_await stream::connect(a->local_address());
    clients.push_back(std::move(s).value());
  }
  while (sink.connections.size() < 21) {
    co_await sink.changed;
    sink.changed.reset();
  }
  EXPECT_EQ(sink.connections.front()->peer_address(), early->local_address());
  a->close();
  a->close();
  EXPECT_FALSE(sink.done) << "never from inside close()";
  while (!sink.done) {
    sink.changed.reset();
    co_await sink.changed;
  }
  const address at = a->local_address();
  a.reset();
  const result<stream> late = co_await stream::connect(at);
  EXPECT_EQ(late.status().code(), status_code::unavailable);
}
TEST_P(Listener, AnAcceptorHandsOverEveryConnection) { run(accepts_many()); }

task<> pauses() {
  loop& here = *loop::current();
  recording_sink sink(here);
  std::unique_ptr<acceptor> a = acceptor::open(here, address::loopback_v4(0)).value();
  EXPECT_FALSE(a->pause()) << "it was not started";
  a->start(sink);
  a->look_again();
  EXPECT_TRUE(a->pause());
  EXPECT_FALSE(a->pause()) << "it was confirmed once";
  EXPECT_EQ(sink.pauses, 0) << "never from inside pause()";
  const auto confirmed = [&sink] { return sink.pauses == 1; };
  co_await sink.until(confirmed);
  a->look_again();
  const result<stream> first = co_await stream::connect(a->local_address());
  EXPECT_TRUE(first.ok());
  EXPECT_TRUE(sink.connections.empty()) << "connections wait in the kernel";
  a->resume();
  const auto has_first = [&sink] { return sink.connections.size() == 1; };
  co_await sink.until(has_first);
  a->look_again();
  a->look_again();
  const result<stream> second = co_await stream::connect(a->local_address());
  EXPECT_TRUE(second.ok());
  const auto has_second = [&sink] { return sink.connections.size() == 2; };
  co_await sink.until(has_second);
  EXPECT_TRUE(a->pause());
  a->resume();
  const result<stream> third = co_await stream::connect(a->local_address());
  EXPECT_TRUE(third.ok());
  const auto has_third = [&sink] { return sink.connections.size() == 3; };
  co_await sink.until(has_third);
  EXPECT_EQ(sink.pauses, 1) << "a pause that ends before it was confirmed is not";
  a->look_again();
  a->close();
  const auto closed = [&sink] { return sink.done; };
  co_await sink.until(closed);
}
TEST_P(Listener, AnAcceptorPausesAndLooksAgain) { run(pauses()); }

// The number of instructions of the packet filter of a socket.
socklen_t filter_of(int descriptor) {
  socklen_t size = 0;
  EXPECT_EQ(::getsockopt(descriptor, SOL_SOCKET, SO_GET_FILTER, nullptr, &size), 0);
  return size;
}

// The filter that drops what comes while an acceptor ends is copied to a connection whose handshake ends at
// that moment. Here, a filter that drops nothing has been copied.
task<> ends_with_filter() {
  loop& here = *loop::current();
  recording_sink sink(here);
  std::unique_ptr<acceptor> a = acceptor::open(here, address::loopback_v4(0)).value();
  sock_filter keep{BPF_RET | BPF_K, 0, 0, 0xffff};
  const sock_fprog program{1, &keep};
  EXPECT_EQ(::setsockopt(a->descriptor(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program), 0);
  a->start(sink);
  const result<stream> first = co_await stream::connect(a->local_address());
  EXPECT_TRUE(first.ok());
  const auto has_first = [&sink] { return sink.connections.size() == 1; };
  co_await sink.until(has_first);
  EXPECT_EQ(filter_of(sink.handles.front()), 1u) << "the kernel copies the filter";
  EXPECT_TRUE(a->pause());
  const auto is_paused = [&sink] { return sink.pauses == 1; };
  co_await sink.until(is_paused);
  const result<stream> second = co_await stream::connect(a->local_address());
  EXPECT_TRUE(second.ok());
  a->close();
  const auto is_closed = [&sink] { return sink.done; };
  co_await sink.until(is_closed);
  EXPECT_EQ(sink.handles.size(), 2u);
  EXPECT_EQ(filter_of(sink.handles.back()), 0u);
}
TEST_P(SocketFile, ConnectionsAtTheEndOfAnAcceptorHaveNoFilter) { run(ends_with_filter()); }

task<> never_started() {
  std::unique_ptr<acceptor> a = acceptor::open(*loop::current(), address::loopback_v4(0)).value();
  const address at = a->local_address();
  a.reset();
  const result<stream> late = co_await stream::connect(at);
  EXPECT_EQ(late.status().code(), status_code::unavailable);
}
TEST_P(Listener, AnAcceptorThatWasNeverStartedJustGoes) { run(never_started()); }

}  // namespace
}  // namespace coracle::net::listener_test
