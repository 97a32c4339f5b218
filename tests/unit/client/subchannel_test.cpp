// How a subchannel reacts to the ends of its connections.
#include "unit/client/balancer_fixture.hpp"

namespace coracle::client::test::subchannel_test {
namespace {

// The state and the failure of a single subchannel.
struct silent_owner final : subchannel_owner {
  bool left = false;
  void on_state(subchannel&) noexcept override {}
  void on_slots(subchannel&) noexcept override {}
  void on_drained(subchannel&) noexcept override { left = true; }
};

std::uint64_t pings(const subchannel& s) {
  const auto found = s.stats(0);
  return found.connections.size() == 1 ? found.connections.front().keepalives_sent : ~std::uint64_t{0};
}

TEST(Subchannel, AsksHalfAsOftenOnEachConnectionAfterAServerComplainedOfPings) {
  struct program {
    static task<> go() {
      loop& here = *loop::current();
      const auto net = std::make_shared<scripted_servers>();
      net->serve(1);
      connect_params params;
      params.by = net;
      params.name = "target";
      params.connection.http2.keepalive = {10s, 20s, true};
      silent_owner owner;
      subchannel s(here, params, endpoint(at(1)), owner);
      for (const duration time : {10s, 20s, 40s}) {
        s.connect();
        co_await sleep_for(time - 1s);
        EXPECT_EQ(s.state(), connectivity::ready);
        EXPECT_EQ(pings(s), 0u) << time / 1s;
        co_await sleep_for(2s);
        EXPECT_EQ(pings(s), 1u) << time / 1s;
        net->made.back()->report_error();
        co_await sleep_for(5s);
        EXPECT_EQ(s.state(), connectivity::idle);
      }
      // A further end of another kind changes nothing.
      s.connect();
      co_await sleep_for(1s);
      net->made.back()->die();
      co_await sleep_for(5s);
      s.connect();
      co_await sleep_for(79s);
      EXPECT_EQ(pings(s), 0u);
      co_await sleep_for(2s);
      EXPECT_EQ(pings(s), 1u);
      s.close("the test is over");
      net->end();
      co_await sleep_for(1min);
      EXPECT_TRUE(owner.left);
    }
  };
  sim::world world{1};
  runtime& host = world.host("host", 1);
  sync_wait(host, host.at(0), program::go());
}

// A server in a simulated world, and a subchannel that connects as often as permitted, as under a client that
// keeps calling.
class subchannel_to_a_bad_server {
 public:
  explicit subchannel_to_a_bad_server(loop& here) : here_(here) {
    net_->serve(1, 0ms);
    params_.by = net_;
    params_.name = "target";
    subchannel_.emplace(here, params_, endpoint(at(1)), owner_);
  }
  // The server ends each connection after `life`. Returns the number of connections within `time`.
  task<std::size_t> connects(duration life, duration time) {
    const std::size_t before = net_->log.size();
    const time_point end = here_.now() + time;
    time_point ready_at = never;
    while (here_.now() < end) {
      subchannel_->connect();
      co_await sleep_for(1ms);
      if (subchannel_->state() != connectivity::ready) ready_at = never;
      else if (ready_at == never) ready_at = here_.now();
      if (ready_at != never && here_.now() - ready_at >= life) net_->made.back()->die();
    }
    co_return net_->log.size() - before;
  }
  task<> end() {
    subchannel_->close("the test is over");
    net_->end();
    co_await sleep_for(1min);
    EXPECT_TRUE(owner_.left);
  }
  [[nodiscard]] const subchannel& tested() const { return *subchannel_; }

 private:
  loop& here_;
  std::shared_ptr<scripted_servers> net_ = std::make_shared<scripted_servers>();
  connect_params params_;
  silent_owner owner_;
  std::optional<subchannel> subchannel_;
};

template <class Program>
void run_in_a_world(Program program) {
  sim::world world{1};
  runtime& host = world.host("host", 1);
  sync_wait(host, host.at(0), program());
}

// A stream that TLS protects, as far as others can see.
class protected_stream final : public net::duplex {
 public:
  explicit protected_stream(std::unique_ptr<net::duplex> raw) : raw_(std::move(raw)) {}
  void start(net::duplex_sink& sink) override { raw_->start(sink); }
  void pause_receive() noexcept override { raw_->pause_receive(); }
  void resume_receive() noexcept override { raw_->resume_receive(); }
  bool send(std::span<const piece> pieces) noexcept override { return raw_->send(pieces); }
  [[nodiscard]] bool sending() const noexcept override { return raw_->sending(); }
  void shutdown_send() noexcept override { raw_->shutdown_send(); }
  void close(bool abort) noexcept override { raw_->close(abort); }
  [[nodiscard]] const net::address& peer_address() const noexcept override { return raw_->peer_address(); }
  [[nodiscard]] const net::address& local_address() const noexcept override { return raw_->local_address(); }
  [[nodiscard]] const auth_context* auth() const noexcept override { return auth_.get(); }

 private:
  const std::unique_ptr<net::duplex> raw_;
  const std::shared_ptr<const auth_context> auth_ = std::make_shared<const auth_context>();
};

class protecting final : public security::client_security {
 public:
  std::unique_ptr<net::duplex> secure(loop&, std::unique_ptr<net::duplex> raw, std::string_view,
                                      std::string_view) override {
    if (!on) return raw;
    return std::make_unique<protected_stream>(std::move(raw));
  }
  status reload() override { return {}; }
  [[nodiscard]] bool always_private() const noexcept override { return false; }

  bool on = false;
};

// Not that of the channel: a control plane secures some of its servers (gRFC A29).
TEST(Subchannel, CallsHaveTheSchemeOfTheirConnection) {
  struct program {
    static task<> go() {
      loop& here = *loop::current();
      const auto net = std::make_shared<scripted_servers>();
      net->serve(1);
      const auto security = std::make_shared<protecting>();
      connect_params params;
      params.by = net;
      params.credentials = std::shared_ptr<security::client_security>(security);
      silent_owner owner;
      subchannel s(here, params, endpoint(at(1)), owner);
      s.count_outcomes(std::make_shared<attempt_outcomes>());
      call_target of_channel;
      of_channel.scheme = security::scheme_of(params.credentials);
      EXPECT_EQ(of_channel.scheme, "http");
      for (const bool is_protected : {false, true, false}) {
        security->on = is_protected;
        s.connect();
        co_await sleep_for(20s);
        held_call call;
        const transport::exchange x = s.open(call);
        EXPECT_TRUE(x);
        if (!x) break;
        EXPECT_EQ(s.target_of_attempt(of_channel, &call, &x).scheme, is_protected ? "https" : "http");
        call.begin(x);
        call.end();
        net->made.back()->die();
        co_await sleep_for(1s);
      }
      s.close("the test is over");
      net->end();
      co_await sleep_for(1min);
      EXPECT_TRUE(owner.left);
    }
  };
  sim::world world{1};
  runtime& host = world.host("host", 1);
  sync_wait(host, host.at(0), program::go());
}

TEST(Subchannel, PausesBeforeItConnectsAgainToAServerThatBreaksEachConnection) {
  run_in_a_world([]() -> task<> {
    subchannel_to_a_bad_server s(*loop::current());
    // Immediately, after the tolerated first loss, and then after pauses of 1 s, 1.6 s and so on, plus or
    // minus a fifth.
    const std::size_t connects = co_await s.connects(0ms, 1min);
    EXPECT_GE(connects, 6u);
    EXPECT_LE(connects, 12u);
    EXPECT_EQ(s.tested().state(), connectivity::transient_failure);
    EXPECT_EQ(s.tested().failure().code(), status_code::unavailable);
    EXPECT_NE(s.tested().failure().message().find("target closes connections shortly after"),
              std::string::npos)
        << s.tested().failure().message();
    co_await s.end();
  });
}

TEST(Subchannel, ConnectsAtOnceAfterConnectionsThatStayUp) {
  run_in_a_world([]() -> task<> {
    subchannel_to_a_bad_server s(*loop::current());
    co_await s.connects(0ms, 1min);
    co_await s.connects(1h, 2min);  // the pause ends, and this connection stays
    EXPECT_EQ(s.tested().state(), connectivity::ready);
    const std::size_t connects = co_await s.connects(5s, 1min);
    EXPECT_GE(connects, 11u) << "5 s each, and no pause between";
    EXPECT_LE(connects, 12u);
    co_await s.end();
  });
}

// An established connection delays a further attempt: the earlier backoff must not apply to an attempt made
// hours later.
TEST(Subchannel, AFurtherAttemptBesideASettledConnectionBeginsWithTheFirstPause) {
  run_in_a_world([]() -> task<> {
    loop& here = *loop::current();
    const auto net = std::make_shared<scripted_servers>();
    connect_params params;
    params.by = net;
    params.name = "target";
    silent_owner owner;
    subchannel s(here, params, endpoint(at(1)), owner);
    s.set_connections_max(2);
    for (int i = 0; i < 8; ++i) {
      s.connect();  // refused: the pauses grow
      co_await sleep_for(1min);
    }
    net->serve(1);
    s.connect();
    co_await sleep_for(1h);
    EXPECT_EQ(s.state(), connectivity::ready);
    net->refuse(1);
    const std::size_t before = net->dials(1);
    for (int i = 0; i < 3000; ++i) {
      s.scale();
      co_await sleep_for(1ms);
    }
    EXPECT_GE(net->dials(1) - before, 3u);
    s.close("the test is over");
    net->end();
    co_await sleep_for(1min);
    EXPECT_TRUE(owner.left);
  });
}

}  // namespace
}  // namespace coracle::client::test::subchannel_test
