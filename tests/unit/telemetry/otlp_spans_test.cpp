#include "telemetry/otlp/encode_spans.hpp"

#include "telemetry/otlp/exporter.hpp"
#include "telemetry/otlp/span_queue.hpp"
#include "telemetry/otlp/wire.hpp"

#include "coracle/server/generic_service.hpp"
#include "coracle/server/server.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace coracle::telemetry_internal::otlp_spans_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const wall_time begin = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);

finished_span span(std::string name) {
  finished_span s;
  s.trace.fill(0xab);
  s.span.fill(0xcd);
  s.name = std::move(name);
  s.start = begin;
  s.end = begin + 1s;
  return s;
}
std::vector<finished_span> spans(std::size_t n, const std::string& name = "one") {
  std::vector<finished_span> all;
  for (std::size_t i = 0; i < n; ++i) all.push_back(span(name + std::to_string(i)));
  return all;
}

// The fields of a message whose value is a message or a text, and the numbers of the others.
struct fields {
  explicit fields(std::string_view message) {
    rpc::proto_reader r(message);
    while (r.next()) {
      texts[r.field()].emplace_back(r.text());
      numbers[r.field()] = r.number();
    }
    EXPECT_TRUE(r.ok());
  }
  std::map<std::uint32_t, std::vector<std::string>> texts;
  std::map<std::uint32_t, std::uint64_t> numbers;
};

// The first span of a request.
fields first_span(const export_request& r) {
  const fields of_resource(fields(r.body).texts.at(1).at(0));
  const fields of_scope(of_resource.texts.at(2).at(0));
  return fields(of_scope.texts.at(2).at(0));
}

TEST(encode_spans, ASpanHasItsFields) {
  finished_span s = span("Recv.movie.MovieService.AddMovie");
  s.parent.fill(0x11);
  s.parent_is_remote = true;
  s.flags = 1;
  s.state = "a=b";
  s.kind = span_kind::server;
  s.outcome = span_outcome::error;
  s.description = "NOT_FOUND, no such movie";
  s.attributes = {{"rpc.method", "movie.MovieService/AddMovie"},
                  {"n", std::int64_t{-5}},
                  {"zero", std::int64_t{0}},
                  {"x", 1.5},
                  {"no", false},
                  {"list", std::vector<std::string>{"a", ""}}};
  s.dropped_attributes = 3;
  s.events.emplace_back().name = "Inbound message";
  s.dropped_events = 4;
  s.links.emplace_back().trace.fill(0x22);
  s.dropped_links = 5;
  const auto batch = encode_spans(std::vector{s}, encode_resource({{"service.name", "movies"}}), 4096);
  ASSERT_THAT(batch.requests, SizeIs(1));
  EXPECT_EQ(batch.requests[0].items, 1U);
  const fields f = first_span(batch.requests[0]);
  EXPECT_EQ(f.texts.at(1)[0], std::string(16, '\xab'));
  EXPECT_EQ(f.texts.at(2)[0], std::string(8, '\xcd'));
  EXPECT_EQ(f.texts.at(3)[0], "a=b");
  EXPECT_EQ(f.texts.at(4)[0], std::string(8, '\x11'));
  EXPECT_EQ(f.texts.at(5)[0], "Recv.movie.MovieService.AddMovie");
  EXPECT_EQ(f.numbers.at(6), 2U);
  EXPECT_THAT(f.texts.at(9), SizeIs(6));
  EXPECT_EQ(f.numbers.at(10), 3U);
  EXPECT_EQ(fields(f.texts.at(11)[0]).texts.at(2)[0], "Inbound message");
  EXPECT_EQ(f.numbers.at(12), 4U);
  EXPECT_EQ(fields(f.texts.at(13)[0]).texts.at(1)[0], std::string(16, '\x22'));
  EXPECT_EQ(f.numbers.at(14), 5U);
  EXPECT_EQ(fields(f.texts.at(15)[0]).texts.at(2)[0], "NOT_FOUND, no such movie");
  EXPECT_EQ(fields(f.texts.at(15)[0]).numbers.at(3), 2U);
  // flags: fixed32 301, the tag is 16 << 3 | 5.
  EXPECT_THAT(batch.requests[0].body, HasSubstr(std::string("\x85\x01\x01\x03\0\0", 6)));
  const fields zero(fields(f.texts.at(9)[2]).texts.at(2)[0]);
  EXPECT_TRUE(zero.numbers.contains(3));
  const fields no(fields(f.texts.at(9)[4]).texts.at(2)[0]);
  EXPECT_TRUE(no.numbers.contains(2));
  const fields list(fields(f.texts.at(9)[5]).texts.at(2)[0]);
  EXPECT_THAT(fields(list.texts.at(5)[0]).texts.at(1), SizeIs(2));
}

TEST(encode_spans, ARootHasNoParent) {
  const auto batch = encode_spans(std::vector{span("root")}, "", 4096);
  EXPECT_FALSE(first_span(batch.requests.at(0)).texts.contains(4));
}

TEST(encode_spans, RequestsAreWithinTheirSize) {
  std::vector<finished_span> all = spans(500);
  all[7].name = std::string(5000, 'x');
  const auto batch = encode_spans(all, "", 4096);
  EXPECT_EQ(batch.too_large, 1U);
  std::size_t items = 0;
  for (const export_request& r : batch.requests) {
    EXPECT_LE(r.body.size(), 4096U);
    items += r.items;
  }
  EXPECT_EQ(items, 499U);
}

TEST(span_queue, KeepsWhatThereIsRoomForAndCountsTheRest) {
  export_counts counts;
  span_queue q({.queue_max = 10, .batch_max = 4}, counts);
  q.take(spans(3, "a"));
  EXPECT_FALSE(q.has_batch());
  q.take(spans(9, "b"));
  EXPECT_EQ(q.dropped(), 2U);
  q.take(spans(5, "c"));
  EXPECT_EQ(q.dropped(), 7U);
  std::vector<std::string> names;
  for (;;) {
    const auto batch = q.next_batch();
    if (batch.empty()) break;
    EXPECT_LE(batch.size(), 4U);
    for (const finished_span& s : batch) names.push_back(s.name);
  }
  EXPECT_THAT(names, ::testing::ElementsAre("a0", "a1", "a2", "b0", "b1", "b2", "b3", "b4", "b5", "b6"));
  q.take(spans(2, "d"));
  q.close(loss::shutdown);
  q.take(spans(1, "e"));
  EXPECT_EQ(q.dropped(), 10U);
  EXPECT_TRUE(q.next_batch().empty());
}

// Counts the spans that it gets over gRPC, by their requests.
class collector final : public generic_service {
 public:
  collector() {
    server_.set_fallback(*this);
    EXPECT_EQ(server_.listen("127.0.0.1:0", insecure()), status());
    rt_.start();
  }
  ~collector() { server_.stop(); }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(server_.port()); }
  std::vector<std::size_t> wait_for(std::size_t n) {
    std::unique_lock held(mutex_);
    EXPECT_TRUE(changed_.wait_for(held, 20s, [&] { return sizes_.size() >= n; })) << sizes_.size();
    return sizes_;
  }
  status answer;

 private:
  replies<bytes_message> call(server_context& context, reader<bytes_message> requests) override {
    const auto message = co_await requests.next();
    EXPECT_EQ(context.method(), "/opentelemetry.proto.collector.trace.v1.TraceService/Export");
    const fields of_scope(fields(fields(message->bytes()).texts.at(1).at(0)).texts.at(2).at(0));
    {
      const std::lock_guard held(mutex_);
      sizes_.push_back(of_scope.texts.at(2).size());
      changed_.notify_all();
    }
    if (!answer.ok()) co_return answer;
    co_yield bytes_message();
    co_return ok;
  }

  runtime rt_{1};
  server server_{rt_};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::size_t> sizes_;
};

class exported_spans : public ::testing::Test {
 protected:
  otlp_options options() {
    otlp_options o(collector_.url(), otlp_protocol::grpc);
    o.metrics.enabled = o.logs.enabled = false;
    o.spans_batching = {.delay = 1h, .queue_max = 100, .batch_max = 10};
    return o;
  }
  void begin(const otlp_options& o) {
    telemetry_.emplace(*observed_);
    exporter_ = std::make_shared<exporter>(telemetry_->internals(), o);
    telemetry_->internals().attach(exporter_);
  }
  collector collector_;
  std::unique_ptr<runtime> observed_ = std::make_unique<runtime>(1);
  std::optional<telemetry> telemetry_;
  std::shared_ptr<exporter> exporter_;
};

TEST_F(exported_spans, AWholeBatchIsSentAtOnceAndTheRestAtTheEnd) {
  begin(options());
  exporter_->spans()->take(spans(7));
  exporter_->spans()->take(spans(16));
  EXPECT_THAT(collector_.wait_for(2), ::testing::ElementsAre(10, 10));
  observed_ = nullptr;
  EXPECT_THAT(collector_.wait_for(3), ::testing::ElementsAre(10, 10, 3));
  EXPECT_EQ(exporter_->spans()->dropped(), 0U);
}

TEST_F(exported_spans, AnIncompleteBatchIsSentAfterTheDelay) {
  otlp_options o = options();
  o.spans_batching.delay = 10ms;
  begin(o);
  exporter_->spans()->take(spans(3));
  EXPECT_THAT(collector_.wait_for(1), ::testing::ElementsAre(3));
}

TEST_F(exported_spans, SpansThatTheCollectorRefusesAreCounted) {
  collector_.answer = status::unimplemented("no traces");
  begin(options());
  exporter_->spans()->take(spans(10));
  collector_.wait_for(1);
  observed_ = nullptr;
  EXPECT_EQ(exporter_->spans()->dropped(), 10U);
}

TEST_F(exported_spans, ADestinationThatCannotBeUsedKeepsNoSpans) {
  otlp_options o = options();
  o.spans.endpoint = "https://127.0.0.1:4317";
  begin(o);
  exporter_->spans()->take(spans(50));
  observed_ = nullptr;
  EXPECT_EQ(exporter_->spans()->dropped(), 50U);
}

}  // namespace
}  // namespace coracle::telemetry_internal::otlp_spans_test
