// Metrics, traces and pages of servers in the API of grpc++, which ConfigureServer() gives to the library.
#include "call_kinds_fixture.hpp"
#include "support/raw_http.hpp"

#include "coracle/client/client_observer.hpp"
#include "coracle/runtime.hpp"
#include "coracle/server.hpp"
#include "coracle/telemetry/memory_span_sink.hpp"
#include "coracle/telemetry/otlp.hpp"
#include "coracle/telemetry/telemetry.hpp"
#include "coracle/telemetry/with_pages.hpp"
// --8<-- [start:includes]
#include <coracle/telemetry/with_metrics.hpp>
// --8<-- [end:includes]

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::testing_support::telemetry_test {
namespace {

using namespace std::chrono_literals;
using call_kinds::CallKinds;
using call_kinds::Reply;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GrpcppTelemetry : public call_kinds_fixture<> {
 protected:
  void measure(grpc::ServerBuilder& builder) {
    builder.ConfigureServer([this](coracle::server& made) {
      telemetry_.emplace(made.owner());
      telemetry_->observe(made);
    });
  }
  // How many values each series of the instrument has, by the label.
  std::map<std::string, std::uint64_t> counts(const char* instrument, const std::string& label) {
    const metrics_snapshot all = sync_wait(reading_, telemetry_->metrics());
    std::map<std::string, std::uint64_t> found;
    const metric_family* const family = all.find(instrument);
    if (!family) return found;
    for (const metric_point& point : family->points)
      for (const auto& [key, value] : point.labels)
        if (key == label)
          found[value] += point.histogram ? point.histogram->count : static_cast<std::uint64_t>(point.value);
    return found;
  }
  std::string page_at(const std::string& address, const std::string& path = "/metrics") {
    return sync_wait(reading_, raw_http::exchange(address, raw_http::request("GET " + path)));
  }
  // The first span that has ended. The end of a call may reach the server after the reply has reached the
  // client.
  finished_span first_span(memory_span_sink& from) {
    for (int i = 0; i < 2000; ++i) {
      sync_wait(reading_, telemetry_->flush_spans());
      std::vector<finished_span> all = from.take_spans();
      if (!all.empty()) return std::move(all.front());
    }
    ADD_FAILURE() << "no span has ended";
    return {};
  }

  std::optional<telemetry> telemetry_;

 private:
  runtime reading_{1};
};
using numbers = std::map<std::string, std::uint64_t>;

TEST_F(GrpcppTelemetry, CallsAreMeasuredByTheirMethodsAndStatuses) {
  start([this](grpc::ServerBuilder& b) { measure(b); });
  Reply reply;
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(find(query_of("hello"), reply).ok());
  EXPECT_EQ(find(query_of("error", grpc::StatusCode::NOT_FOUND), reply).error_code(),
            grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(counts("grpc.server.call.duration", "grpc.status"), (numbers{{"NOT_FOUND", 1}, {"OK", 2}}));
  EXPECT_EQ(counts("grpc.server.call.started", "grpc.method"), (numbers{{"call_kinds.CallKinds/Unary", 3}}));
}

TEST_F(GrpcppTelemetry, AServerThatQueuesDriveIsMeasuredWhileNoThreadTakesEvents) {
  CallKinds::AsyncService of_queue;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&of_queue);
  measure(builder);
  const auto queue = builder.AddCompletionQueue();
  server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  connect(grpc::InsecureChannelCredentials());
  Reply reply;
  const auto outcome = find(query_of("hello"), reply, [](grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + 200ms);
  });
  EXPECT_EQ(outcome.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(counts("grpc.server.call.started", "grpc.method"), (numbers{{"call_kinds.CallKinds/Unary", 1}}));
  server->Shutdown();
  queue->Shutdown();
  void* tag = nullptr;
  bool ok = false;
  EXPECT_FALSE(queue->Next(&tag, &ok));
}

// A port that is free: with_metrics() does not tell which one the system has chosen.
std::string free_address() {
  coracle::server other;
  EXPECT_TRUE(other.listen("127.0.0.1:0", insecure()).ok());
  return "127.0.0.1:" + std::to_string(other.port());
}

TEST_F(GrpcppTelemetry, PrometheusReadsTheMetricsAtAnAddressOfTheirOwn) {
  const std::string metrics_address = free_address();
  start([&](grpc::ServerBuilder& builder) {
    // --8<-- [start:configure]
    builder.ConfigureServer([&](coracle::server& made) {
      coracle::metrics_options options;
      options.address = metrics_address;  // "127.0.0.1:9464"
      coracle::with_metrics(made, options);
    });
    // --8<-- [end:configure]
  });
  Reply reply;
  EXPECT_TRUE(find(query_of("hello"), reply).ok());
  const std::string text = page_at(metrics_address);
  EXPECT_THAT(text, HasSubstr("grpc_server_call_duration_seconds_count{"));
  EXPECT_THAT(text, HasSubstr("grpc_method=\"call_kinds.CallKinds/Unary\",grpc_status=\"OK\"} 1\n"));
}

TEST_F(GrpcppTelemetry, PagesShowTheCallsAtThePortOfTheServer) {
  start([](grpc::ServerBuilder& b) { b.ConfigureServer([](coracle::server& made) { with_pages(made); }); });
  Reply reply;
  EXPECT_TRUE(find(query_of("hello"), reply).ok());
  const std::string address = "127.0.0.1:" + std::to_string(port);
  EXPECT_THAT(page_at(address, "/pages/"), HasSubstr("<title>Coracle pages</title>"));
  EXPECT_THAT(page_at(address, "/pages/json/overview"),
              ContainsRegex(R"(\{"method":"call_kinds.CallKinds/Unary","in_progress":[01],"started":1,)"));
  EXPECT_THAT(page_at(address, "/pages/json/connections"), HasSubstr(R"("address":")" + address + '"'));
}

TEST_F(GrpcppTelemetry, CallsAreTracedByTheirMethodsAndStatuses) {
  const auto sink = std::make_shared<memory_span_sink>();
  start([&](grpc::ServerBuilder& builder) {
    builder.ConfigureServer([&](coracle::server& made) {
      telemetry_.emplace(made.owner());
      trace_options options;
      options.sample = sampler::always_on();
      options.conventions = rpc_conventions::stable;
      telemetry_->trace(options);
      telemetry_->add_span_sink(sink);
      telemetry_->observe(made);
    });
  });
  Reply reply;
  EXPECT_EQ(find(query_of("error", grpc::StatusCode::NOT_FOUND), reply).error_code(),
            grpc::StatusCode::NOT_FOUND);
  const finished_span span = first_span(*sink);
  EXPECT_EQ(span.name, "Recv.call_kinds.CallKinds.Unary");
  EXPECT_EQ(span.kind, span_kind::server);
  const attribute_value* const code = span.find("rpc.status_code");
  ASSERT_NE(code, nullptr);
  EXPECT_EQ(*code, attribute_value(std::string("NOT_FOUND")));
}

// What the observer of a channel has seen: the target, and each call with what it sends.
struct seen_calls {
  std::mutex lock;
  std::vector<std::string> lines;
  void add(std::string line) {
    const std::lock_guard held(lock);
    lines.push_back(std::move(line));
  }
  std::vector<std::string> take() {
    const std::lock_guard held(lock);
    return std::exchange(lines, {});
  }
};

std::shared_ptr<const grpc::internal::call_observing> observing(seen_calls& seen) {
  struct noting final : client_observer {
    explicit noting(seen_calls& s) : seen(s) {}
    void call_started(observed_call& c) noexcept override {
      seen.add(std::string(c.method) + (c.registered ? "" : " is unregistered") + ", " +
               std::string(c.metadata->find("x-added").value_or("nothing added")));
    }
    seen_calls& seen;
  };
  auto made = std::make_shared<grpc::internal::call_observing>();
  made->observer_of = [&seen](std::string_view target) {
    seen.add(std::string(target.substr(0, target.rfind(':'))));
    return std::make_shared<noting>(seen);
  };
  made->add_metadata = [](metadata& of_call) { of_call.add("x-added", "by the thread"); };
  return made;
}

TEST_F(GrpcppTelemetry, ArgumentsHaveTheCallsOfTheirChannelsObserved) {
  seen_calls seen;
  grpc::ChannelArguments arguments;
  arguments.observe(observing(seen));
  start([](grpc::ServerBuilder&) {}, grpc::InsecureServerCredentials(), grpc::InsecureChannelCredentials(),
        arguments);
  Reply reply;
  EXPECT_TRUE(find(query_of("hello"), reply).ok());
  EXPECT_THAT(seen.take(), ElementsAre("dns:///127.0.0.1", "/call_kinds.CallKinds/Unary, by the thread"));

  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const auto call = stub->AsyncUnary(&context, query_of("hello"), &queue);
  grpc::Status outcome;
  call->Finish(&reply, &outcome, this);
  void* tag = nullptr;
  bool ok = false;
  ASSERT_TRUE(queue.Next(&tag, &ok));
  EXPECT_TRUE(outcome.ok());
  EXPECT_THAT(seen.take(), Contains("/call_kinds.CallKinds/Unary, by the thread"));

  grpc::ClientContext of_stream;
  call_kinds::Summary summary;
  const auto stream = stub->ClientStream(&of_stream, &summary);
  stream->WritesDone();
  static_cast<void>(stream->Finish());
  EXPECT_THAT(seen.take(), Contains("/call_kinds.CallKinds/ClientStream, by the thread"));
}

TEST_F(GrpcppTelemetry, CallsOfAGenericStubAreUnregistered) {
  seen_calls seen;
  grpc::ChannelArguments arguments;
  arguments.observe(observing(seen));
  start([](grpc::ServerBuilder&) {}, grpc::InsecureServerCredentials(), grpc::InsecureChannelCredentials(),
        arguments);
  grpc::GenericStub any(channel);
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const grpc::ByteBuffer request(nullptr, 0);
  const auto call = any.PrepareUnaryCall(&context, "/call_kinds.CallKinds/Unary", request, &queue);
  grpc::ByteBuffer reply;
  grpc::Status outcome;
  call->StartCall();
  call->Finish(&reply, &outcome, this);
  void* tag = nullptr;
  bool ok = false;
  ASSERT_TRUE(queue.Next(&tag, &ok));
  EXPECT_THAT(seen.take(), Contains("/call_kinds.CallKinds/Unary is unregistered, by the thread"));
}

TEST_F(GrpcppTelemetry, ArgumentsAreAddedAndSwappedWithTheirObservers) {
  seen_calls seen;
  grpc::ChannelArguments one;
  one.observe(observing(seen));
  grpc::ChannelArguments other;
  other.SetAll(one);
  EXPECT_EQ(other.observing(), one.observing());
  grpc::ChannelArguments none;
  none.Swap(one);
  EXPECT_EQ(none.observing(), other.observing());
  EXPECT_THAT(one.observing(), IsEmpty());
}

// Takes what is exported, and remembers it.
class collector {
 public:
  collector() {
    http_route route("POST", "/v1/metrics", [this](http_request r) { return answer(*this, std::move(r)); });
    route.content_types = {"application/x-protobuf"};
    server_.add_http(std::move(route));
    EXPECT_TRUE(server_.listen("127.0.0.1:0", insecure()).ok());
    server_.start();
  }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(server_.port()); }
  [[nodiscard]] std::string received() {
    const std::lock_guard held(mutex_);
    return received_;
  }

 private:
  static task<http_response> answer(collector& self, http_request request) {
    const std::lock_guard held(self.mutex_);
    self.received_ += request.body();
    http_response response(200);
    response.header("content-type", "application/x-protobuf");
    co_return response;
  }
  std::mutex mutex_;
  std::string received_;
  coracle::server server_;
};

void export_to(grpc::ServerBuilder& builder, const std::string& url) {
  builder.ConfigureServer([url](coracle::server& made) {
    otlp_options options(url);
    options.spans.enabled = false;
    options.logs.enabled = false;
    with_otlp(made, options);
  });
}

TEST_F(GrpcppTelemetry, WhatWasNotExportedIsSentAtTheEndOfTheServer) {
  collector other;
  start([&](grpc::ServerBuilder& b) { export_to(b, other.url()); });
  Reply reply;
  EXPECT_TRUE(find(query_of("hello"), reply).ok());
  server->Shutdown();
  server.reset();
  EXPECT_THAT(other.received(), HasSubstr("grpc.server.call.duration"));
  EXPECT_THAT(other.received(), HasSubstr("call_kinds.CallKinds/Unary"));
}

TEST_F(GrpcppTelemetry, SoItIsIfQueuesDriveTheServer) {
  collector other;
  CallKinds::AsyncService of_queue;
  grpc::ServerBuilder builder;
  builder.RegisterService(&of_queue);
  export_to(builder, other.url());
  const auto queue = builder.AddCompletionQueue();
  server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  server->Shutdown();
  queue->Shutdown();
  void* tag = nullptr;
  bool ok = false;
  EXPECT_FALSE(queue->Next(&tag, &ok));
  server.reset();
  EXPECT_THAT(other.received(), HasSubstr("coracle.loop."));
}

TEST_F(GrpcppTelemetry, AServerThatCannotBeConfiguredIsNotBuilt) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  builder.ConfigureServer([](coracle::server&) { throw std::runtime_error("not today"); });
  EXPECT_EQ(builder.BuildAndStart(), nullptr);
}

}  // namespace
}  // namespace coracle::testing_support::telemetry_test
