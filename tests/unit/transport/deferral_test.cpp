// A server's connection whose input waits for the decode budget of the loop: what its peer is not penalized
// for meanwhile, and what ends the connection nevertheless. The test runs the iterations of the loop and sets
// its clock, so that time passes while work waits.
#include "transport/exchange.hpp"

#include "net/memory_duplex.hpp"
#include "runtime/runtime_core.hpp"
#include "support/http2/frames.hpp"
#include "support/idle_backend.hpp"
#include "transport/header_block.hpp"
#include "unit/transport/raw_peer.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::transport::deferral_test {
namespace {

using namespace std::chrono_literals;
namespace frames = http2::test::frames;

// A message that takes more than its share of each iteration until the test lets it finish.
struct slow_decode final : deferred_decode {
  bool continue_decoding() noexcept override {
    decode_budget::here().charge(decode_budget::share_bytes);
    ++shares;
    if (!may_end) return true;
    if (at_end) at_end();
    return false;
  }
  bool may_end = false;
  int shares = 0;
  std::function<void()> at_end;
};

struct plain_call final : exchange_handler {
  explicit plain_call(exchange of) : x(of) { x.set_handler(this); }
  void answer() {
    header_block head;
    head.add(":status", "200");
    x.send_block(head.bytes(), true);
    x.release();
  }
  void on_headers(header_source&, block_kind, bool) override {}
  void on_data(bytes_view, bool) override {}
  void on_writable() override {}
  void on_reset(const abnormal_end&) noexcept override { x.release(); }
  exchange x;
};

struct slow_server final : connection_owner, request_acceptor {
  std::unique_ptr<connection> kept;
  std::vector<std::unique_ptr<plain_call>> calls;
  std::function<void(plain_call&)> on_call = [](plain_call&) {};
  int went_away = 0;
  std::string end_reason;

  void on_going_away(connection& c) noexcept override {
    ++went_away;
    end_reason = c.end_reason();
  }
  void on_closed(connection&) noexcept override { kept.reset(); }
  void on_request(exchange x, header_source& fields, bool) override {
    field f;
    while (fields.next(f)) {
    }
    calls.push_back(std::make_unique<plain_call>(x));
    on_call(*calls.back());
  }
};

class deferred_input : public testing::Test {
 protected:
  deferred_input() {
    auto made = std::make_unique<test::idle_backend>();
    world_ = made.get();
    std::vector<std::unique_ptr<runtime_internal::backend>> backends;
    backends.push_back(std::move(made));
    runtime_ = runtime_internal::make_driven_runtime(std::move(backends), stderr_logger(), driver_);
    driver_.on = &on();
  }
  ~deferred_input() override {
    if (!peer_) return;
    slow_.may_end = true;
    in_loop([&] { peer_->close(); });
    pass(10s);
    EXPECT_FALSE(server_.kept);
    in_loop([&] { server_.calls.clear(); });
  }

  runtime_internal::driven_loop& on() { return runtime_->core().loop_at(0); }
  void turns(int n = 20) {
    for (int i = 0; i < n; ++i) on().run_once(time_point::min());
  }
  void pass(duration d) {
    constexpr duration step = 100ms;
    for (duration past{}; past < d; past += step) {
      world_->clock += step;
      turns(6);
    }
  }
  void in_loop(std::function<void()> f) {
    struct calling : coro::runnable {
      explicit calling(std::function<void()>& does) : what(does) {
        run = [](coro::runnable& w) noexcept { static_cast<calling&>(w).what(); };
      }
      std::function<void()>& what;
    } work(f);
    on().post(work);
    turns(1);
  }

  void start(const connection_options& o, const std::string& hello, std::size_t buffer_bytes = 64 << 10) {
    in_loop([&] {
      net::memory_pair_options between;
      between.buffer_bytes = buffer_bytes;
      auto [ours, theirs] = net::make_memory_duplex_pair(on(), on(), between);
      server_.kept = std::make_unique<connection>(on(), std::move(ours), role::server, o, server_, &server_);
      server_.kept->start();
      peer_ = std::make_unique<raw_peer>(std::move(theirs));
    });
    say(hello);
  }
  void say(std::string bytes) {
    in_loop([&] { peer_->send(std::move(bytes)); });
    turns();
  }
  // The message of the next call waits for the budget from the beginning.
  void defer_next() {
    server_.on_call = [this](plain_call& c) {
      c.x.defer(slow_);
      server_.on_call = [](plain_call&) {};
    };
  }
  void expect_well() {
    EXPECT_EQ(server_.went_away, 0) << server_.end_reason;
    EXPECT_TRUE(server_.kept);
  }

  test::by_hand driver_;
  test::idle_backend* world_ = nullptr;
  std::unique_ptr<runtime> runtime_;
  slow_decode slow_;
  slow_server server_;
  std::unique_ptr<raw_peer> peer_;
};

TEST_F(deferred_input, IsNotReadAndTheKeepaliveOfItsPeerWaits) {
  connection_options o;
  o.http2.keepalive.time = 10s;
  o.http2.keepalive.timeout = 1s;
  o.http2.keepalive.without_calls = true;
  start(o, frames::from_client());
  defer_next();
  say(frames::request(1) + frames::request(3));
  EXPECT_EQ(server_.calls.size(), 1u);
  EXPECT_TRUE(server_.calls.front()->x.withholds_credit()) << "no reader blames its peer for being slow";
  pass(60s);
  expect_well();
  EXPECT_GT(slow_.shares, 100);
  slow_.may_end = true;
  turns();
  EXPECT_EQ(server_.calls.size(), 2u);
  EXPECT_FALSE(server_.calls.front()->x.withholds_credit());
  pass(500ms);
  expect_well();
}

TEST_F(deferred_input, IsReadBeforeItsPeerIsBlamedForAFrameThatHadNotEnded) {
  start({}, frames::from_client() + frames::request(1));
  ASSERT_EQ(server_.calls.size(), 1u);
  const std::string next = frames::request(3);
  say(next.substr(0, 12));
  in_loop([&] { server_.calls.front()->x.defer(slow_); });  // a reader that finds the budget spent
  turns();
  say(next.substr(12));
  pass(60s);
  expect_well();
  slow_.may_end = true;
  // A timer expires in the iteration that ends the wait.
  for (int i = 0; i < 10; ++i) {
    world_->clock += 100ms;
    turns(1);
  }
  expect_well();
  EXPECT_EQ(server_.calls.size(), 2u);
}

TEST_F(deferred_input, MayHoldTheWindowsThatUnreadRepliesWaitFor) {
  connection_options o;
  o.backpressure.unread_bytes = 1'000;
  o.backpressure.stall_time = 20s;
  constexpr unsigned initial_window = 4;
  start(o, std::string(http2::client_preface) + frames::settings({{initial_window, 0}}) +
               frames::settings_ack() + frames::request(1));
  ASSERT_EQ(server_.calls.size(), 1u);
  constexpr std::size_t reply_bytes = 2'000;
  in_loop([&] {
    exchange& x = server_.calls.front()->x;
    header_block head;
    head.add(":status", "200");
    x.send_block(head.bytes(), false);
    x.queue_data(std::make_unique<std::uint8_t[]>(reply_bytes), reply_bytes, true);
    EXPECT_TRUE(x.congested());
    x.release();
  });
  turns();
  pass(10s);
  defer_next();
  say(frames::request(3));
  say(frames::window_update(1, reply_bytes));
  const std::size_t received = peer_->bytes_received.size();
  pass(100s);
  expect_well();
  slow_.may_end = true;
  pass(1s);
  expect_well();
  EXPECT_GE(peer_->bytes_received.size(), received + reply_bytes);
  pass(100s);
  expect_well();
}

TEST_F(deferred_input, DoesNotSaveAPeerThatTakesNothing) {
  connection_options o;
  o.backpressure.stall_time = 20s;
  start(o, frames::from_client(), 256);
  in_loop([&] { peer_->pause(); });
  defer_next();
  say(frames::request(1));
  ASSERT_EQ(server_.calls.size(), 1u);
  in_loop([&] {
    header_block head;
    head.add(":status", "200").add("x-large", std::string(2'000, 'x'));
    server_.calls.front()->x.send_block(head.bytes(), false);
  });
  pass(45s);
  EXPECT_EQ(server_.went_away, 1);
  EXPECT_TRUE(server_.end_reason.starts_with("ENHANCE_YOUR_CALM")) << server_.end_reason;
  EXPECT_FALSE(server_.kept);
}

// Requests whose replies fill the output, and a peer that reads none of them.
TEST_F(deferred_input, OfAConnectionWhoseOutputIsStalledGoesOnWhenSendingFails) {
  constexpr std::size_t buffer_bytes = 8 << 10;  // less than an answer, more than the requests
  start({}, frames::from_client(), buffer_bytes);
  in_loop([&] { peer_->pause(); });
  constexpr std::size_t requests = 100;
  server_.on_call = [this](plain_call& c) {
    header_block head;
    head.add(":status", "200").add("x-large", std::string(15'000, 'x'));
    c.x.send_block(head.bytes(), false);
    if (server_.calls.size() == requests) c.x.defer(slow_);
  };
  say(frames::request(1));
  std::string all;
  for (http2::stream_id id = 3; id < 2 * requests; id += 2) all += frames::request(id);
  ASSERT_LT(all.size(), buffer_bytes);
  say(all);
  ASSERT_EQ(server_.calls.size(), requests);
  const int before = slow_.shares;
  turns();
  EXPECT_EQ(slow_.shares, before) << "a peer that does not read has nothing decoded";
  in_loop([&] { peer_->close(); });
  turns();
  EXPECT_GT(slow_.shares, before) << "what it has sent is not lost";
  EXPECT_EQ(server_.went_away, 0) << "not before it is read";
  slow_.may_end = true;
  turns();
  EXPECT_EQ(server_.went_away, 1);
  EXPECT_FALSE(server_.kept);
}

TEST_F(deferred_input, IsAnsweredToItsEndWhenTheServerDrains) {
  start({}, frames::from_client());
  int answered = 0;
  server_.on_call = [&](plain_call& first) {
    first.x.defer(slow_);
    slow_.at_end = [&] {
      first.answer();
      ++answered;
    };
    server_.on_call = [&](plain_call& c) {
      c.answer();
      ++answered;
    };
  };
  say(frames::request(1) + frames::request(3));
  ASSERT_EQ(server_.calls.size(), 1u);
  in_loop([&] { server_.kept->drain(); });
  turns();
  EXPECT_NE(peer_->bytes_received.find("coracle!"), std::string::npos) << "the PING of a drain";
  say(frames::request(5) + frames::ping("coracle!", true));
  pass(30s);
  EXPECT_EQ(answered, 0);
  ASSERT_TRUE(server_.kept);
  slow_.may_end = true;
  turns();
  EXPECT_EQ(answered, 3);
  EXPECT_NE(peer_->bytes_received.find(frames::goaway(5, error_code::no_error)), std::string::npos)
      << "the final GOAWAY names the last that was read";
}

}  // namespace
}  // namespace coracle::transport::deferral_test
