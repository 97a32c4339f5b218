// A program in the API of grpc++, compiled with both libraries: details that programs see. It prints "case:
// what".
//
//   details_program alone FOLDER     with the files of certificates.sh; both sides in one process
#include "call_kinds.grpc.pb.h"
#include "call_kinds_service.hpp"
#include "program_cases.hpp"
#include "standard_services.pb.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/client_unary_call.h>
#include <grpcpp/support/client_interceptor.h>
#include <grpcpp/support/server_interceptor.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace call_kinds::details {
namespace {

using namespace std::chrono_literals;
using std::chrono::system_clock;

std::string folder;  // of certificates

std::string file(const std::string& name) {
  std::ifstream from(folder + "/" + name, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(from), {});
}

// --- what a handler is told

class telling final : public CallKinds::Service {
  grpc::Status Unary(grpc::ServerContext* context, const Query* query, Reply* reply) override {
    const gpr_timespec deadline = context->raw_deadline();
    if (query->ask() == "clock") reply->set_name(std::to_string(deadline.clock_type));
    if (query->ask() == "compare") {
      const gpr_timespec now = gpr_now(deadline.clock_type);
      const gpr_timespec left = gpr_time_sub(deadline, now);
      reply->set_name(std::to_string(gpr_time_cmp(deadline, now)) + " " + std::to_string(left.clock_type) +
                      " " + std::to_string(left.tv_sec > 50 && left.tv_sec <= 100));
    }
    if (query->ask() == "infinite")
      reply->set_name(std::to_string(gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type))));
    if (query->ask() == "authority") {
      const auto seen = context->ExperimentalGetAuthority();
      reply->set_name(std::string(seen.data(), seen.size()));
    }
    if (query->ask() == "agent") {
      const auto agent = context->client_metadata().find("user-agent");
      reply->set_name(agent == context->client_metadata().end() ? "none" : text(agent->second));
    }
    if (query->ask() == "error") return grpc::Status(grpc::StatusCode::NOT_FOUND, "no such reply", "details");
    return grpc::Status::OK;
  }
};

struct ends {
  explicit ends(
      grpc::Service& service, const std::function<void(grpc::ServerBuilder&)>& prepare = [](auto&) {},
      const grpc::ChannelArguments& arguments = {})
      : server(start_server(port,
                            [&](grpc::ServerBuilder& builder) {
                              builder.RegisterService(&service);
                              prepare(builder);
                            })),
        channel(grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port),
                                          grpc::InsecureChannelCredentials(), arguments)),
        stub(CallKinds::NewStub(channel)) {}
  int port = 0;
  std::unique_ptr<grpc::Server> server;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<CallKinds::Stub> stub;
};

std::string told(
    CallKinds::Stub& stub, const std::string& ask,
    const std::function<void(grpc::ClientContext&)>& prepare = [](auto&) {}) {
  grpc::ClientContext context;
  prepare(context);
  Reply reply;
  const auto s = stub.Unary(&context, query(ask), &reply);
  return s.ok() ? reply.name() : "code " + std::to_string(s.error_code());
}

void handlers() {
  telling service;
  ends by(service);
  const auto in_100_s = [](grpc::ClientContext& c) { c.set_deadline(system_clock::now() + 100s); };
  say("clock of a deadline", told(*by.stub, "clock", in_100_s), told(*by.stub, "clock"));
  say("a deadline and now", told(*by.stub, "compare", in_100_s), told(*by.stub, "infinite"));
  say("authority of an address", told(*by.stub, "authority") == "127.0.0.1:" + std::to_string(by.port));
  say("authority of the program",
      told(*by.stub, "authority", [](grpc::ClientContext& c) { c.set_authority("other.example"); }));
  say("authority within a process",
      told(*CallKinds::NewStub(by.server->InProcessChannel(grpc::ChannelArguments())), "authority"));
  grpc::ClientContext context;
  context.set_deadline(gpr_inf_future(GPR_CLOCK_MONOTONIC));
  say("clock of a client", context.raw_deadline().clock_type);
}

// --- values

void values() {
  say("an empty string_ref", grpc::string_ref().data() == nullptr, grpc::string_ref().size(),
      grpc::string_ref("").size());
  gpr_timespec t{};
  grpc::Timepoint2Timespec(system_clock::time_point::max(), &t);
  say("the latest time", gpr_time_cmp(t, gpr_inf_future(GPR_CLOCK_REALTIME)), t.clock_type);
  grpc::Timepoint2Timespec(system_clock::time_point::min(), &t);
  say("the earliest time", gpr_time_cmp(t, gpr_inf_past(GPR_CLOCK_REALTIME)), t.tv_sec < 0);
  grpc::Timepoint2Timespec(system_clock::time_point(), &t);
  say("the first time", t.tv_sec, t.tv_nsec, t.clock_type);
  grpc::TimepointHR2Timespec(std::chrono::high_resolution_clock::time_point::max(), &t);
  say("the latest time of another clock", gpr_time_cmp(t, gpr_inf_future(GPR_CLOCK_REALTIME)));
  say("no deadline as a time",
      grpc::Timespec2Timepoint(gpr_inf_future(GPR_CLOCK_REALTIME)) == system_clock::time_point::max(),
      grpc::Timespec2Timepoint(gpr_inf_future(GPR_CLOCK_MONOTONIC)) == system_clock::time_point::max());
  const auto soon = grpc::Timespec2Timepoint(
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_seconds(100, GPR_TIMESPAN)));
  say("a time of the other clock", soon - system_clock::now() > 50s, soon - system_clock::now() <= 100s);
}

// --- texts

void texts() {
  telling service;
  ends by(service);
  const auto debug = [](CallKinds::Stub& stub, const std::string& ask) {
    grpc::ClientContext context;
    const bool before = context.debug_error_string().empty();
    Reply reply;
    const auto s = stub.Unary(&context, query(ask), &reply);
    const std::string all = context.debug_error_string();
    return std::string(before ? "empty " : "full ") + (all.empty() ? "empty" : "full") +
           (all.find("no such reply") != all.npos ? " message" : "") +
           (all.find("grpc_status:" + std::to_string(s.error_code())) != all.npos ? " code" : "") +
           (all.find("grpc_message") != all.npos ? " name" : "");
  };
  const auto nowhere =
      CallKinds::NewStub(grpc::CreateChannel("127.0.0.1:1", grpc::InsecureChannelCredentials()));
  say("debug_error_string() of a call", debug(*by.stub, "x"));
  say("debug_error_string() of one that fails", debug(*by.stub, "error"));
  say("debug_error_string() of no server", debug(*nowhere, "x"));
  say("DebugString() of a token", grpc::AccessTokenCredentials("secret")->DebugString());
  say("DebugString() of IAM", grpc::GoogleIAMCredentials("token", "selector")->DebugString());
  say("DebugString() of two", grpc::CompositeCallCredentials(grpc::AccessTokenCredentials("secret"),
                                                             grpc::GoogleIAMCredentials("token", "selector"))
                                  ->DebugString());
  class plain final : public grpc::MetadataCredentialsPlugin {
    grpc::Status GetMetadata(grpc::string_ref, grpc::string_ref, const grpc::AuthContext&,
                             std::multimap<grpc::string, grpc::string>*) override {
      return grpc::Status::OK;
    }
  };
  class named final : public grpc::MetadataCredentialsPlugin {
    grpc::Status GetMetadata(grpc::string_ref, grpc::string_ref, const grpc::AuthContext&,
                             std::multimap<grpc::string, grpc::string>*) override {
      return grpc::Status::OK;
    }
    std::string DebugString() override { return "mine"; }
  };
  say("DebugString() of a plugin",
      grpc::MetadataCredentialsFromPlugin(std::make_unique<plain>())->DebugString(),
      grpc::MetadataCredentialsFromPlugin(std::make_unique<named>())->DebugString());
}

// --- interceptors

std::mutex& noting() {
  static auto& only = *new std::mutex;
  return only;
}
std::string noted;

std::string taken_notes() {
  const std::lock_guard lock(noting());
  return std::exchange(noted, "");
}

class noting_interceptor final : public grpc::experimental::Interceptor {
 public:
  explicit noting_interceptor(std::string name) : name_(std::move(name)) {}
  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    using point = grpc::experimental::InterceptionHookPoints;
    const auto note = [&](point p, const char* what) {
      if (!methods->QueryInterceptionHookPoint(p)) return;
      const std::lock_guard lock(noting());
      noted += name_ + what + " ";
    };
    note(point::PRE_SEND_INITIAL_METADATA, "initial");
    note(point::PRE_SEND_CANCEL, "cancel");
    note(point::PRE_SEND_STATUS, "status");
    note(point::POST_RECV_INITIAL_METADATA, "received");
    note(point::POST_RECV_MESSAGE, "message");
    note(point::POST_RECV_CLOSE, "close");
    note(point::POST_RECV_STATUS, "end");
    methods->Proceed();
  }

 private:
  const std::string name_;
};

struct client_factory final : grpc::experimental::ClientInterceptorFactoryInterface {
  grpc::experimental::Interceptor* CreateClientInterceptor(grpc::experimental::ClientRpcInfo* info) override {
    const std::lock_guard lock(noting());
    noted += std::string(info->method()) + "(" +
             (info->suffix_for_stats() ? info->suffix_for_stats() : "null") + ") ";
    return new noting_interceptor("");
  }
};
struct server_factory final : grpc::experimental::ServerInterceptorFactoryInterface {
  grpc::experimental::Interceptor* CreateServerInterceptor(grpc::experimental::ServerRpcInfo* info) override {
    const std::lock_guard lock(noting());
    noted += "[" + std::string(info->method()) + " " + std::to_string(static_cast<int>(info->type())) + "] ";
    return new noting_interceptor("s:");
  }
};

std::shared_ptr<grpc::Channel> intercepted(int port) {
  std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> factories;
  factories.push_back(std::make_unique<client_factory>());
  return grpc::experimental::CreateCustomChannelWithInterceptors(
      "127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials(), grpc::ChannelArguments(),
      std::move(factories));
}

void interceptors() {
  telling service;
  ends by(service);
  const auto channel = intercepted(by.port);
  const auto stub = CallKinds::NewStub(channel);
  {
    grpc::ClientContext context;
    context.TryCancel();
    Reply reply;
    const auto s = stub->Unary(&context, query("x"), &reply);
    say("a call that is cancelled before it begins", s.error_code(), taken_notes());
  }
  {
    grpc::ClientContext context;
    context.TryCancel();
    const auto stream = stub->BidiStream(&context);
    const auto s = stream->Finish();
    say("a stream that is cancelled before it begins", s.error_code(), taken_notes());
  }
  {
    grpc::ClientContext context;
    Reply reply;
    const auto with = CallKinds::NewStub(channel, grpc::StubOptions("suffix"));
    const auto s = with->Unary(&context, query("x"), &reply);
    say("suffix of a stub", s.error_code(), taken_notes());
  }
  {
    grpc::CompletionQueue queue;
    grpc::GenericStub generic(channel);
    grpc::ClientContext context;
    const grpc::Slice slice("", 0);
    const grpc::ByteBuffer request(&slice, 1);
    const auto call = generic.PrepareUnaryCall(&context, "/call_kinds.CallKinds/Unary", request, &queue);
    call->StartCall();
    grpc::ByteBuffer reply;
    grpc::Status s;
    call->Finish(&reply, &s, &queue);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    say("suffix of a generic call", s.error_code(), taken_notes());
  }
}

void unknown_methods() {
  telling service;
  for (const char* const path : {"/call_kinds.CallKinds/Unary", "/call_kinds.Unimplemented/Call"}) {
    ends by(service, [](grpc::ServerBuilder& builder) {
      std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> factories;
      factories.push_back(std::make_unique<server_factory>());
      builder.experimental().SetInterceptorCreators(std::move(factories));
    });
    grpc::ClientContext context;
    Reply reply;
    const auto s = grpc::internal::BlockingUnaryCall(
        by.channel.get(), grpc::internal::RpcMethod(path, grpc::internal::RpcMethod::NORMAL_RPC), &context,
        query("x"), &reply);
    by.server->Shutdown();
    say(std::string("interceptors of a server see of ") + path, s.error_code(), taken_notes());
  }
}

// --- what the builder refuses

void builders() {
  {
    CallKinds::WithGenericMethod_Unary<CallKinds::Service> service;
    int port = 0;
    const auto server = start_server(port, [&](grpc::ServerBuilder& b) { b.RegisterService(&service); });
    say("a generic method without a generic service", server ? "built" : "null");
  }
  {
    CallKinds::WithGenericMethod_Unary<CallKinds::Service> service;
    grpc::CallbackGenericService generic;
    int port = 0;
    const auto server = start_server(port, [&](grpc::ServerBuilder& b) {
      b.RegisterService(&service);
      b.RegisterCallbackGenericService(&generic);
    });
    say("a generic method with a generic service", server ? "built" : "null");
  }
  {
    grpc::ServerBuilder builder;
    say("a server without services and ports", builder.BuildAndStart() ? "built" : "null");
  }
  {
    CallKinds::WithAsyncMethod_Unary<CallKinds::Service> service;
    int port = 0;
    const auto server = start_server(port, [&](grpc::ServerBuilder& b) { b.RegisterService(&service); });
    say("a method of queues without a queue", server ? "built" : "null");
  }
}

// --- health

std::string health(grpc::Channel& channel, const std::string& service) {
  grpc::ClientContext context;
  standard_services::HealthRequest request;
  standard_services::HealthReply reply;
  request.set_service(service);
  const auto s = grpc::internal::BlockingUnaryCall(
      &channel,
      grpc::internal::RpcMethod("/grpc.health.v1.Health/Check", grpc::internal::RpcMethod::NORMAL_RPC),
      &context, request, &reply);
  return s.ok() ? "status " + std::to_string(reply.status()) : "code " + std::to_string(s.error_code());
}

void healths() {
  grpc::EnableDefaultHealthCheckService(true);
  telling service;
  ends by(service);
  auto& set = *by.server->GetHealthCheckService();
  const std::string at_the_limit(200, 'a');
  const std::string above(201, 'a');
  for (const std::string& name : {at_the_limit, above}) {
    set.SetServingStatus(name, true);
    say("health of a name of " + std::to_string(name.size()) + " bytes", health(*by.channel, name));
  }
  for (const std::string& name : {std::string(200, 'b'), std::string(201, 'b')})
    say("health of an unknown name of " + std::to_string(name.size()) + " bytes", health(*by.channel, name));
  set.Shutdown();
  set.SetServingStatus("late", true);
  set.SetServingStatus("later", false);
  say("health set after the end", health(*by.channel, "late"), health(*by.channel, "later"),
      health(*by.channel, ""), health(*by.channel, "never"));
  grpc::EnableDefaultHealthCheckService(false);
}

// --- credentials

class asking final : public grpc::MetadataCredentialsPlugin {
 public:
  explicit asking(bool blocks) : blocks_(blocks) {}
  bool IsBlocking() const override { return blocks_; }
  grpc::Status GetMetadata(grpc::string_ref url, grpc::string_ref method, const grpc::AuthContext& peer,
                           std::multimap<grpc::string, grpc::string>*) override {
    std::set<std::string> all;
    for (auto at = peer.begin(); at != peer.end(); ++at) all.insert(text((*at).first));
    const std::lock_guard lock(noting());
    noted += text(method) + " " + (text(url).find("https://") == 0 ? "https " : "other ") +
             (peer.IsPeerAuthenticated() ? "authenticated " : "anonymous ") +
             peer.GetPeerIdentityPropertyName();
    for (const std::string& name : all)
      if (name != "x509_subject") noted += " " + name;
    return grpc::Status::OK;
  }

 private:
  const bool blocks_;
};

void plugins() {
  telling service;
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs.push_back({file("server.key"), file("server.pem")});
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(options), &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  grpc::SslCredentialsOptions trusting;
  trusting.pem_root_certs = file("ca.pem");
  const auto channel =
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::SslCredentials(trusting));
  for (const bool blocks : {false, true}) {
    grpc::ClientContext context;
    context.set_credentials(grpc::MetadataCredentialsFromPlugin(std::make_unique<asking>(blocks)));
    Reply reply;
    const auto s = CallKinds::NewStub(channel)->Unary(&context, query("x"), &reply);
    say(std::string("a plugin is told of the server") + (blocks ? ", blocking" : ""), s.error_code(),
        taken_notes());
  }
}

void common_names() {
  telling service;
  const auto served = [&](const char* certificate, const char* name) {
    grpc::SslServerCredentialsOptions options;
    options.pem_key_cert_pairs.push_back(
        {file(std::string(certificate) + ".key"), file(std::string(certificate) + ".pem")});
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(options), &port);
    builder.RegisterService(&service);
    const auto server = builder.BuildAndStart();
    grpc::SslCredentialsOptions trusting;
    trusting.pem_root_certs = file("ca.pem");
    grpc::ChannelArguments arguments;
    arguments.SetSslTargetNameOverride(name);
    const auto channel = grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port),
                                                   grpc::SslCredentials(trusting), arguments);
    return told(*CallKinds::NewStub(channel), "x");
  };
  say("a certificate with a common name alone", served("nameless", "localhost"),
      served("nameless", "other.example"));
  say("the common name of a certificate with other names", served("other_server", "the other server"),
      served("other_server", "other.example"));
}

int run_alone(const std::string& certificates) {
  folder = certificates;
  handlers();
  values();
  texts();
  interceptors();
  unknown_methods();
  builders();
  healths();
  plugins();
  common_names();
  return 0;
}

const program entry("details", {{"alone", "CERTIFICATES", run_alone}});

}  // namespace
}  // namespace call_kinds::details
