// scripted_servers: a dialer whose addresses behave as scripted; those that serve use HTTP/2 in memory.
#pragma once

#include "client/connecting/dialer.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/runtime/loop.hpp"
#include "net/memory_duplex.hpp"
#include "transport/exchange.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace coracle::client::test {

using namespace std::chrono_literals;

// 10.0.0.n:1 for 1 <= n < 100; beyond that, an IPv6 address.
inline net::address at(int n) {
  if (n < 100) return net::address::ipv4({10, 0, 0, static_cast<std::uint8_t>(n)}, 1);
  std::array<std::uint8_t, 16> bytes{0xfd};
  bytes[15] = static_cast<std::uint8_t>(n - 100);
  return net::address::ipv6(bytes, 1);
}
inline std::vector<endpoint> servers(std::initializer_list<int> numbers) {
  std::vector<endpoint> list;
  for (int n : numbers) list.emplace_back(at(n));
  return list;
}

// The server side of one connection. Keeps each request open until the test ends it.
class scripted_server final : transport::connection_owner, transport::request_acceptor {
 public:
  scripted_server(loop& on, std::unique_ptr<net::duplex> stream, net::address here, std::uint32_t streams)
      : where(std::move(here)) {
    transport::connection_options o;
    o.http2.max_concurrent_streams = streams;
    kept_ = std::make_unique<transport::connection>(on, std::move(stream), transport::role::server, o,
                                                    static_cast<transport::connection_owner&>(*this),
                                                    static_cast<transport::request_acceptor*>(this));
    kept_->start();
  }
  // All requests end; REFUSED_STREAM and similar ends are tested elsewhere.
  void end_requests() {
    for (transport::exchange& x : std::exchange(open_, {})) x.release();
  }
  void go_away() { kept_->drain(); }
  void report_error() {
    if (kept_) kept_->close(transport::error_code::enhance_your_calm, "too_many_pings");
  }
  void die() {
    if (kept_) kept_->close(transport::error_code::no_error, "died");
  }
  [[nodiscard]] bool alive() const noexcept { return kept_ != nullptr; }
  [[nodiscard]] std::size_t requests() const noexcept { return open_.size(); }
  const net::address where;

 private:
  struct holder final : transport::exchange_handler {
    void on_headers(transport::header_source&, transport::block_kind, bool) noexcept override {}
    void on_data(bytes_view, bool) noexcept override {}
    void on_writable() noexcept override {}
    void on_reset(const transport::abnormal_end&) noexcept override {}
  };
  void on_request(transport::exchange x, transport::header_source&, bool) noexcept override {
    x.set_handler(&holder_);
    open_.push_back(x);
  }
  void on_closed(transport::connection&) noexcept override {
    open_.clear();
    kept_.reset();
  }
  holder holder_;
  std::vector<transport::exchange> open_;
  std::unique_ptr<transport::connection> kept_;
};

class scripted_servers final : public dialer {
 public:
  struct script {
    enum class end : std::uint8_t { serves, refuses, mute } how = end::refuses;
    duration after{};
    std::uint32_t streams = 100;
    int drained = 0;  // of the next connections
  };
  void serve(int n, duration after = 1ms, std::uint32_t streams = 100) {
    scripts_[at(n)] = {script::end::serves, after, streams};
  }
  void refuse(int n, duration after = 1ms) { scripts_[at(n)] = {script::end::refuses, after}; }
  // As above; the first connections are drained as they begin.
  void drain_at_once(int n, int connections) {
    serve(n);
    scripts_[at(n)].drained = connections;
  }
  // Accepts the connection and sends nothing.
  void be_mute(int n) { scripts_[at(n)] = {script::end::mute, 1ms}; }
  // Never replies.
  void vanish(int n) { scripts_[at(n)] = {script::end::refuses, 24h}; }

  struct dialed {
    time_point when;
    net::address to;
  };
  std::vector<dialed> log;
  std::vector<std::unique_ptr<scripted_server>> made;  // each address that was ever connected

  [[nodiscard]] std::size_t dials(int n) const {
    return static_cast<std::size_t>(
        std::count_if(log.begin(), log.end(), [&](const dialed& d) { return d.to == at(n); }));
  }
  // The open connections to that address.
  [[nodiscard]] std::vector<scripted_server*> of(int n) const {
    std::vector<scripted_server*> found;
    for (const auto& s : made)
      if (s->where == at(n) && s->alive()) found.push_back(s.get());
    return found;
  }
  void end() {
    for (const auto& s : made) s->die();
    mute_.clear();
  }

  task<result<std::unique_ptr<net::duplex>>> dial(loop& on, const endpoint& to) override {
    log.push_back({on.now(), to.address()});
    const script s = scripts_[to.address()];
    co_await sleep_for(s.after);
    if (s.how == script::end::refuses)
      co_return status::unavailable("refused by " + to.address().to_string());
    auto pair = net::make_memory_duplex_pair(on, on);
    if (s.how == script::end::serves) {
      made.push_back(std::make_unique<scripted_server>(on, std::move(pair.second), to.address(), s.streams));
      if (int& left = scripts_[to.address()].drained; left > 0 && left-- > 0) made.back()->go_away();
    } else {
      mute_.push_back(std::move(pair.second));
    }
    co_return std::move(pair.first);
  }

 private:
  std::map<net::address, script> scripts_;
  std::vector<std::unique_ptr<net::duplex>> mute_;
};

}  // namespace coracle::client::test
