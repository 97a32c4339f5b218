// How a subchannel reacts to the ends of its connections, and what it keeps of them.
#include "support/allocation_counter.hpp"
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

// A stream to an address, which a pair in memory does not have.
class placed_stream final : public net::duplex {
 public:
  placed_stream(std::unique_ptr<net::duplex> raw, net::address at)
      : raw_(std::move(raw)), at_(std::move(at)) {}
  void start(net::duplex_sink& sink) override { raw_->start(sink); }
  void pause_receive() noexcept override { raw_->pause_receive(); }
  void resume_receive() noexcept override { raw_->resume_receive(); }
  bool send(std::span<const piece> pieces) noexcept override { return raw_->send(pieces); }
  [[nodiscard]] bool sending() const noexcept override { return raw_->sending(); }
  void shutdown_send() noexcept override { raw_->shutdown_send(); }
  void close(bool abort) noexcept override { raw_->close(abort); }
  [[nodiscard]] const net::address& peer_address() const noexcept override { return at_; }
  [[nodiscard]] const net::address& local_address() const noexcept override { return raw_->local_address(); }

 private:
  const std::unique_ptr<net::duplex> raw_;
  const net::address at_;
};

// Reaches the first address. The others fail without a wait, as one of IPv6 does on a host without it.
class one_way final : public dialer {
 public:
  explicit one_way(std::shared_ptr<scripted_servers> net) : net_(std::move(net)) {}
  task<result<std::unique_ptr<net::duplex>>> dial(loop& on, const endpoint& to) override {
    if (to.address() != at(1)) co_return status::unavailable("there is no way");
    task<result<std::unique_ptr<net::duplex>>> dialing = net_->dial(on, to);
    auto made = co_await std::move(dialing);
    if (!made.ok()) co_return made.status();
    co_return std::make_unique<placed_stream>(*std::move(made), at(1));
  }

 private:
  const std::shared_ptr<scripted_servers> net_;
};

// The first address is silent, or breaks before its SETTINGS (gRFC A61).
TEST(Subchannel, FailsWhenItsNextAddressFailsAtOnce) {
  struct program {
    static task<> go(bool breaks) {
      const auto net = std::make_shared<scripted_servers>();
      net->be_mute(1);
      connect_params params;
      params.by = std::make_shared<one_way>(net);
      params.name = "target";
      silent_owner owner;
      endpoint where(at(1));
      where.add_address(at(2));
      subchannel s(*loop::current(), params, where, owner);
      s.connect();
      co_await sleep_for(100ms);
      EXPECT_EQ(s.state(), connectivity::connecting);
      if (breaks) net->end();
      co_await sleep_for(breaks ? 100ms : 19s);
      EXPECT_EQ(s.state(), breaks ? connectivity::transient_failure : connectivity::connecting);
      co_await sleep_for(breaks ? 0s : 1s);
      EXPECT_NE(s.state(), connectivity::connecting);
      s.close("the test is over");
      net->end();
      co_await sleep_for(1min);
      EXPECT_TRUE(owner.left);
    }
  };
  for (const bool breaks : {false, true}) {
    sim::world world{1};
    runtime& host = world.host("host", 1);
    sync_wait(host, host.at(0), program::go(breaks));
  }
}

// Connects to the first or the last address that it is given, and takes its time.
class slow_way final : public dialer {
 public:
  explicit slow_way(std::shared_ptr<scripted_servers> net) : net_(std::move(net)) {}
  task<result<std::unique_ptr<net::duplex>>> dial(loop& on, const endpoint& to) override {
    std::vector<net::address> all{to.address()};
    all.insert(all.end(), to.other_addresses().begin(), to.other_addresses().end());
    const net::address where = takes_last ? all.back() : all.front();
    dialed.push_back(std::move(all));
    co_await sleep_for(time);
    const endpoint one(where);
    task<result<std::unique_ptr<net::duplex>>> dialing = net_->dial(on, one);
    auto made = co_await std::move(dialing);
    if (!made.ok()) co_return made.status();
    co_return std::make_unique<placed_stream>(*std::move(made), where);
  }

  duration time{};
  bool takes_last = true;
  std::vector<std::vector<net::address>> dialed;

 private:
  const std::shared_ptr<scripted_servers> net_;
};

endpoint with_addresses(std::initializer_list<int> numbers) {
  endpoint e(at(*numbers.begin()));
  for (const int n : numbers)
    if (n != *numbers.begin()) e.add_address(at(n));
  return e;
}

// A subchannel to a server with these addresses, by a slow_way.
class subchannel_with_addresses {
 public:
  subchannel_with_addresses(loop& here, std::initializer_list<int> numbers) {
    params_.by = way;
    params_.name = "target";
    tested.emplace(here, params_, with_addresses(numbers), owner_);
  }
  task<> end() {
    tested->close("the test is over");
    net->end();
    co_await sleep_for(1min);
    EXPECT_TRUE(owner_.left);
  }

  const std::shared_ptr<scripted_servers> net = std::make_shared<scripted_servers>();
  const std::shared_ptr<slow_way> way = std::make_shared<slow_way>(net);
  std::optional<subchannel> tested;

 private:
  connect_params params_;
  silent_owner owner_;
};

using addresses = std::vector<std::vector<net::address>>;

TEST(Subchannel, DialsNoAddressThatWasWithdrawnMeanwhile) {
  struct program {
    static task<> go() {
      subchannel_with_addresses s(*loop::current(), {1, 2});
      s.way->time = 10s;
      for (const int n : {1, 2, 3}) s.net->serve(n);
      s.tested->connect();
      co_await sleep_for(5s);
      s.tested->set_where(with_addresses({1, 3}));
      co_await sleep_for(9s);
      EXPECT_EQ(s.way->dialed, (addresses{{at(1), at(2)}, {at(1), at(3)}}));
      EXPECT_EQ(s.tested->state(), connectivity::connecting);
      co_await sleep_for(2s);
      EXPECT_EQ(s.tested->state(), connectivity::ready);
      EXPECT_EQ(s.net->dials(2), 0u);
      EXPECT_EQ(s.net->of(3).size(), 1u);
      // One that has come to the others is no reason to begin anew.
      s.net->made.back()->die();
      co_await sleep_for(1s);
      s.way->dialed.clear();
      s.tested->connect();
      co_await sleep_for(1s);
      s.tested->set_where(with_addresses({3, 1, 2}));
      co_await sleep_for(1s);
      EXPECT_EQ(s.way->dialed.size(), 1u);
      co_await s.end();
    }
  };
  run_in_a_world([] { return program::go(); });
}

// All of them may be replaced while the first is dialed, also if there was but one.
TEST(Subchannel, DialsTheAddressesOfTheLastUpdate) {
  struct program {
    static task<> go() {
      subchannel_with_addresses s(*loop::current(), {1});
      s.way->time = 2s;
      for (const int n : {1, 2, 3}) s.net->serve(n);
      s.tested->connect();
      co_await sleep_for(1s);
      s.tested->set_where(with_addresses({1, 2}));
      s.tested->set_where(with_addresses({2}));
      co_await sleep_for(1s);
      s.tested->set_where(with_addresses({2, 3}));
      s.tested->set_where(with_addresses({3}));
      co_await sleep_for(3s);
      EXPECT_EQ(s.tested->state(), connectivity::ready);
      EXPECT_EQ(s.way->dialed, (addresses{{at(1)}, {at(2)}, {at(3)}}));
      EXPECT_EQ(s.net->of(3).size(), 1u);
      EXPECT_EQ(s.net->made.size(), 1u);
      co_await s.end();
    }
  };
  run_in_a_world([] { return program::go(); });
}

TEST(Subchannel, LeavesASilentAddressThatIsWithdrawn) {
  struct program {
    static task<> go() {
      subchannel_with_addresses s(*loop::current(), {1, 2});
      s.way->takes_last = false;
      s.net->be_mute(1);
      for (const int n : {2, 3}) s.net->serve(n);
      s.tested->connect();
      co_await sleep_for(10ms);
      EXPECT_EQ(s.way->dialed.size(), 1u);
      s.tested->set_where(with_addresses({3}));
      co_await sleep_for(10ms);
      EXPECT_EQ(s.tested->state(), connectivity::ready);
      EXPECT_EQ(s.way->dialed, (addresses{{at(1), at(2)}, {at(3)}}));
      EXPECT_EQ(s.net->dials(2), 0u);
      co_await s.end();
    }
  };
  run_in_a_world([] { return program::go(); });
}

// The others may go before they are tried.
TEST(Subchannel, GivesItsOnlyAddressTheWholeTimeToAnswer) {
  struct program {
    static task<> go() {
      subchannel_with_addresses s(*loop::current(), {1, 2});
      s.way->takes_last = false;
      s.net->be_mute(1);
      s.tested->connect();
      co_await sleep_for(10ms);
      s.tested->set_where(with_addresses({1}));
      co_await sleep_for(19s);
      EXPECT_EQ(s.tested->state(), connectivity::connecting);
      co_await sleep_for(1s);
      EXPECT_NE(s.tested->state(), connectivity::connecting);
      EXPECT_EQ(s.way->dialed.size(), 1u);
      co_await s.end();
    }
  };
  run_in_a_world([] { return program::go(); });
}

// Each time it comes, less than 250 ms pass until it goes again.
TEST(Subchannel, TriesAnAddressThatComesAndGoesBesideASilentOne) {
  struct program {
    static task<> go() {
      subchannel_with_addresses s(*loop::current(), {1});
      s.net->be_mute(1);
      s.net->serve(2);
      s.tested->connect();
      co_await sleep_for(10ms);
      for (int i = 0; i < 10; ++i) {
        s.tested->set_where(with_addresses({1, 2}));
        co_await sleep_for(100ms);
        if (s.tested->state() == connectivity::ready) break;
        s.tested->set_where(with_addresses({1}));
        co_await sleep_for(20ms);
      }
      EXPECT_EQ(s.tested->state(), connectivity::ready);
      EXPECT_EQ(s.net->of(2).size(), 1u);
      co_await s.end();
    }
  };
  run_in_a_world([] { return program::go(); });
}

// A slow_way that is told of other addresses, and goes on.
class following_way final : public dialer {
 public:
  explicit following_way(std::shared_ptr<scripted_servers> net) : net_(std::move(net)) {}
  task<result<std::unique_ptr<net::duplex>>> dial(loop&, const endpoint&) override {
    co_return status::internal("it follows");
  }
  task<result<std::unique_ptr<net::duplex>>> dial_and_follow(loop& on, const endpoint& to,
                                                             dial_in_progress*& running) override {
    struct following final : dial_in_progress {
      following(following_way& o, dial_in_progress*& at) : of(o), shown(at) { shown = this; }
      ~following() { shown = nullptr; }
      bool change_to(const endpoint& now) override {
        of.last = now;
        ++of.changes;
        return true;
      }
      following_way& of;
      dial_in_progress*& shown;
    };
    ++dials;
    last = to;
    const following self(*this, running);
    co_await sleep_for(10s);
    const endpoint one(last->other_addresses().empty() ? last->address() : last->other_addresses().back());
    task<result<std::unique_ptr<net::duplex>>> dialing = net_->dial(on, one);
    auto made = co_await std::move(dialing);
    if (!made.ok()) co_return made.status();
    co_return std::make_unique<placed_stream>(*std::move(made), one.address());
  }

  int dials = 0;
  int changes = 0;
  std::optional<endpoint> last;

 private:
  const std::shared_ptr<scripted_servers> net_;
};

// RFC 8305 4: they join those that are dialed, and what is dialed does not begin anew.
TEST(Subchannel, DialsOnWhileAddressesComeAndGo) {
  struct program {
    static task<> go() {
      const auto net = std::make_shared<scripted_servers>();
      const auto way = std::make_shared<following_way>(net);
      for (const int n : {1, 2, 3}) net->serve(n);
      connect_params params;
      params.by = way;
      params.name = "target";
      silent_owner owner;
      subchannel s(*loop::current(), params, with_addresses({1}), owner);
      s.connect();
      co_await sleep_for(5s);
      s.set_where(with_addresses({1, 2}));
      EXPECT_EQ(way->last, with_addresses({1, 2}));
      s.set_where(with_addresses({1, 3}));
      EXPECT_EQ(way->last, with_addresses({1, 3}));
      co_await sleep_for(6s);
      EXPECT_EQ(s.state(), connectivity::ready);
      EXPECT_EQ(way->dials, 1);
      EXPECT_EQ(net->of(3).size(), 1u);
      s.close("the test is over");
      net->end();
      co_await sleep_for(1min);
      EXPECT_TRUE(owner.left);
    }
  };
  run_in_a_world([] { return program::go(); });
}

// Also beside a connection whose server is silent, and after a dialing that could not follow.
TEST(Subchannel, TriesAnAddressThatComesBesideASilentOne) {
  struct program {
    static task<> go(bool dials) {
      subchannel_with_addresses s(*loop::current(), {1});
      if (dials) s.way->time = 1s;
      else s.net->be_mute(1);
      s.net->serve(2);
      s.tested->connect();
      co_await sleep_for(100ms);
      s.tested->set_where(with_addresses({1, 2}));
      co_await sleep_for(dials ? 2100ms : 300ms);
      EXPECT_EQ(s.tested->state(), connectivity::ready);
      EXPECT_EQ(s.way->dialed, (addresses{{at(1)}, {at(2)}}));
      co_await s.end();
    }
  };
  run_in_a_world([] { return program::go(false); });
  run_in_a_world([] { return program::go(true); });
}

// Another policy has kept the server for its sessions; the one that wanted the reports may be gone.
TEST(Subchannel, ReportsNoLoadToAUserThatHasLeft) {
  struct counting final : load_listener {
    void on_load(subchannel&, const load_report&) noexcept override { ++reports; }
    int reports = 0;
  };
  struct user final : subchannel_user {
    user() noexcept : subchannel_user(true) {}
    void on_state(subchannel&) override {}
  };
  struct program {
    static task<> go() {
      subchannel_with_addresses s(*loop::current(), {1});
      s.net->serve(1);
      counting loads;
      user another;
      s.tested->report_load_to(loads, true, std::nullopt);
      s.tested->connect();
      co_await sleep_for(1s);
      call_target of_channel;
      metadata trailing;
      trailing.add("endpoint-load-metrics-bin", std::string_view("\x09\0\0\0\0\0\0\xe0\x3f", 9));  // CPU 0.5
      held_call call;
      const transport::exchange x = s.tested->open(call);
      EXPECT_TRUE(x);
      call.begin(x);
      attempt_end_sink* const ends = s.tested->target_of_attempt(of_channel, &call, &x).ends;
      ends->attempt_ended(status_code::ok, trailing);
      EXPECT_EQ(loads.reports, 1);
      s.tested->set_user(another);
      ends->attempt_ended(status_code::ok, trailing);
      EXPECT_EQ(loads.reports, 1);
      call.end();
      co_await s.end();
    }
  };
  run_in_a_world([] { return program::go(); });
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
      s.count_outcomes(std::make_shared<attempt_outcomes>(at(1)));
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

// A channel may have 10,000 servers, and connect to few of them.
TEST(Subchannel, KeepsFewBytesWithoutAConnection) {
  run_in_a_world([]() -> task<> {
    loop& here = *loop::current();
    const auto net = std::make_shared<scripted_servers>();
    net->serve(1);
    net->refuse(2);
    net->log.reserve(16);
    net->made.reserve(16);
    connect_params params;
    params.by = net;
    params.name = "target";
    for (const bool measured : {false, true}) {  // the loop keeps frames of the coroutines that it ran first
      for (const int server : {1, 2}) {
        silent_owner owner;
        const std::int64_t before = coracle::test::allocated_bytes;
        const auto s = std::make_unique<subchannel>(here, params, endpoint(at(server)), owner);
        const std::int64_t unused = coracle::test::allocated_bytes - before;
        s->connect();
        co_await sleep_for(20s);
        EXPECT_EQ(s->state(), server == 1 ? connectivity::ready : connectivity::idle);
        net->end();
        co_await sleep_for(1min);
        net->made.clear();
        EXPECT_EQ(s->state(), connectivity::idle);
        const std::int64_t used = coracle::test::allocated_bytes - before;
        if (measured) {
          EXPECT_LE(unused, 416);
          EXPECT_LE(used, 1'024) << "it was connected, or has failed";
        }
        s->close("the test is over");
        co_await sleep_for(1min);
        EXPECT_TRUE(owner.left);
      }
    }
  });
}

}  // namespace
}  // namespace coracle::client::test::subchannel_test
