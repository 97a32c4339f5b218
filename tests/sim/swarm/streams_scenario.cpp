// TCP: bytes go to an echo and return, and each direction ends on its own.
#include "sim/swarm/mixture.hpp"
#include "sim/swarm/scenario.hpp"

#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/net/address.hpp"
#include "coracle/net/listener.hpp"
#include "coracle/net/stream.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace coracle::swarm {

namespace {

using namespace std::chrono_literals;

// One connection, as its client observes it. It remembers over crashes that it existed.
struct exchange {
  std::string sent;
  duration pause{};  // before each of its writes, so that a crash interrupts work
  std::string back;
  status outcome;
  bool begun = false;
  bool ended = false;
};

std::string bytes_for(dice& d) {
  std::string s(d.size(18), '\0');
  const std::uint64_t salt = d.draw();
  for (std::size_t i = 0; i < s.size(); ++i) s[i] = static_cast<char>((salt + i * 131) % 251);
  return s;
}

bytes_view view_of(const std::string& s) noexcept {
  return {reinterpret_cast<const std::uint8_t*>(s.data()), s.size()};
}

// Until the client's half-close; then its own.
task<> echo_back(net::stream s) {
  std::vector<std::uint8_t> room(5000);
  while (true) {
    const result<std::size_t> got = co_await s.read(room);
    if (!got) co_return s.close(true);
    if (*got == 0) break;
    const status put = co_await s.write(bytes_view(room).first(*got));
    if (!put.ok()) co_return s.close(true);
  }
  s.shutdown_send();
}

task<> serve_echo() {
  auto door = net::listener::open(net::address::parse("0.0.0.0:7").value());
  scope work{co_await coro::this_environment()};
  while (door) {
    result<net::stream> s = co_await door->accept();
    if (!s) break;
    work.spawn(echo_back(*std::move(s)));
  }
  co_await work.join();
}

// A write that fails closes the connection: its reader would otherwise wait forever.
task<> write_whole(net::stream& to, const exchange& e, status& outcome, scope& both) {
  constexpr std::size_t writes = 4;
  const bytes_view bytes = view_of(e.sent);
  for (std::size_t i = 0; i < writes && outcome.ok(); ++i) {
    co_await sleep_for(e.pause);  // sleeps on purpose: virtual time
    const std::size_t from = bytes.size() * i / writes;
    outcome = co_await to.write(bytes.subspan(from, bytes.size() * (i + 1) / writes - from));
  }
  if (outcome.ok()) to.shutdown_send();
  else both.request_stop();
}

task<> read_whole(net::stream& from, exchange& e) {
  std::vector<std::uint8_t> room(3000);
  while (true) {
    const result<std::size_t> got = co_await from.read(room);
    e.outcome = got.status();
    if (!got || *got == 0) co_return;
    e.back.append(reinterpret_cast<const char*>(room.data()), *got);
  }
}

task<> converse(std::string to, exchange& e) {
  if (std::exchange(e.begun, true)) co_return;  // cut off in an earlier life
  result<net::stream> s = co_await net::stream::connect(net::address::parse(to).value());
  e.outcome = s.status();
  if (s) {
    status written;
    scope work{co_await coro::this_environment()};
    work.spawn(read_whole(*s, e));
    work.spawn(write_whole(*s, e, written, work));
    co_await work.join();
    if (!written.ok()) e.outcome = written;
  }
  e.ended = true;
}

void check(run& r, const exchange& e, const mixture& m) {
  if (e.back != e.sent.substr(0, e.back.size()))
    r.report_error("bytes came back in another order, or harmed");
  r.tally(e.ended ? name_of(e.outcome.code()) : "cut off by a crash");
  if (!e.ended) return;
  if (e.outcome.ok() && e.back.size() != e.sent.size())
    r.report_error("a proper end came before the last byte");
  if (!e.outcome.ok() && !m.breaks) r.report_error("nothing explains an end: " + e.outcome.to_string());
}

}  // namespace

void play_streams(run& r) {
  dice draws = r.dice_for(1);
  const mixture mix = draw_mixture(draws);
  std::vector<std::unique_ptr<exchange>> all;
  sim::world_options options = r.world_options();
  options.faults = mix.faults;
  options.socket_buffer = 1 + draws.size(18);
  sim::world world(r.seed(), options);
  world.start("echo", [](runtime& rt) {
    rt.spawn(serve_echo());
    return nullptr;
  });
  for (std::uint64_t i = draws.between(1, 3); i > 0; --i) {
    std::vector<exchange*> mine;
    for (std::uint64_t n = draws.between(1, 4); n > 0; --n) {
      all.push_back(std::make_unique<exchange>());
      all.back()->sent = bytes_for(draws);
      all.back()->pause = draws.one_in(2) ? draws.up_to(5s) : duration(0);
      mine.push_back(all.back().get());
    }
    world.start("client" + std::to_string(i), [&world, mine](runtime& rt) {
      for (exchange* e : mine) rt.spawn(converse(world.address_of("echo") + ":7", *e));
      return nullptr;
    });
  }
  const auto done = [&] {
    return std::all_of(all.begin(), all.end(), [](const auto& e) { return e->ended; });
  };
  const bool in_time = world.run_until(done, 10h);
  if (!in_time && !mix.silent) r.report_error("hang: streams do not end");
  for (const auto& e : all) check(r, *e, mix);
  r.note(world);
}

}  // namespace coracle::swarm
