// A server and a client in Coracle's API, measured and traced by opentelemetry-cpp.
#include "hello.coracle.hpp"
#include "recorded.hpp"

#include <coracle/client.hpp>
#include <coracle/client/generic_stub.hpp>
// --8<-- [start:include]
#include <coracle/opentelemetry.hpp>
// --8<-- [end:include]
#include <coracle/runtime.hpp>
#include <coracle/server.hpp>

#include <opentelemetry/context/propagation/text_map_propagator.h>

#include <memory>
#include <optional>
#include <string>

namespace {

class greeter final : public hello::rpc::Greeter::service {
 public:
  std::optional<hello::rpc::Greeter::stub> next;

 private:
  coracle::reply<hello::HelloReply> SayHello(coracle::server_context&,
                                             const hello::HelloRequest& request) override {
    if (request.name().empty()) co_return coracle::status::invalid_argument("name must not be empty");
    hello::HelloReply reply;
    reply.set_message("Hello " + request.name());
    if (request.name() != "relay") co_return reply;
    hello::HelloRequest passed_on;
    passed_on.set_name("leaf");
    auto answer = co_await next->SayHello(passed_on);
    co_return answer;
  }
};

// Makes calls, and returns when the server has ended them all.
void make_calls(recorded& by, coracle::opentelemetry_options options, bool all) {
  const std::shared_ptr<opentelemetry::metrics::MeterProvider> meter_provider = by.meters;
  coracle::runtime runtime(1);
  greeter service;
  coracle::server server(runtime);
  server.add(service);
  // --8<-- [start:observe]
  options.meters = meter_provider;
  const coracle::opentelemetry_bridge bridge(options);
  bridge.observe(server);   // before it listens
  bridge.observe(runtime);  // before its channels are made
  // --8<-- [end:observe]
  if (const auto listening = server.listen("127.0.0.1:0", coracle::insecure()); !listening.ok())
    return expect(false, listening.to_string());
  {
    const coracle::channel channel(runtime, "127.0.0.1:" + std::to_string(server.port()),
                                   coracle::insecure());
    service.next.emplace(channel);
    const hello::rpc::Greeter::stub stub(channel);
    hello::HelloRequest request;
    request.set_name("relay");
    expect(coracle::sync_wait(stub.SayHello(request)).ok(), "a call that makes another one ends with OK");
    if (all) {
      request.clear_name();
      expect(coracle::sync_wait(stub.SayHello(request)).status().code() ==
                 coracle::status_code::invalid_argument,
             "a call without a name is refused");
      const coracle::generic_stub any(channel);
      const coracle::bytes_message none;
      expect(!coracle::sync_wait(any.unary("/hello.Greeter/Unknown", none)).ok(), "there is no such method");
    }
    service.next.reset();
  }
  coracle::sync_wait(runtime, server.drain(std::chrono::seconds(20)));
}

void check_metrics() {
  recorded all("coracle");
  coracle::opentelemetry_options options;
  options.reports_target = [](std::string_view target) { return !target.starts_with("dns:///127.0.0.1:"); };
  make_calls(all, options, true);
  const std::string known = "grpc.method=hello.Greeter/SayHello";
  expect_equal(all.counts("grpc.server.call.started"), {{known, 3}, {"grpc.method=other", 1}},
               "calls started");
  const numbers ended = {{known + " grpc.status=OK", 2},
                         {known + " grpc.status=INVALID_ARGUMENT", 1},
                         {"grpc.method=other grpc.status=UNIMPLEMENTED", 1}};
  for (const char* const name :
       {"duration", "sent_total_compressed_message_size", "rcvd_total_compressed_message_size"})
    expect_equal(all.counts(std::string("grpc.server.call.") + name), ended, name);

  const std::string target = " grpc.target=other";
  expect_equal(all.counts("grpc.client.attempt.started"),
               {{known + target, 3}, {"grpc.method=other" + target, 1}}, "attempts started");
  const numbers attempts = {{known + " grpc.status=OK" + target, 2},
                            {known + " grpc.status=INVALID_ARGUMENT" + target, 1},
                            {"grpc.method=other grpc.status=UNIMPLEMENTED" + target, 1}};
  for (const char* const name :
       {"duration", "sent_total_compressed_message_size", "rcvd_total_compressed_message_size"})
    expect_equal(all.counts(std::string("grpc.client.attempt.") + name), attempts, name);
  expect_equal(all.counts("grpc.client.call.duration"), attempts, "grpc.client.call.duration");
  expect(all.spans().empty(), "without a TracerProvider there are no spans");
}

void check_sizes_buckets_and_names() {
  recorded all("coracle");
  coracle::opentelemetry_options options;
  options.disabled = {"grpc.client.call.duration"};
  make_calls(all, options, false);
  const auto sent = all.histogram("grpc.server.call.sent_total_compressed_message_size");
  hello::HelloReply reply;
  reply.set_message("Hello leaf");
  expect(sent.count_ == 2 && opentelemetry::nostd::get<std::int64_t>(sent.sum_) ==
                                 2 * static_cast<std::int64_t>(reply.ByteSizeLong()),
         "sizes are those of the messages");
  expect(sent.boundaries_.size() == 14 && sent.boundaries_[1] == 1024, "sizes have the buckets of the view");
  const auto took = all.histogram("grpc.server.call.duration");
  expect(took.boundaries_.size() == 41 && opentelemetry::nostd::get<double>(took.sum_) > 0 &&
             opentelemetry::nostd::get<double>(took.sum_) < 60,
         "durations are seconds in the buckets of the view");
  expect(all.counts("grpc.client.call.duration").empty(), "a disabled instrument has no values");
  const numbers attempts = all.counts("grpc.client.attempt.started");
  expect(attempts.size() == 1 &&
             attempts.begin()->first.find("grpc.target=dns:///127.0.0.1:") != std::string::npos,
         "the target has its scheme");
}

void check_traces(std::shared_ptr<opentelemetry::context::propagation::TextMapPropagator> propagator) {
  recorded all("coracle");
  coracle::opentelemetry_options options;
  options.tracers = all.tracers;
  options.propagator = std::move(propagator);
  make_calls(all, options, false);
  // Of each name, the span of the call that began first ends last: its children have been replaced.
  const auto last = all.spans();
  expect(last.size() == 3, "there are three kinds of spans");
  expect_child(last, "Attempt.hello.Greeter.SayHello", "Sent.hello.Greeter.SayHello");
  expect_child(last, "Recv.hello.Greeter.SayHello", "Attempt.hello.Greeter.SayHello");
  expect(!last.at("Sent.hello.Greeter.SayHello")->GetParentSpanId().IsValid(),
         "the first call begins the trace");
  const trace_sdk::SpanData& served = *last.at("Recv.hello.Greeter.SayHello");
  expect(served.GetSpanKind() == opentelemetry::trace::SpanKind::kServer, "Recv is a server's");
  expect(served.GetStatus() == opentelemetry::trace::StatusCode::kOk, "its status is OK");
  expect(served.GetEvents().size() == 2 && served.GetEvents()[0].GetName() == "Inbound message" &&
             served.GetEvents()[1].GetName() == "Outbound message",
         "its messages are events");
}

// The call that a handler makes is below the span of the handler's call.
void check_the_trace_of_a_handler() {
  recorded all("coracle");
  coracle::opentelemetry_options options;
  options.tracers = all.tracers;
  make_calls(all, options, false);
  const auto spans = all.all_spans();
  expect(spans.size() == 6, "each of the two calls has three spans");
  int below = 0;
  for (const auto& call : spans)
    for (const auto& handler : spans)
      if (call->GetName() == "Sent.hello.Greeter.SayHello" &&
          handler->GetName() == "Recv.hello.Greeter.SayHello" &&
          call->GetParentSpanId() == handler->GetSpanId() && call->GetTraceId() == handler->GetTraceId())
        ++below;
  expect(below == 1, "the call of the handler is below the handler's span");
}

}  // namespace

int main() {
  check_metrics();
  check_sizes_buckets_and_names();
  check_traces(nullptr);
  check_traces(std::make_shared<coracle::trace_bin_propagator>());
  check_the_trace_of_a_handler();
  return failures;
}
