// A server and a client in the API of grpc++, measured and traced by opentelemetry-cpp.
#include "hello.grpc.pb.h"
#include "recorded.hpp"

// --8<-- [start:include]
#include <grpcpp/ext/otel_plugin.h>
// --8<-- [end:include]
#include <grpcpp/generic/generic_stub_callback.h>
#include <grpcpp/grpcpp.h>

#include <opentelemetry/trace/scope.h>

#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

class greeter final : public hello::Greeter::Service {
  grpc::Status SayHello(grpc::ServerContext*, const hello::HelloRequest* request,
                        hello::HelloReply* reply) override {
    if (request->name().empty()) return {grpc::StatusCode::INVALID_ARGUMENT, "name must not be empty"};
    reply->set_message("Hello " + request->name());
    return grpc::Status::OK;
  }
};

class running {
 public:
  explicit running(grpc::ServerBuilder& by) {
    by.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    by.RegisterService(&service_);
    server_ = by.BuildAndStart();
  }
  void call(const grpc::ChannelArguments& arguments) {
    const auto channel = grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port_),
                                                   grpc::InsecureChannelCredentials(), arguments);
    const auto stub = hello::Greeter::NewStub(channel);
    for (const char* const name : {"world", ""}) {
      grpc::ClientContext context;
      hello::HelloRequest request;
      request.set_name(name);
      hello::HelloReply reply;
      expect(stub->SayHello(&context, request, &reply).ok() == !request.name().empty(),
             "the call ends as it should");
    }
  }
  // A method that no service has, without generated code.
  void call_unknown(const grpc::ChannelArguments& arguments) {
    grpc::GenericStubCallback any(grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port_),
                                                            grpc::InsecureChannelCredentials(), arguments));
    grpc::ClientContext context;
    const grpc::ByteBuffer request(nullptr, 0);
    grpc::ByteBuffer reply;
    std::promise<grpc::Status> ended;
    any.UnaryCall(&context, "/hello.Greeter/Unknown", {}, &request, &reply,
                  [&](grpc::Status s) { ended.set_value(std::move(s)); });
    expect(ended.get_future().get().error_code() == grpc::StatusCode::UNIMPLEMENTED,
           "there is no such method");
  }
  // All calls have ended then.
  void stop() {
    server_->Shutdown();
    server_->Wait();
    server_.reset();
  }

 private:
  greeter service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

const std::string known = "grpc.method=hello.Greeter/SayHello";

void check_one_server_and_channel() {
  recorded all("grpc-c++");
  grpc::OpenTelemetryPluginBuilder builder;
  builder.SetMeterProvider(all.meters)
      .SetTargetAttributeFilter([](std::string_view) { return false; })
      .DisableMetrics({grpc::OpenTelemetryPluginBuilder::kServerCallStartedInstrumentName});
  auto plugin = builder.Build();
  expect(plugin.ok(), "there is a plugin");
  grpc::ServerBuilder measured;
  plugin.value()->AddToServerBuilder(&measured);
  running server(measured);
  grpc::ChannelArguments arguments;
  (*plugin)->AddToChannelArguments(&arguments);
  server.call(arguments);
  server.call_unknown(arguments);
  server.call({});  // a channel without the plugin
  server.stop();
  expect_equal(all.counts("grpc.server.call.duration"),
               {{known + " grpc.status=OK", 2},
                {known + " grpc.status=INVALID_ARGUMENT", 2},
                {"grpc.method=other grpc.status=UNIMPLEMENTED", 1}},
               "grpc.server.call.duration");
  expect(all.counts("grpc.server.call.started").empty(), "a disabled instrument has no values");
  const numbers ended = {{known + " grpc.status=OK grpc.target=other", 1},
                         {known + " grpc.status=INVALID_ARGUMENT grpc.target=other", 1},
                         {"grpc.method=other grpc.status=UNIMPLEMENTED grpc.target=other", 1}};
  expect_equal(all.counts("grpc.client.attempt.duration"), ended, "grpc.client.attempt.duration");
  expect_equal(all.counts("grpc.client.call.duration"), ended, "grpc.client.call.duration");
  expect(all.spans().empty(), "without a TracerProvider there are no spans");
}

void check_generic_methods() {
  recorded all("grpc-c++");
  const std::vector<std::string> only = {"grpc.client.attempt.started"};
  grpc::OpenTelemetryPluginBuilder builder;
  builder.SetMeterProvider(all.meters).DisableAllMetrics().EnableMetrics(only);
  builder.SetTargetAttributeFilter([](std::string_view) { return false; });
  builder.SetGenericMethodAttributeFilter(
      [](std::string_view method) { return method == "hello.Greeter/Unknown"; });
  auto plugin = builder.Build();
  grpc::ServerBuilder measured;
  plugin.value()->AddToServerBuilder(&measured);
  running server(measured);
  grpc::ChannelArguments arguments;
  plugin.value()->AddToChannelArguments(&arguments);
  server.call_unknown(arguments);
  server.stop();
  expect_equal(all.counts("grpc.client.attempt.started"),
               {{"grpc.method=hello.Greeter/Unknown grpc.target=other", 1}},
               "attempts of a generic method that the filter lets through");
  expect(all.counts("grpc.client.attempt.duration").empty(), "what was disabled is not recorded");
}

void check_the_whole_process() {
  recorded all("grpc-c++");
  const std::shared_ptr<opentelemetry::metrics::MeterProvider> meter_provider = all.meters;
  const std::shared_ptr<opentelemetry::trace::TracerProvider> tracer_provider = all.tracers;
  // --8<-- [start:global]
  const auto status = grpc::OpenTelemetryPluginBuilder()
                          .SetMeterProvider(meter_provider)
                          .SetTracerProvider(tracer_provider)
                          .BuildAndRegisterGlobal();
  // --8<-- [end:global]
  expect(status.ok(), "the plugin is registered");
  grpc::ServerBuilder builder;
  running server(builder);
  const auto tracer = all.tracers->GetTracer("program");
  const auto work = tracer->StartSpan("work");
  {
    const opentelemetry::trace::Scope current(work);
    server.call({});
  }
  work->End();
  server.stop();
  expect_equal(all.counts("grpc.server.call.started"), {{known, 2}}, "grpc.server.call.started");
  const auto spans = all.spans();
  expect(spans.size() == 4, "there are the span of the program and three kinds of spans of calls");
  expect_child(spans, "Sent.hello.Greeter.SayHello", "work");
  expect_child(spans, "Attempt.hello.Greeter.SayHello", "Sent.hello.Greeter.SayHello");
  expect_child(spans, "Recv.hello.Greeter.SayHello", "Attempt.hello.Greeter.SayHello");
  const auto& refused = *spans.at("Recv.hello.Greeter.SayHello");
  expect(refused.GetStatus() == opentelemetry::trace::StatusCode::kError &&
             refused.GetDescription() == "INVALID_ARGUMENT, name must not be empty",
         "the span of a refused call says why");
}

}  // namespace

int main() {
  check_one_server_and_channel();
  check_generic_methods();
  check_the_whole_process();  // last: it is for all that follow
  return failures;
}
