// Load reports (ORCA, gRFC A51) of servers in the API of grpc++: with calls, and in streams. The messages are
// decoded by definitions of the tests' own.
#include "call_kinds_fixture.hpp"
#include "standard_services.pb.h"

#include <grpcpp/ext/call_metric_recorder.h>
#include <grpcpp/ext/orca_service.h>
#include <grpcpp/ext/server_metric_recorder.h>
#include <grpcpp/impl/client_unary_call.h>
#include <grpcpp/impl/rpc_method.h>

#include "coracle/client/generic_stub.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "coracle/security/insecure.hpp"

#include <chrono>
#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

namespace coracle::testing_support::loads_test {
namespace {

using namespace std::chrono_literals;
using call_kinds::CallKinds;
using call_kinds::Query;
using call_kinds::Reply;
using grpc::experimental::CallMetricRecorder;
using grpc::experimental::OrcaService;
using grpc::experimental::ServerMetricRecorder;
using standard_services::LoadReport;
using values = std::map<std::string, double>;

// What a handler records is asked for by the client.
void record(CallMetricRecorder* to, const std::string& ask) {
  if (ask == "without a recorder" || !to) return;
  if (ask == "all")
    to->RecordCpuUtilizationMetric(1.5)
        .RecordMemoryUtilizationMetric(0.25)
        .RecordApplicationUtilizationMetric(2)
        .RecordQpsMetric(100)
        .RecordEpsMetric(3)
        .RecordUtilizationMetric(std::string("disk"), 0.5)
        .RecordRequestCostMetric("rows", 3)
        .RecordRequestCostMetric("rows", 4)
        .RecordNamedMetric("queue", -7);
  if (ask == "invalid")
    to->RecordCpuUtilizationMetric(-1)
        .RecordMemoryUtilizationMetric(1.5)
        .RecordUtilizationMetric("disk", 2)
        .RecordQpsMetric(std::nan(""));
  if (ask == "cost") to->RecordRequestCostMetric("rows", 1);
  if (ask == "error") to->RecordNamedMetric("queue", 7);
}

class loaded_service final : public CallKinds::Service {
 public:
  grpc::Status Unary(grpc::ServerContext* context, const Query* query, Reply* reply) override {
    CallMetricRecorder* const recorder = context->ExperimentalGetCallMetricRecorder();
    reply->set_number(recorder ? 1 : 0);
    record(recorder, query->ask());
    if (query->ask() == "error") return grpc::Status(grpc::StatusCode::UNAVAILABLE, "overloaded");
    return grpc::Status::OK;
  }
  grpc::Status ServerStream(grpc::ServerContext* context, const Query* query,
                            grpc::ServerWriter<Reply>* writer) override {
    writer->Write(Reply());
    std::thread([&] { record(context->ExperimentalGetCallMetricRecorder(), query->ask()); }).join();
    return grpc::Status::OK;
  }
};

// grpc++ hides the report of a call from its clients, and so does coracle::grpcpp: these are Coracle's.
std::optional<LoadReport> report_in(const metadata& trailing) {
  std::optional<LoadReport> found;
  for (const auto& [key, value] : trailing) {
    if (key != "endpoint-load-metrics-bin") continue;
    EXPECT_FALSE(found) << "two reports";
    found.emplace();
    EXPECT_TRUE(found->ParseFromArray(value.data(), static_cast<int>(value.size())));
  }
  return found;
}

class GrpcppLoads : public call_kinds_fixture<loaded_service> {
 protected:
  void start_recording(ServerMetricRecorder* recorder = nullptr) {
    start([recorder](grpc::ServerBuilder& b) { b.experimental().EnableCallMetricRecording(recorder); });
  }
  std::optional<LoadReport> load_of(const std::string& ask) {
    return sync_wait(calling_, of_unary(any_stub(), query_of(ask), has_recorder));
  }
  std::optional<LoadReport> load_of_stream(const std::string& ask) {
    return sync_wait(calling_, of_stream(any_stub(), query_of(ask)));
  }
  bool has_recorder = false;
  std::unique_ptr<ServerMetricRecorder> of_server = ServerMetricRecorder::Create();

 private:
  generic_stub any_stub() {
    return generic_stub(coracle::channel(calling_, "127.0.0.1:" + std::to_string(port), insecure()));
  }
  static task<std::optional<LoadReport>> of_unary(generic_stub to, Query query, bool& has_recorder) {
    auto call = to.unary<Reply>("/call_kinds.CallKinds/Unary", query);
    const result<Reply> reply = co_await call;
    EXPECT_EQ(reply.ok(), query.ask() != "error");
    has_recorder = reply.ok() && reply->number() == 1;
    co_return report_in(call.trailing_metadata());
  }
  static task<std::optional<LoadReport>> of_stream(generic_stub to, Query query) {
    auto call = to.server_streaming<Reply>("/call_kinds.CallKinds/ServerStream", query);
    Reply reply;
    result<bool> read = true;
    while (read.ok() && *read) read = co_await call.read(reply);
    EXPECT_TRUE(read.ok());
    co_return report_in(call.trailing_metadata());
  }
  runtime calling_{1};
};

values of(const google::protobuf::Map<std::string, double>& map) { return {map.begin(), map.end()}; }

TEST_F(GrpcppLoads, ThereIsNoRecorderUnlessTheServerHasOne) {
  start();
  EXPECT_FALSE(load_of("all"));
  EXPECT_FALSE(has_recorder);
  grpc::ServerContext of_no_call;
  EXPECT_EQ(of_no_call.ExperimentalGetCallMetricRecorder(), nullptr);
}

TEST_F(GrpcppLoads, ACallReportsWhatItsHandlerHasRecordedLast) {
  start_recording();
  const auto load = load_of("all");
  ASSERT_TRUE(load && has_recorder);
  EXPECT_EQ(load->cpu_utilization(), 1.5);
  EXPECT_EQ(load->mem_utilization(), 0.25);
  EXPECT_EQ(load->application_utilization(), 2);
  EXPECT_EQ(load->rps_fractional(), 100);
  EXPECT_EQ(load->eps(), 3);
  EXPECT_EQ(of(load->utilization()), (values{{"disk", 0.5}}));
  EXPECT_EQ(of(load->request_cost()), (values{{"rows", 4}}));
  EXPECT_EQ(of(load->named_metrics()), (values{{"queue", -7}}));
  EXPECT_FALSE(load_of("nothing"));
  EXPECT_FALSE(load_of("invalid"));
  EXPECT_EQ(of(load_of("error")->named_metrics()), (values{{"queue", 7}}));
}

TEST_F(GrpcppLoads, TheOlderFunctionEnablesRecorders) {
  start([](grpc::ServerBuilder& b) { grpc::experimental::EnableCallMetricRecording(&b); });
  EXPECT_EQ(of(load_of("cost")->request_cost()), (values{{"rows", 1}}));
}

TEST_F(GrpcppLoads, AStreamReportsWhatAnotherThreadHasRecorded) {
  start_recording();
  EXPECT_EQ(of(load_of_stream("cost")->request_cost()), (values{{"rows", 1}}));
}

TEST_F(GrpcppLoads, AClientOfThisApiDoesNotSeeTheReport) {
  start_recording();
  grpc::ClientContext context;
  Reply reply;
  EXPECT_TRUE(stub->Unary(&context, query_of("cost"), &reply).ok());
  EXPECT_EQ(context.GetServerTrailingMetadata().count("endpoint-load-metrics-bin"), 0u);
}

TEST_F(GrpcppLoads, ValuesOfTheServerFillWhatTheCallHasNotRecorded) {
  of_server->SetCpuUtilization(0.5);
  of_server->SetMemoryUtilization(0.75);
  of_server->SetQps(10);
  of_server->SetNamedUtilization("net", 0.125);
  start_recording(of_server.get());
  auto load = load_of("cost");
  ASSERT_TRUE(load);
  EXPECT_EQ(load->cpu_utilization(), 0.5);
  EXPECT_EQ(load->mem_utilization(), 0.75);
  EXPECT_EQ(load->rps_fractional(), 10);
  EXPECT_EQ(of(load->utilization()), (values{{"net", 0.125}}));
  EXPECT_EQ(of(load->request_cost()), (values{{"rows", 1}}));
  load = load_of("all");
  EXPECT_EQ(load->cpu_utilization(), 1.5);
  EXPECT_EQ(of(load->utilization()), (values{{"disk", 0.5}, {"net", 0.125}}));
}

TEST_F(GrpcppLoads, ValuesOfTheServerAreClearedOneByOne) {
  of_server->SetCpuUtilization(0.5);
  of_server->SetCpuUtilization(-1);  // ignored, as the next ones
  of_server->SetMemoryUtilization(0.75);
  of_server->SetMemoryUtilization(1.5);
  of_server->SetApplicationUtilization(0.25);
  of_server->SetQps(10);
  of_server->SetEps(1);
  of_server->SetAllNamedUtilization({{"net", 0.125}, {"disk", 0.5}, {"broken", 2}});
  start_recording(of_server.get());
  auto load = load_of("nothing");
  ASSERT_TRUE(load);
  EXPECT_EQ(load->cpu_utilization(), 0.5);
  EXPECT_EQ(load->mem_utilization(), 0.75);
  EXPECT_EQ(of(load->utilization()), (values{{"disk", 0.5}, {"net", 0.125}}));
  of_server->ClearCpuUtilization();
  of_server->ClearQps();
  of_server->ClearNamedUtilization("disk");
  of_server->ClearNamedUtilization("unknown");
  load = load_of("nothing");
  EXPECT_EQ(load->cpu_utilization(), 0);
  EXPECT_EQ(load->rps_fractional(), 0);
  EXPECT_EQ(load->eps(), 1);
  EXPECT_EQ(of(load->utilization()), (values{{"net", 0.125}}));
  of_server->ClearMemoryUtilization();
  of_server->ClearApplicationUtilization();
  of_server->ClearEps();
  of_server->SetAllNamedUtilization({});
  EXPECT_FALSE(load_of("nothing"));
}

// --- streams of reports

class GrpcppLoadStreams : public GrpcppLoads {
 protected:
  using reports = grpc::ClientReader<LoadReport>;
  std::unique_ptr<reports> ask(std::chrono::nanoseconds interval) {
    standard_services::LoadRequest request;
    request.mutable_report_interval()->set_nanos(static_cast<int>(interval.count()));
    return std::unique_ptr<reports>(grpc::internal::ClientReaderFactory<LoadReport>::Create(
        channel.get(),
        grpc::internal::RpcMethod("/xds.service.orca.v3.OpenRcaService/StreamCoreMetrics",
                                  grpc::internal::RpcMethod::SERVER_STREAMING),
        &context_, request));
  }
  // Ends the stream that ask() has begun.
  void end(reports& of) {
    context_.TryCancel();
    LoadReport rest;
    while (of.Read(&rest)) continue;
    EXPECT_EQ(of.Finish().error_code(), grpc::StatusCode::CANCELLED);
  }

 private:
  grpc::ClientContext context_;
};

TEST_F(GrpcppLoadStreams, ReportsComeAtOnceAndAtEachInterval) {
  OrcaService orca(of_server.get(), OrcaService::Options().set_min_report_duration(1ms));
  of_server->SetCpuUtilization(0.5);
  start([&](grpc::ServerBuilder& b) { b.RegisterService(&orca); });
  EXPECT_FALSE(load_of("all"));  // only streams report
  const auto stream = ask(2ms);
  LoadReport report;
  ASSERT_TRUE(stream->Read(&report));
  EXPECT_EQ(report.cpu_utilization(), 0.5);
  ASSERT_TRUE(stream->Read(&report));
  of_server->SetCpuUtilization(0.75);
  of_server->SetNamedUtilization("disk", 1);
  while (report.cpu_utilization() != 0.75 || report.utilization().empty()) ASSERT_TRUE(stream->Read(&report));
  EXPECT_EQ(of(report.utilization()), (values{{"disk", 1}}));
  end(*stream);
  server->Shutdown();
}

TEST_F(GrpcppLoadStreams, AServerThatQueuesDriveReportsToo) {
  OrcaService orca(of_server.get(), {});
  of_server->SetQps(3);
  CallKinds::AsyncService of_queue;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&of_queue);
  builder.RegisterService(&orca);
  const auto queue = builder.AddCompletionQueue();
  server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  connect(grpc::InsecureChannelCredentials());
  const auto stream = ask(1ms);  // although no thread is in Next()
  LoadReport report;
  ASSERT_TRUE(stream->Read(&report));
  EXPECT_EQ(report.rps_fractional(), 3);
  end(*stream);
  server->Shutdown();
  queue->Shutdown();
  void* tag = nullptr;
  bool ok = false;
  EXPECT_FALSE(queue->Next(&tag, &ok));
}

// As absl::Duration, whose namespace has the function.
struct fortnights {
  int count;
};
std::chrono::nanoseconds ToChronoNanoseconds(const fortnights& f) { return f.count * 24h * 14; }

TEST(GrpcppLoadOptions, TheIntervalMayBeOfAnotherLibrary) {
  OrcaService::Options options;
  EXPECT_EQ(options.min_report_duration.length(), 30s);
  options.min_report_duration = fortnights{2};
  EXPECT_EQ(options.min_report_duration.length(), 672h);
  EXPECT_EQ(options.set_min_report_duration(fortnights{1}).min_report_duration.length(), 336h);
}

TEST(GrpcppLoadOptions, AServiceWithoutARecorderIsRefused) {
  EXPECT_THROW(OrcaService(nullptr, {}), std::invalid_argument);
}

}  // namespace
}  // namespace coracle::testing_support::loads_test
