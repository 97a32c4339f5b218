// Messages that are expensive to decode, from a client or a server: they are decoded over many iterations of
// their loop, and the other work of the loop continues in between.
#include "transport/decode_budget.hpp"

#include "compress/coder.hpp"
#include "coracle/client.hpp"
#include "coracle/client/client_interceptor.hpp"
#include "coracle/client/client_observer.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/net/stream.hpp"
#include "coracle/server.hpp"
#include "support/borrowed.hpp"
#include "support/every_backend.hpp"
#include "support/manual_executor.hpp"
#include "support/raw_frames.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace coracle::testing_support::decode_budget_test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using transport::decode_budget;

constexpr std::size_t bomb_bytes = (4u << 20) - 100;

std::vector<encoding> encodings_here() {
  std::vector<encoding> all;
  for (std::size_t i = 1; i < encoding_count; ++i)
    if (available(static_cast<encoding>(i))) all.push_back(static_cast<encoding>(i));
  return all;
}

// A message with gRPC's prefix: zeros, which every encoding compresses well.
std::string bomb(encoding e, std::size_t size = bomb_bytes) {
  static compress::coders coders;
  base::output_buffer packed;
  EXPECT_TRUE(coders.of(e)->compress(as_bytes(std::string(size, '\0')), compression::level_default, packed));
  std::string framed = "\1"s;
  for (const int shift : {24, 16, 8, 0}) framed += static_cast<char>(packed.size() >> shift & 0xff);
  return framed + std::string(as_text(packed.pending()));
}

// Records in which iteration of its loop each message arrived.
class witness final : public service {
 public:
  std::vector<std::uint64_t> at;
  int ended = 0;

  method_table methods() const noexcept override {
    static constexpr method table[] = {
        unary_method<&witness::one>("/t.T/One"), bidi_method<&witness::many>("/t.T/Many"),
        client_streaming_method<&witness::last>("/t.T/Last"), unary_method<&witness::echo>("/t.T/Echo")};
    return table;
  }
  reply<bytes_message> one(server_context&, const bytes_message& request) {
    saw(request);
    return bytes_message();
  }
  replies<bytes_message> many(server_context& context, reader<bytes_message> requests) {
    try {
      while (const auto request = co_await requests.next()) saw(*request);
    } catch (const call_ended&) {  // counted as an end, too
    }
    ++ended;
    if (!context.metadata().find("x-replies")) co_return status();
    context.compression(compression(encoding::gzip).min_bytes(0));
    const bytes_message large(std::string(bomb_bytes, '\0'));
    for (int i = 0; i < 12; ++i) co_yield large;
    co_return status();
  }
  reply<bytes_message> last(server_context& context, reader<bytes_message> requests) {
    bytes_message m;
    bool more = true;
    while (more) more = co_await requests.read(m);
    context.compression(compression(encoding::gzip).min_bytes(0));
    co_return bytes_message(std::string(bomb_bytes, 'x'));
  }
  reply<bytes_message> echo(server_context&, const bytes_message& request) { return request; }

  void saw(const bytes_message&) { at.push_back(loop::current()->stats().turns); }
  // Returns the fewest iterations between two messages.
  [[nodiscard]] std::uint64_t closest() const {
    std::uint64_t least = ~std::uint64_t{0};
    for (std::size_t i = 1; i < at.size(); ++i) least = std::min(least, at[i] - at[i - 1]);
    return least;
  }
  // Returns the most messages of one iteration.
  [[nodiscard]] std::ptrdiff_t densest() const {
    std::map<std::uint64_t, std::ptrdiff_t> counts;
    std::ptrdiff_t most = 0;
    for (const std::uint64_t turn : at) most = std::max(most, ++counts[turn]);
    return most;
  }
};

// A server, a channel of a neighbour that makes small calls, and an attacker's connection, all on one loop.
class decoding : public every_backend {
 public:
  void SetUp() override {
    every_backend::SetUp();
    if (IsSkipped()) return;
    server_.emplace(rt(), server_options());
    server_->add(witness_);
    ASSERT_EQ(server_->listen("127.0.0.1:0", insecure()), status());
    address_ = "127.0.0.1:" + std::to_string(server_->port());
    neighbour_.emplace(rt(), address_, insecure());
  }
  void TearDown() override {
    neighbour_.reset();
    server_.reset();
  }

  static std::string head(const std::string& path, int id, encoding e, const std::string& more = {}) {
    using namespace raw_frames;
    return frame(headers, end_headers, id,
                 literal(":method", "POST") + literal(":scheme", "http") + literal(":path", path) +
                     literal(":authority", "h") + literal("te", "trailers") +
                     literal("content-type", "application/grpc") +
                     literal("grpc-encoding", std::string(name_of(e))) + more);
  }
  static std::string body(int id, const std::string& bytes, bool last) {
    using namespace raw_frames;
    std::string frames;
    for (std::size_t at = 0; at < bytes.size(); at += 16'000)
      frames +=
          frame(data, last && at + 16'000 >= bytes.size() ? end_stream : '\0', id, bytes.substr(at, 16'000));
    return frames;
  }
  static task<bool> small_call(decoding& t) {
    const bytes_message request("small");
    const auto reply = co_await generic_stub(*t.neighbour_).unary("/t.T/Echo", request);
    co_return reply.ok() && reply->bytes() == "small";
  }
  // Makes small calls until `done` messages have been received; returns the number of calls.
  static task<int> call_until(decoding& t, std::size_t done) {
    int calls = 0;
    while (t.witness_.at.size() < done) {
      EXPECT_TRUE(co_await small_call(t));
      ++calls;
    }
    co_return calls;
  }
  static task<int> attack(decoding& t, std::string bytes, std::size_t messages) {
    EXPECT_TRUE(co_await small_call(t));
    auto connected = co_await net::stream::connect(net::address::parse(t.address_).value());
    const std::string all = raw_frames::greeting() + bytes;
    EXPECT_TRUE((co_await connected->write(as_bytes(all))).ok());
    const int calls = co_await call_until(t, messages);
    co_return calls;
  }

  witness witness_;
  std::string address_;
  std::optional<server> server_;
  std::optional<channel> neighbour_;
};

INSTANTIATE_TEST_SUITE_P(Backend, decoding, all_kinds, every_backend::case_name);

TEST_P(decoding, OfSmallUnaryRequestsThatUnpackToMegabytesLeavesTheLoopToOthers) {
  constexpr int calls = 10;
  for (const encoding e : encodings_here()) {
    witness_.at.clear();
    const std::string message = bomb(e);
    std::string bytes;
    for (int i = 0; i < calls; ++i) bytes += head("/t.T/One", 1 + 2 * i, e) + body(1 + 2 * i, message, true);
    // 4 MiB are 16 times what an iteration decodes, and a call of the neighbour takes several iterations,
    // more where io_uring lacks a feature. If all messages were decoded at once, they would leave room for
    // one call. In the simulation a call takes time, but the work of the loop takes none.
    EXPECT_GE(run(attack(*this, bytes, calls)), sim_world() ? 1 : calls / 2) << name_of(e);
    EXPECT_GE(witness_.closest(), 12u) << name_of(e);
  }
}

TEST_P(decoding, OfAStreamOfSuchMessagesLeavesTheLoopToOthers) {
  constexpr std::size_t messages = 10;
  for (const encoding e : encodings_here()) {
    witness_.at.clear();
    std::string message = bomb(e);
    // The window of the stream fits at least two; snappy compresses a message at most twenty times.
    const std::size_t size = message.size() > 30'000 ? 512u << 10 : bomb_bytes;
    if (size != bomb_bytes) message = bomb(e, size);
    std::string all;
    std::size_t sent = 0;
    for (; sent < messages && all.size() + message.size() < 60'000; ++sent) all += message;
    ASSERT_GE(sent, 2u) << name_of(e);
    const auto iterations = static_cast<int>(size / decode_budget::iteration_bytes);
    EXPECT_GE(run(attack(*this, head("/t.T/Many", 1, e) + body(1, all, true), sent)),
              sim_world() ? 1 : static_cast<int>(sent) / 2)
        << name_of(e);
    EXPECT_GE(static_cast<int>(witness_.closest()), iterations * 3 / 4) << name_of(e);
  }
}

TEST_P(decoding, OfThousandsOfTinyMessagesTakesSeveralIterations) {
  constexpr std::size_t messages = 50'000;
  std::string all;
  for (std::size_t i = 0; i < messages; ++i) all += "\0\0\0\0\1x"s;
  EXPECT_GE(run(attack(*this, head("/t.T/Many", 1, encoding::gzip) + body(1, all, true), messages)), 1);
  // The end of one iteration and the beginning of the next have the same number.
  EXPECT_LE(witness_.densest(), 2 * decode_budget::iteration_bytes / decode_budget::message_cost_bytes);
  EXPECT_GE(witness_.at.back() - witness_.at.front(), 3u);
}

TEST_P(decoding, HoldsUpNoSmallCallWhileManyAttack) {
  // Each with a connection of its own, and as many messages as the neighbour has calls.
  const std::string message = bomb(encoding::gzip);
  const auto hostile = [](decoding& t, std::string bytes) -> task<> {
    auto connected = co_await net::stream::connect(net::address::parse(t.address_).value());
    EXPECT_TRUE((co_await connected->write(as_bytes(bytes))).ok());
    co_await sleep_for(1h);
  };
  const auto measure = [](decoding& t, auto attacker, std::string bytes) -> task<std::uint64_t> {
    scope work{co_await coro::this_environment()};
    EXPECT_TRUE(co_await small_call(t));
    for (int i = 0; i < 30; ++i) work.spawn(attacker(t, bytes));
    while (t.witness_.at.empty()) EXPECT_TRUE(co_await small_call(t));
    std::uint64_t longest = 0;
    for (int i = 0; i < 50; ++i) {
      const std::uint64_t before = loop::current()->stats().turns;
      EXPECT_TRUE(co_await small_call(t));
      longest = std::max(longest, loop::current()->stats().turns - before);
    }
    work.request_stop();
    co_await work.join();
    co_return longest;
  };
  std::string bytes = raw_frames::greeting();
  for (int i = 0; i < 8; ++i)
    bytes += head("/t.T/One", 1 + 2 * i, encoding::gzip) + body(1 + 2 * i, message, true);
  EXPECT_LE(run(measure(*this, hostile, bytes)), 20u) << "iterations of the loop";
}

TEST_P(decoding, OfRepliesLeavesAClientsLoopToOthers) {
  const auto read_all = [](decoding& t) -> task<std::vector<std::uint64_t>> {
    call_options options;
    options.add_metadata("x-replies", "many");
    auto call = generic_stub(*t.neighbour_).bidi("/t.T/Many", options);
    co_await call.writes_done();
    co_await sleep_for(300ms);  // all of them have come
    std::vector<std::uint64_t> at;
    while (const auto reply = (co_await call.next()).value()) {
      EXPECT_EQ(reply->bytes().size(), bomb_bytes);
      at.push_back(loop::current()->stats().turns);
    }
    EXPECT_EQ((co_await call.finish()), status());
    co_return at;
  };
  const std::vector<std::uint64_t> at = run(read_all(*this));
  ASSERT_EQ(at.size(), 12u);
  for (std::size_t i = 1; i < at.size(); ++i) EXPECT_GE(at[i] - at[i - 1], 12u) << i;
}

TEST_P(decoding, OfAReplyThatIsAskedForBehindTheEndOfItsCallWorks) {
  const auto ask_late = [](decoding& t) -> task<std::size_t> {
    auto call = generic_stub(*t.neighbour_).client_streaming("/t.T/Last");
    const bytes_message one("one");
    (co_await call.write_last(one)).throw_if_error();
    co_await sleep_for(100ms);
    const auto reply = co_await call.finish();
    EXPECT_EQ(reply.status(), status());
    co_return reply.ok() ? reply->bytes().size() : 0;
  };
  EXPECT_EQ(run(ask_late(*this)), bomb_bytes);
}

struct ends_of_calls final : client_observer {
  void attempt_ended(observed_attempt&, const status& outcome, time_point) noexcept override {
    EXPECT_EQ(outcome, status());
    ++attempts;
  }
  void call_ended(observed_call&, const status& outcome, time_point) noexcept override {
    last = outcome;
    ++calls;
  }
  int attempts = 0;
  int calls = 0;
  status last;
};

// Requests a reply when the server has ended the call, and the reply is too large to be decoded at once.
struct late_reply {
  using call_type = client_streaming_call<bytes_message, bytes_message>;
  static task<> come(call_type& call, const ends_of_calls& seen) {
    const bytes_message one("one");
    (co_await call.write_last(one)).throw_if_error();
    while (seen.attempts == 0) co_await sleep_for(1ms);
    EXPECT_EQ(seen.calls, 0) << "the reply is not decoded yet";
  }
  static task<> finish(call_type& call, status& outcome) {
    const auto reply = co_await call.finish();
    outcome = reply.status();
  }
  static task<status> stopped(const channel& by, const ends_of_calls& seen) {
    auto call = generic_stub(by).client_streaming("/t.T/Last");
    co_await come(call, seen);
    status outcome = status::unknown("not ended");
    scope work{co_await coro::this_environment()};
    work.spawn(finish(call, outcome));
    work.request_stop();
    co_await work.join();
    co_return outcome;
  }
  static task<status> asked(const channel& by, std::uint32_t receive_bytes_max, const ends_of_calls& seen) {
    call_options options;
    options.max_receive_bytes = receive_bytes_max;
    auto call = generic_stub(by).client_streaming("/t.T/Last", options);
    co_await come(call, seen);
    const auto reply = co_await call.finish();
    EXPECT_EQ(seen.calls, 1);
    co_return reply.status();
  }
  static task<> dropped(const channel& by, const ends_of_calls& seen) {
    auto call = generic_stub(by).client_streaming("/t.T/Last");
    co_await come(call, seen);
  }
};

// Has not returned when the reply is requested.
struct lingering final : client_interceptor {
  task<status> intercept(client_context&, next_call next) override {
    const status outcome = co_await next();
    co_await sleep_for(10s);
    co_return outcome;
  }
};

TEST_P(decoding, OfALateReplyEndsWhenItsReaderIsStopped) {
  for (const bool intercepted : {false, true}) {
    ends_of_calls seen;
    channel_options options;
    options.observer = borrowed(seen);
    channel observed(rt(), address_, insecure(), options);
    lingering interceptor;
    const channel outer = observed.with_interceptors({borrowed(interceptor)});
    const channel by = intercepted ? outer : observed;
    EXPECT_EQ(run(late_reply::stopped(by, seen)).code(), status_code::cancelled);
    EXPECT_EQ(seen.calls, 1);
    EXPECT_EQ(seen.last.code(), status_code::cancelled);
  }
}

TEST_P(decoding, OfALateReplyIsOverBeforeAnObserverHearsOfTheEnd) {
  for (const std::uint32_t receive_bytes_max : {4u << 20, 1u << 20}) {
    ends_of_calls seen;
    channel_options options;
    options.observer = borrowed(seen);
    channel observed(rt(), address_, insecure(), options);
    const status outcome = run(late_reply::asked(observed, receive_bytes_max, seen));
    const bool fits = receive_bytes_max > bomb_bytes;
    EXPECT_EQ(outcome.code(), fits ? status_code::ok : status_code::resource_exhausted);
    EXPECT_EQ(seen.last, outcome);
    EXPECT_EQ(seen.attempts, 1);
  }
}

TEST_P(decoding, OfALateReplyThatNobodyAsksForIsHeardOfByAnObserver) {
  ends_of_calls seen;
  channel_options options;
  options.observer = borrowed(seen);
  channel observed(rt(), address_, insecure(), options);
  run(late_reply::dropped(observed, seen));
  EXPECT_EQ(seen.calls, 1);
  EXPECT_EQ(seen.last, status());
}

TEST_P(decoding, KeepsOrderAndContentOfAllThatWaits) {
  const auto echo = [](decoding& t, std::size_t size, int seed) -> task<> {
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i)
      text[i] = static_cast<char>((i * 31 + static_cast<std::size_t>(seed)) >> 6);
    call_options options;
    options.compression = compression(seed % 3 == 0 ? encoding::identity : encoding::gzip).min_bytes(0);
    const bytes_message request(text);
    const auto reply = co_await generic_stub(*t.neighbour_).unary("/t.T/Echo", request, options);
    EXPECT_EQ(reply.status(), status());
    EXPECT_TRUE(reply.ok() && reply->bytes() == text) << size << " bytes";
  };
  const auto all = [](decoding& t, auto one) -> task<> {
    scope work{co_await coro::this_environment()};
    for (int i = 0; i < 60; ++i) {
      const std::size_t size = i % 4 == 0 ? 100 : static_cast<std::size_t>(i) * 9'973;
      work.spawn(one(t, size, i));
    }
    co_await work.join();
  };
  run(all(*this, echo));
}

TEST_P(decoding, EndsWithItsConnectionAndWithItsDeadline) {
  const auto leave = [](decoding& t) -> task<> {
    const std::string message = bomb(encoding::gzip);
    std::string bytes = raw_frames::greeting();
    for (int i = 0; i < 20; ++i)
      bytes += head(i % 2 ? "/t.T/One" : "/t.T/Many", 1 + 2 * i, encoding::gzip,
                    i % 4 < 2 ? raw_frames::literal("grpc-timeout", "5m") : ""s) +
               body(1 + 2 * i, message, true);
    for (int i = 0; i < 4; ++i) {
      auto connected = co_await net::stream::connect(net::address::parse(t.address_).value());
      EXPECT_TRUE((co_await connected->write(as_bytes(bytes))).ok());
      if (i % 2) co_await sleep_for(20ms);
    }  // each connection is closed while its messages wait
    EXPECT_TRUE(co_await small_call(t));
    co_await t.server_->drain(10s);
  };
  run(leave(*this));
}

// --- the budget itself

struct waiting_work final : transport::deferred_decode {
  waiting_work(decode_budget& b, int n, std::vector<int>& log) : budget(b), number(n), all(log) {}
  bool continue_decoding() noexcept override {
    all.push_back(number);
    budget.charge(decode_budget::share_bytes);
    return --shares > 0;
  }
  decode_budget& budget;
  int number;
  std::vector<int>& all;
  int shares = 3;
};

TEST(DecodeBudget, GoesToThoseWhoWaitInTurn) {
  test::manual_executor here;
  decode_budget& budget = decode_budget::here();
  std::vector<int> log;
  waiting_work a(budget, 1, log), b(budget, 2, log), c(budget, 3, log);
  budget.defer(a);
  budget.defer(b);
  budget.defer(c);
  budget.defer(a);
  EXPECT_TRUE(log.empty()) << "not before the next iteration";
  EXPECT_FALSE(budget.may_begin_large()) << "others came earlier";
  here.run();
  EXPECT_EQ(log, (std::vector<int>{1, 2, 3, 1, 2, 3, 1, 2, 3}));
  EXPECT_TRUE(budget.may_begin_large());
}

TEST(DecodeBudget, IsSpentUntilTheIterationEnds) {
  test::manual_executor here;
  decode_budget& budget = decode_budget::here();
  budget.charge(decode_budget::iteration_bytes - 1);
  EXPECT_FALSE(budget.spent());
  budget.charge(1);
  EXPECT_TRUE(budget.spent());
  {
    const decode_budget::reading now(budget);
    EXPECT_FALSE(budget.spent()) << "each read has an allowance";
    EXPECT_FALSE(budget.may_begin_large());
    budget.charge(decode_budget::allowance_bytes);
    EXPECT_TRUE(budget.spent());
  }
  here.run();
  EXPECT_FALSE(budget.spent());
}

}  // namespace
}  // namespace coracle::testing_support::decode_budget_test
