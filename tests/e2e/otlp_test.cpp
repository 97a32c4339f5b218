// Exports to a collector that the tests script: a server of plain HTTP and gRPC. tests/interop/otlp_test.py
// decodes what is exported.
#include "support/echo_service.hpp"
#include "support/kept_log.hpp"

#include "coracle/base/fan_out_logger.hpp"
#include "coracle/rpc/status_details.hpp"
#include "coracle/server/generic_service.hpp"
#include "coracle/telemetry/otlp.hpp"
#include "coracle/telemetry/otlp_logger.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace coracle::testing_support::otlp_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

// How the collector answers a request.
class answer {
 public:
  answer() = default;
  [[nodiscard]] static answer http(int code) { return answer(code, {}); }
  [[nodiscard]] static answer grpc(status s) { return answer(200, std::move(s)); }
  [[nodiscard]] static answer hang() {
    answer a;
    a.hangs = true;
    return a;
  }
  // ExportMetricsPartialSuccess: rejected_data_points = 1, error_message = 2.
  [[nodiscard]] static answer rejecting(char points, const std::string& why) {
    answer a;
    const std::string partial = std::string("\x08") + points + "\x12" + static_cast<char>(why.size()) + why;
    a.body = std::string("\x0a") + static_cast<char>(partial.size()) + partial;
    return a;
  }
  answer&& header(std::string_view name, std::string_view value) && {
    headers.emplace_back(name, value);
    return std::move(*this);
  }

  int code = 200;
  status outcome;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  bool hangs = false;

 private:
  answer(int c, status s) : code(c), outcome(std::move(s)) {}
};

struct request {
  std::string body;
  std::string encoding;
  std::string type;
  std::string key;  // header x-key
  std::chrono::steady_clock::time_point time;
};

// Answers with what the tests have scripted, in order, and then with success.
class collector final : private generic_service {
 public:
  collector() {
    for (const char* path : {"/v1/metrics", "/v1/logs"}) {
      http_route route("POST", path, [this](http_request r) { return answer_http(std::move(r)); });
      route.content_types = {"application/x-protobuf"};
      server_.add_http(std::move(route));
    }
    server_.set_fallback(*this);
    EXPECT_EQ(server_.listen("127.0.0.1:0", insecure()), status());
    rt_.start();
  }
  ~collector() { server_.stop(); }

  void script(answer a) {
    const std::lock_guard held(mutex_);
    script_.push_back(std::move(a));
  }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(server_.port()); }
  // Waits until there were `n` requests.
  std::vector<request> wait_for(std::size_t n) {
    std::unique_lock held(mutex_);
    EXPECT_TRUE(changed_.wait_for(held, 20s, [&] { return requests_.size() >= n; })) << requests_.size();
    return requests_;
  }
  std::vector<request> requests() {
    const std::lock_guard held(mutex_);
    return requests_;
  }

 private:
  answer take(request r) {
    const std::lock_guard held(mutex_);
    r.time = std::chrono::steady_clock::now();
    requests_.push_back(std::move(r));
    changed_.notify_all();
    if (script_.empty()) return {};
    answer a = std::move(script_.front());
    script_.pop_front();
    return a;
  }
  task<http_response> answer_http(http_request r) {
    request seen{std::string(r.body()),
                 std::string(r.header("content-encoding").value_or("")),
                 std::string(r.header("content-type").value_or("")),
                 std::string(r.header("x-key").value_or("")),
                 {}};
    const answer a = take(std::move(seen));
    if (a.hangs) co_await sleep_for(1h);
    http_response response(a.code);
    response.header("content-type", "application/x-protobuf");
    for (const auto& [name, value] : a.headers) response.header(name, value);
    response.body = a.body;
    co_return response;
  }
  replies<bytes_message> call(server_context& context, reader<bytes_message> requests) override {
    const auto message = co_await requests.next();
    request seen{message ? message->bytes() : "",
                 context.read_compressed() ? "gzip" : "",
                 std::string(context.method()),
                 std::string(context.metadata().find("x-key").value_or("")),
                 {}};
    const answer a = take(std::move(seen));
    if (a.hangs) co_await sleep_for(1h);
    if (!a.outcome.ok()) co_return a.outcome;
    bytes_message reply(a.body);
    co_yield reply;
    co_return ok;
  }

  runtime rt_{1};
  server server_{rt_};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<answer> script_;
  std::vector<request> requests_;
};

class otlp_export : public ::testing::TestWithParam<otlp_protocol> {
 protected:
  [[nodiscard]] otlp_options options() const {
    otlp_options o(collector_.url(), GetParam());
    o.spans.enabled = o.logs.enabled = false;
    o.metrics_interval = 20ms;
    return o;
  }
  // Makes a call, and begins to export.
  void begin(const otlp_options& o) {
    runtime_options r;
    r.log = &both_;
    observed_.emplace(r);
    observed_->start();
    server_.emplace(*observed_);
    server_->add(service_);
    telemetry_.emplace(with_otlp(*server_, o));
    call();
  }
  void call() {
    channel c(*observed_, server_->in_process());
    echo::Text text;
    EXPECT_EQ(sync_wait(echo_stub(c).Say(text)).status(), status());
  }
  // Of log lines alone.
  [[nodiscard]] otlp_options options_of_logs() const {
    otlp_options o = options();
    o.metrics.enabled = false;
    o.logs.enabled = true;
    o.logs_batching = {.delay = 20ms, .timeout = 1s, .queue_max = 100, .batch_max = 50};
    return o;
  }
  // The value of a counter of the exporter, by default for metrics.
  double counter(std::string_view name, std::string_view loss = {}, std::string_view signal = "metrics") {
    const metrics_snapshot now = sync_wait(*observed_, observed_->at(0), telemetry_->metrics());
    const metric_family* const f = now.find(name);
    for (const metric_point& p : f ? f->points : std::vector<metric_point>()) {
      EXPECT_EQ(p.labels.at(0).first, "coracle.telemetry.signal");
      if (p.labels[0].second != signal) continue;
      if (loss.empty() || p.labels.at(1).second == loss) return p.value;
    }
    return 0;
  }
  // Waits until the counter is not zero.
  bool counts(std::string_view name, std::string_view loss = {}, std::string_view signal = "metrics") {
    for (int i = 0; i < 1000; ++i) {
      if (counter(name, loss, signal) > 0) return true;
      std::this_thread::sleep_for(5ms);  // sleeps on purpose: asks again, with a limit
    }
    return false;
  }
  void end() {
    telemetry_.reset();
    server_.reset();
    observed_.reset();
  }
  void TearDown() override { end(); }

  kept_log log_;
  otlp_logger exported_;
  fan_out_logger both_{{&log_, &exported_}};
  echo_service service_;
  collector collector_;
  std::optional<runtime> observed_;
  std::optional<server> server_;
  std::optional<telemetry> telemetry_;
};
INSTANTIATE_TEST_SUITE_P(Both, otlp_export,
                         ::testing::Values(otlp_protocol::http_protobuf, otlp_protocol::grpc),
                         [](const auto& one) {
                           return one.param == otlp_protocol::grpc ? std::string("grpc")
                                                                   : std::string("http");
                         });

TEST_P(otlp_export, MetricsArriveAgainAndAgainWithTheHeaders) {
  otlp_options o = options();
  o.metrics.headers = {{"X-Key", "secret"}};
  begin(o);
  const auto all = collector_.wait_for(2);
  EXPECT_THAT(all[1].body, HasSubstr("grpc.server.call.duration"));
  EXPECT_THAT(all[1].body, HasSubstr("service.instance.id"));
  EXPECT_EQ(all[1].key, "secret");
  EXPECT_EQ(all[1].type, GetParam() == otlp_protocol::grpc
                             ? "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
                             : "application/x-protobuf");
  EXPECT_EQ(all[1].encoding, "");
  EXPECT_TRUE(counts("coracle.telemetry.exported"));
  EXPECT_EQ(counter("coracle.telemetry.lost"), 0);
}

TEST_P(otlp_export, TheExportersOwnCallsAreNotMeasured) {
  begin(options());
  const auto all = collector_.wait_for(3);
  EXPECT_THAT(all[2].body, Not(HasSubstr(collector_.url().substr(7))));
  EXPECT_THAT(all[2].body, Not(HasSubstr("MetricsService")));
}

TEST_P(otlp_export, GzipIsAnOption) {
  otlp_options o = options();
  o.metrics.gzip = true;
  begin(o);
  const auto all = collector_.wait_for(1);
  EXPECT_EQ(all[0].encoding, "gzip");
  if (GetParam() == otlp_protocol::http_protobuf) {
    EXPECT_TRUE(all[0].body.starts_with("\x1f\x8b"));
  }
}

TEST_P(otlp_export, TheEndOfTheRuntimeSendsTheRest) {
  otlp_options o = options();
  o.metrics_interval = 1h;
  begin(o);
  call();
  EXPECT_EQ(collector_.requests().size(), 0U);
  end();
  const auto all = collector_.requests();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_THAT(all[0].body, HasSubstr("grpc.server.call.duration"));
}

TEST_P(otlp_export, TheEndOfTheRuntimeDoesNotWaitForACollectorThatHangs) {
  collector_.script(answer::hang());
  otlp_options o = options();
  o.metrics_interval = 1h;
  o.shutdown_timeout = 100ms;
  begin(o);
  const auto start = std::chrono::steady_clock::now();
  end();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
  EXPECT_THAT(log_.text(), HasSubstr("before its last telemetry was sent"));
}

TEST_P(otlp_export, ATransientErrorIsRetriedWithTheSameRequest) {
  const bool grpc = GetParam() == otlp_protocol::grpc;
  collector_.script(grpc ? answer::grpc(status::unavailable("busy")) : answer::http(503));
  otlp_options o = options();
  o.metrics_interval = 100ms;
  begin(o);
  const auto all = collector_.wait_for(2);
  EXPECT_EQ(all[0].body, all[1].body);
  EXPECT_GE(all[1].time - all[0].time, 400ms);  // half a second, with jitter
  EXPECT_TRUE(counts("coracle.telemetry.exported"));
  EXPECT_EQ(counter("coracle.telemetry.retries"), 1);
  EXPECT_EQ(counter("coracle.telemetry.lost"), 0);
  EXPECT_THAT(log_.text(), Not(HasSubstr("does not accept")));
}

TEST_P(otlp_export, ThePauseThatTheCollectorAsksForIsKept) {
  const bool grpc = GetParam() == otlp_protocol::grpc;
  // RESOURCE_EXHAUSTED is retried only if the collector says when.
  collector_.script(grpc ? answer::grpc(with_details(status::resource_exhausted("slow down"), retry_info(1s)))
                         : answer::http(429).header("retry-after", "1"));
  begin(options());
  const auto all = collector_.wait_for(2);
  EXPECT_EQ(all[0].body, all[1].body);
  EXPECT_GE(all[1].time - all[0].time, 1400ms);  // that second, and the backoff on top of it
}

TEST_P(otlp_export, OtherErrorsLoseTheRequestAndAreLoggedOnce) {
  const bool grpc = GetParam() == otlp_protocol::grpc;
  for (int i = 0; i < 3; ++i)
    collector_.script(grpc ? answer::grpc(status::resource_exhausted("no quota")) : answer::http(413));
  begin(options());
  const auto all = collector_.wait_for(5);
  EXPECT_NE(all[0].body, all[1].body);
  EXPECT_TRUE(counts("coracle.telemetry.exported"));
  EXPECT_GT(counter("coracle.telemetry.lost", "refused"), 0);
  EXPECT_EQ(counter("coracle.telemetry.retries"), 0);
  const std::string log = log_.text();
  const std::string line = "does not accept metrics";
  ASSERT_THAT(log, HasSubstr(line));
  EXPECT_EQ(log.find(line, log.find(line) + 1), log.npos) << log;
  EXPECT_THAT(log, HasSubstr(grpc ? "RESOURCE_EXHAUSTED: no quota" : "HTTP 413"));
  EXPECT_THAT(log, HasSubstr("accepts metrics again"));
}

TEST_P(otlp_export, APartialSuccessIsNeverRetriedAndWarnsOnce) {
  for (int i = 0; i < 2; ++i) collector_.script(answer::rejecting(3, "too old"));
  begin(options());
  const auto all = collector_.wait_for(4);
  EXPECT_NE(all[0].body, all[1].body);
  EXPECT_EQ(counter("coracle.telemetry.lost", "rejected"), 6);
  EXPECT_EQ(counter("coracle.telemetry.retries"), 0);
  const std::string log = log_.text();
  ASSERT_THAT(log, HasSubstr("rejected 3 of "));
  ASSERT_THAT(log, HasSubstr("too old"));
  EXPECT_EQ(log.find("too old", log.find("too old") + 1), log.npos) << log;
}

TEST_P(otlp_export, ACollectorThatNeverAnswersLosesTelemetryAndNoCalls) {
  for (int i = 0; i < 100; ++i) collector_.script(answer::hang());
  otlp_options o = options();
  o.metrics.timeout = 50ms;
  o.metrics_timeout = 200ms;
  o.shutdown_timeout = 100ms;
  begin(o);
  collector_.wait_for(1);
  for (int i = 0; i < 10; ++i) call();
  EXPECT_TRUE(counts("coracle.telemetry.lost", "timeout"));
  EXPECT_THAT(log_.text(), HasSubstr("DEADLINE_EXCEEDED"));
}

TEST_P(otlp_export, ACollectorThatIsNotThereLosesTelemetryAndNoCalls) {
  otlp_options o = options();
  // A port of this machine that nothing listens on: 1 is reserved.
  o.metrics.endpoint = "http://127.0.0.1:1/v1/metrics";
  o.metrics_timeout = 100ms;
  begin(o);
  EXPECT_TRUE(counts("coracle.telemetry.lost", "timeout"));
  for (int i = 0; i < 10; ++i) call();
  EXPECT_THAT(log_.text(), HasSubstr("UNAVAILABLE"));
  EXPECT_EQ(collector_.requests().size(), 0U);
}

TEST_P(otlp_export, RequestsAreSplitByTheirSize) {
  otlp_options o = options();
  o.metrics.request_bytes_max = 2000;
  begin(o);
  const auto all = collector_.wait_for(4);
  for (const request& r : all) EXPECT_LE(r.body.size(), 2000U);
  EXPECT_EQ(counter("coracle.telemetry.lost"), 0);
}

TEST_P(otlp_export, AnEndpointThatCannotBeUsedIsLogged) {
  otlp_options o = options();
  o.metrics.endpoint = "https://127.0.0.1:4318/v1/metrics";
  begin(o);
  sync_wait(*observed_, observed_->at(0), []() -> task<> { co_return; }());
  end();
  EXPECT_THAT(log_.text(), HasSubstr("metrics are not exported"));
  EXPECT_THAT(log_.text(), HasSubstr("use_tls"));
}

TEST_P(otlp_export, ADeltaHasWhatCameSinceTheLastDelivery) {
  otlp_options o = options();
  o.temporality = otlp_temporality::delta;
  o.metrics_interval = 1h;
  begin(o);
  end();
  const auto all = collector_.requests();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_THAT(all[0].body, HasSubstr("grpc.server.call.duration"));
}

TEST_P(otlp_export, LogLinesArriveWithTheirFields) {
  otlp_options o = options_of_logs();
  o.logs.headers = {{"x-key", "of logs"}};
  exported_.set_min_level(log_level::warning);
  exported_.info("below the level");
  exported_.warning("before there is a runtime");
  begin(o);
  observed_->log().in(log_room::server).warning("a line of the server ", log_field("movie", "Metropolis"));
  std::string all;
  for (std::size_t n = 1; all.find("a line of the server") == all.npos; ++n)
    all += collector_.wait_for(n)[n - 1].body;
  EXPECT_THAT(all, HasSubstr("before there is a runtime"));
  EXPECT_THAT(all, HasSubstr("Metropolis"));
  EXPECT_THAT(all, HasSubstr("coracle.room"));
  EXPECT_THAT(all, HasSubstr("service.instance.id"));
  EXPECT_THAT(all, Not(HasSubstr("below the level")));
  const request first = collector_.requests().at(0);
  EXPECT_EQ(first.key, "of logs");
  EXPECT_EQ(first.type, GetParam() == otlp_protocol::grpc
                            ? "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
                            : "application/x-protobuf");
  exported_.warning("the last line");
  end();
  EXPECT_THAT(collector_.requests().back().body, HasSubstr("the last line"));
  // The logger outlives its exporter, and keeps lines for the next one.
  exported_.warning("kept for the next exporter");
}

TEST_P(otlp_export, LinesOfTheExporterAreNotExported) {
  const bool grpc = GetParam() == otlp_protocol::grpc;
  for (int i = 0; i < 2; ++i)
    collector_.script(grpc ? answer::grpc(status::resource_exhausted("no quota")) : answer::http(413));
  begin(options_of_logs());
  exported_.warning("first");
  collector_.wait_for(1);
  exported_.warning("second");
  collector_.wait_for(2);
  exported_.warning("third");
  collector_.wait_for(3);
  end();
  EXPECT_THAT(log_.text(), HasSubstr("does not accept logs"));
  EXPECT_THAT(log_.text(), HasSubstr("accepts logs again"));
  for (const request& r : collector_.requests()) EXPECT_THAT(r.body, Not(HasSubstr("logs")));
}

TEST_P(otlp_export, LinesThatExceedTheQueueAreCountedAndDoNotWait) {
  for (int i = 0; i < 100; ++i) collector_.script(answer::hang());
  otlp_options o = options_of_logs();
  o.logs.timeout = 50ms;
  o.logs_batching.timeout = 100ms;
  o.shutdown_timeout = 100ms;
  begin(o);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; ++i) exported_.warning("line ", i);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 1s);
  ASSERT_TRUE(counts("coracle.telemetry.lost", "queue_full", "logs"));
  EXPECT_GE(counter("coracle.telemetry.lost", "queue_full", "logs"), 800);
}

}  // namespace
}  // namespace coracle::testing_support::otlp_test
