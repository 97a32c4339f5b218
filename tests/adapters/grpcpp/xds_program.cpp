// A program in the API of grpc++, compiled with both libraries, for tests/interop/grpcpp_xds_test.py: what a
// control plane configures. Its bootstrap is in the environment, or in BOOTSTRAP_ARGUMENT for the arguments
// of channels.
//
//   xds_program server PORT GRACE_MS
//   xds_program queue_server PORT
//   xds_program backend calls|streams CPU
//   xds_program client
//
// The listeners of both servers are configured by a control plane; the second has a completion queue, and
// answers calls alone. A grace of -1 is the default. A backend reports a load with calls, or in streams;
// with Debian's library, which can do neither, it reports none. Both print their port, what they hear of
// serving, and that a call is held. Commands are read from standard input, until its end:
//
//   call COUNT TARGET ASK [KEY=VALUE]...  prints "answers" and how often each came: a port or a negative code
//   status                                prints the ClientStatusResponse of CSDS, or with Debian's library
//                                         the ClientConfig, in hexadecimal
#include "call_kinds.grpc.pb.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/xds_server_builder.h>
#ifdef CORACLE_GRPCPP
#include <grpcpp/ext/admin_services.h>
#include <grpcpp/ext/orca_service.h>
#include <grpcpp/ext/server_metric_recorder.h>
#include <grpcpp/impl/client_unary_call.h>
#include <grpcpp/impl/rpc_method.h>
#endif

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace {

using namespace std::chrono_literals;
using call_kinds::CallKinds;
using call_kinds::Query;
using call_kinds::Reply;

void say(const std::string& line) {
  static std::mutex one;
  const std::lock_guard lock(one);
  std::cout << line << std::endl;
}

// Answers with the port of the server.
class port_service final : public CallKinds::Service {
 public:
  std::atomic<int> port{0};

  grpc::Status Unary(grpc::ServerContext* context, const Query* query, Reply* reply) override {
    reply->set_number(port);
    if (query->ask() == "hold") hold(*context);
    if (query->ask() == "release") release();
    return grpc::Status::OK;
  }

 private:
  void hold(grpc::ServerContext& context) {
    say("held");
    std::unique_lock lock(changing_);
    while (!released_ && !context.IsCancelled()) changed_.wait_for(lock, 10ms);
  }
  void release() {
    const std::lock_guard lock(changing_);
    released_ = true;
    changed_.notify_all();
  }
  std::mutex changing_;
  std::condition_variable changed_;
  bool released_ = false;
};

class notifier final : public grpc::XdsServerServingStatusNotifierInterface {
 public:
  void OnServingStatusUpdate(std::string uri, ServingStatusUpdate update) override {
    say("serving " + uri + " " + std::to_string(update.status.error_code()));
  }
};

std::string hexadecimal(const std::string& bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string all;
  for (const char c : bytes) {
    all += digits[static_cast<unsigned char>(c) >> 4];
    all += digits[static_cast<unsigned char>(c) & 15];
  }
  return all;
}

#ifdef CORACLE_GRPCPP
// The names of older versions.
static_assert(std::is_same_v<grpc::experimental::XdsServerBuilder, grpc::XdsServerBuilder>);
static_assert(std::is_same_v<grpc::experimental::XdsServerServingStatusNotifierInterface,
                             grpc::XdsServerServingStatusNotifierInterface>);

// By a server of its own.
std::string status() {
  grpc::ServerBuilder builder;
  grpc::AddAdminServices(&builder);
  const auto server = builder.BuildAndStart();
  const auto channel = server->InProcessChannel({});
  grpc::ClientContext context;
  const grpc::Slice nothing("");
  const grpc::ByteBuffer request(&nothing, 1);
  grpc::ByteBuffer reply;
  const auto s = grpc::internal::BlockingUnaryCall(
      channel.get(),
      grpc::internal::RpcMethod("/envoy.service.status.v3.ClientStatusDiscoveryService/FetchClientStatus",
                                grpc::internal::RpcMethod::NORMAL_RPC),
      &context, request, &reply);
  if (!s.ok()) return "failed " + s.error_message();
  grpc::Slice whole;
  reply.DumpToSingleSlice(&whole);
  return hexadecimal(std::string(reinterpret_cast<const char*>(whole.begin()), whole.size()));
}
#else
std::string status() {
  const grpc::Slice dumped(grpc_dump_xds_configs(), grpc::Slice::STEAL_REF);
  return hexadecimal(std::string(reinterpret_cast<const char*>(dumped.begin()), dumped.size()));
}
#endif

class callers {
 public:
  std::string call(std::istringstream words) {
    int count = 0;
    std::string target;
    Query query;
    words >> count >> target >> *query.mutable_ask();
    std::vector<std::string> pairs;
    for (std::string pair; words >> pair;) pairs.push_back(pair);
    CallKinds::Stub& stub = stub_for(target);
    std::map<int, int> answers;
    for (int i = 0; i < count; ++i) {
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + 20s);
      for (const std::string& pair : pairs)
        context.AddMetadata(pair.substr(0, pair.find('=')), pair.substr(pair.find('=') + 1));
      Reply reply;
      const auto s = stub.Unary(&context, query, &reply);
      if (!s.ok()) std::cerr << s.error_message() << std::endl;
      ++answers[s.ok() ? reply.number() : -s.error_code()];
    }
    std::string all = "answers";
    for (const auto& [answer, times] : answers)
      all += " " + std::to_string(answer) + "=" + std::to_string(times);
    return all;
  }

 private:
  // That of a control plane's target is kept, one of a server has a new connection.
  CallKinds::Stub& stub_for(const std::string& target) {
    auto& stub = stubs_[target];
    if (stub && target.rfind("xds:", 0) == 0) return *stub;
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    if (const char* const json = std::getenv("BOOTSTRAP_ARGUMENT"))
      arguments.SetString(GRPC_ARG_TEST_ONLY_DO_NOT_USE_IN_PROD_XDS_BOOTSTRAP_CONFIG, json);
    stub = CallKinds::NewStub(grpc::CreateCustomChannel(
        target, grpc::XdsCredentials(grpc::InsecureChannelCredentials()), arguments));
    return *stub;
  }
  std::map<std::string, std::unique_ptr<CallKinds::Stub>> stubs_;
};

int run_commands() {
  callers all;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    say(command == "status" ? "status " + status() : all.call(std::move(words)));
  }
  return 0;
}

int serve(grpc::ServerBuilder& builder, const std::string& at,
          std::shared_ptr<grpc::ServerCredentials> credentials) {
  port_service service;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:" + at, std::move(credentials), &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  if (!server) {
    say("not built");
    return 1;
  }
  if (at != "0")
    port = std::stoi(at);  // Debian's library selects none if a control plane configures the server
  service.port = port;
  say("listening on 127.0.0.1:" + std::to_string(port));
  const int done = run_commands();
  server->Shutdown(std::chrono::system_clock::now());
  return done;
}

int serve_by_control_plane(const std::string& at, int grace_ms) {
  notifier hears;
  grpc::XdsServerBuilder builder;
  builder.set_status_notifier(&hears);
  if (grace_ms >= 0) builder.experimental().set_drain_grace_time(grace_ms);
  return serve(builder, at, grpc::XdsServerCredentials(grpc::InsecureServerCredentials()));
}

// With one thread, which drives the server in Next().
int serve_by_queue(const std::string& at) {
  struct asked {
    grpc::ServerContext context;
    Query query;
    grpc::ServerAsyncResponseWriter<Reply> writer{&context};
    bool answered = false;
  };
  notifier hears;
  CallKinds::AsyncService service;
  grpc::XdsServerBuilder builder;
  builder.set_status_notifier(&hears);
  builder.AddListeningPort("127.0.0.1:" + at, grpc::XdsServerCredentials(grpc::InsecureServerCredentials()));
  builder.RegisterService(&service);
  const auto queue = builder.AddCompletionQueue();
  const auto server = builder.BuildAndStart();
  if (!server) return 1;
  say("listening on 127.0.0.1:" + at);
  std::thread answering([&] {
    const auto request = [&] {
      auto* const next = new asked;
      service.RequestUnary(&next->context, &next->query, &next->writer, queue.get(), queue.get(), next);
    };
    request();
    void* tag = nullptr;
    for (bool ok = false; queue->Next(&tag, &ok);) {
      auto* const one = static_cast<asked*>(tag);
      if (!ok || one->answered) {
        delete one;
        continue;
      }
      request();
      Reply reply;
      reply.set_number(std::stoi(at));
      one->answered = true;
      one->writer.Finish(reply, grpc::Status::OK, one);
    }
  });
  const int done = run_commands();
  server->Shutdown(std::chrono::system_clock::now());
  queue->Shutdown();
  answering.join();
  return done;
}

#ifdef CORACLE_GRPCPP
int serve_with_load(const std::string& way, double cpu) {
  const auto recorder = grpc::experimental::ServerMetricRecorder::Create();
  recorder->SetCpuUtilization(cpu);
  recorder->SetQps(100);
  grpc::experimental::OrcaService reports(
      recorder.get(), grpc::experimental::OrcaService::Options().set_min_report_duration(50ms));
  grpc::ServerBuilder builder;
  if (way == "calls") builder.experimental().EnableCallMetricRecording(recorder.get());
  else builder.RegisterService(&reports);
  return serve(builder, "0", grpc::InsecureServerCredentials());
}
#else
int serve_with_load(const std::string&, double) {
  grpc::ServerBuilder builder;
  return serve(builder, "0", grpc::InsecureServerCredentials());
}
#endif

}  // namespace

int main(int count, char** words) {
  const std::string mode = count > 1 ? words[1] : "";
  if (mode == "client") return run_commands();
  if (mode == "server" && count == 4) return serve_by_control_plane(words[2], std::atoi(words[3]));
  if (mode == "queue_server" && count == 3) return serve_by_queue(words[2]);
  if (mode == "backend" && count == 4) return serve_with_load(words[2], std::atof(words[3]));
  std::cerr << "usage: server PORT GRACE_MS | queue_server PORT | backend calls|streams CPU | client\n";
  return 2;
}
