// A program in the API of grpc++, compiled with both libraries: what is around the calls. A server with
// health, reflection, channelz and plugins, and a client that prints what it sees as "case: what".
//
//   around_program server           prints its address, and serves until SIGTERM
//   around_program client PORT
//   around_program alone            both sides in one process
#include "around.pb.h"
#include "harbour.grpc.pb.h"
#include "harbour_service.hpp"
#include "program_cases.hpp"

#include <grpcpp/ext/channelz_service_plugin.h>
#include <grpcpp/ext/health_check_service_server_builder_option.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/channel_argument_option.h>
#include <grpcpp/impl/client_unary_call.h>
#include <grpcpp/impl/server_initializer.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using grpc::internal::RpcMethod;
using harbour::Harbour;
using harbour::Lighthouse;
using harbour::say;
using harbour::Ship;

// --- health, reflection and channelz, by their names

const char* const health_check = "/grpc.health.v1.Health/Check";
const char* const health_watch = "/grpc.health.v1.Health/Watch";

std::string health(grpc::Channel& channel, const std::string& service) {
  grpc::ClientContext context;
  around::HealthRequest request;
  around::HealthReply reply;
  request.set_service(service);
  const auto s = grpc::internal::BlockingUnaryCall(&channel, RpcMethod(health_check, RpcMethod::NORMAL_RPC),
                                                   &context, request, &reply);
  return s.ok() ? "status " + std::to_string(reply.status()) : "code " + std::to_string(s.error_code());
}

class watch {
 public:
  watch(grpc::Channel& channel, const std::string& service) {
    around::HealthRequest request;
    request.set_service(service);
    reader_.reset(grpc::internal::ClientReaderFactory<around::HealthReply>::Create(
        &channel, RpcMethod(health_watch, RpcMethod::SERVER_STREAMING), &context_, request));
  }
  int next() {
    around::HealthReply reply;
    return reader_->Read(&reply) ? reply.status() : -1;
  }
  grpc::StatusCode end() {
    context_.TryCancel();
    return reader_->Finish().error_code();
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<around::HealthReply>> reader_;
};

void healths(grpc::Channel& channel) {
  say("health of the server", health(channel, ""));
  say("health of a service that was set", health(channel, "shipyard"));
  say("health of a service that does not serve", health(channel, "closed"));
  say("health of an unknown service", health(channel, "nowhere"));
  watch unknown(channel, "nowhere");
  const int of_unknown = unknown.next();
  say("health watched", watch(channel, "").next(), watch(channel, "closed").next(), of_unknown,
      unknown.end());
}

std::string reflection(grpc::Channel& channel, const around::ReflectionRequest& request) {
  grpc::ClientContext context;
  using stream = grpc::ClientReaderWriter<around::ReflectionRequest, around::ReflectionReply>;
  const std::unique_ptr<stream> asking(
      grpc::internal::ClientReaderWriterFactory<around::ReflectionRequest, around::ReflectionReply>::Create(
          &channel,
          RpcMethod("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                    RpcMethod::BIDI_STREAMING),
          &context));
  around::ReflectionReply reply;
  if (!asking->Write(request) || !asking->Read(&reply)) return "nothing";
  asking->WritesDone();
  const auto s = asking->Finish();
  std::string all = "code " + std::to_string(s.error_code());
  std::set<std::string> names;
  for (const auto& service : reply.services().service())
    if (service.name().find("harbour.") == 0 || service.name() == "grpc.reflection.v1alpha.ServerReflection")
      names.insert(service.name());
  for (const std::string& name : names) all += " " + name;
  if (reply.files().file_size() > 0) all += " files " + std::to_string(reply.files().file_size());
  if (reply.has_error()) all += " error " + std::to_string(reply.error().code());
  return all;
}

void reflections(grpc::Channel& channel) {
  around::ReflectionRequest request;
  request.set_list_services("*");
  say("services by reflection", reflection(channel, request));
  request.Clear();
  request.set_file_containing_symbol("harbour.Harbour");
  say("file by reflection", reflection(channel, request));
  request.set_file_containing_symbol("harbour.Nothing");
  say("no file by reflection", reflection(channel, request));
}

void servers(grpc::Channel& channel) {
  grpc::ClientContext context;
  around::ServersReply reply;
  const auto s = grpc::internal::BlockingUnaryCall(
      &channel, RpcMethod("/grpc.channelz.v1.Channelz/GetServers", RpcMethod::NORMAL_RPC), &context,
      around::ServersRequest(), &reply);
  say("servers by channelz", s.error_code(), reply.server_size(), reply.end());
}

int run_client(const std::string& target) {
  const auto channel = grpc::CreateChannel(target, grpc::InsecureChannelCredentials());
  healths(*channel);
  reflections(*channel);
  servers(*channel);
  return 0;
}

// --- one process

class lighthouse final : public Lighthouse::Service {
  grpc::Status Shine(grpc::ServerContext*, const harbour::Query*, Ship* ship) override {
    ship->set_name("light");
    return grpc::Status::OK;
  }
};

std::string events;

class noting_plugin final : public grpc::ServerBuilderPlugin {
 public:
  std::string name() override { return "noting"; }
  void UpdateServerBuilder(grpc::ServerBuilder*) override { events += "builder "; }
  void InitServer(grpc::ServerInitializer* initializer) override {
    events += "init(" + initializer->GetServiceList()->front() + ") ";
    initializer->RegisterService(std::make_shared<lighthouse>());
  }
  void Finish(grpc::ServerInitializer* initializer) override {
    events += "finish(" + initializer->GetServiceList()->back() + ") ";
  }
  void ChangeArguments(const std::string&, void*) override { events += "changed "; }
  void UpdateChannelArguments(grpc::ChannelArguments*) override { events += "arguments "; }
  bool has_sync_methods() const override { return true; }
};

class noting_option final : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments* arguments) override {
    events += "option ";
    arguments->SetInt(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, 100);
  }
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    events += "plugins(" + std::to_string(plugins->size()) + ") ";
    plugins->push_back(std::make_unique<noting_plugin>());
  }
};

// A server on a port of its own, and a channel to it.
struct pair_of_ends {
  template <class Prepare>
  explicit pair_of_ends(grpc::Service& service, Prepare prepare) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service);
    prepare(builder);
    server = builder.BuildAndStart();
    channel = grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials());
  }
  std::unique_ptr<grpc::Server> server;
  std::shared_ptr<grpc::Channel> channel;
};

void plugins() {
  harbour::harbour_service service;
  const pair_of_ends ends(service, [](grpc::ServerBuilder& builder) {
    builder.SetOption(std::make_unique<noting_option>());
    builder.SetOption(grpc::MakeChannelArgumentOption("grpc.max_concurrent_streams", 10));
    builder.SetMaxReceiveMessageSize(1000);
  });
  say("order of plugins", events);
  grpc::ClientContext context;
  Ship ship;
  const auto s = Lighthouse::NewStub(ends.channel)->Shine(&context, harbour::Query(), &ship);
  say("service of a plugin", s.error_code(), ship.name());
  grpc::ClientContext other;
  const auto large =
      Harbour::NewStub(ends.channel)->Find(&other, harbour::query("x", 0, std::string(500, 'x')), &ship);
  say("limit of an option", large.error_code());
}

class own_health final : public grpc::HealthCheckServiceInterface {
 public:
  void SetServingStatus(const std::string& name, bool serving) override {
    events += name + (serving ? "+ " : "- ");
  }
  void SetServingStatus(bool serving) override { events += serving ? "all+ " : "all- "; }
  void Shutdown() override { events += "shutdown "; }
  ~own_health() override { events += "destroyed "; }
};

void own_healths() {
  harbour::harbour_service service;
  const auto of = [&](auto prepare) {
    pair_of_ends ends(service, prepare);
    const bool has = ends.server->GetHealthCheckService() != nullptr;
    if (has) ends.server->GetHealthCheckService()->SetServingStatus("a", true);
    const std::string seen = (has ? "has " : "none ") + health(*ends.channel, "");
    ends.server->Shutdown();
    return seen;
  };
  const auto nothing = [](grpc::ServerBuilder&) {};
  const auto null = [](grpc::ServerBuilder& b) {
    b.SetOption(std::make_unique<grpc::HealthCheckServiceServerBuilderOption>(nullptr));
  };
  events.clear();
  const auto own = [](grpc::ServerBuilder& b) {
    b.SetOption(
        std::make_unique<grpc::HealthCheckServiceServerBuilderOption>(std::make_unique<own_health>()));
  };
  say("health by default", of(nothing));
  grpc::EnableDefaultHealthCheckService(true);
  say("health enabled", grpc::DefaultHealthCheckServiceEnabled(), of(nothing));
  say("health with a null option", of(null));
  const std::string seen = of(own);
  say("health of the program", seen, events);
  {
    pair_of_ends ends(service, nothing);
    auto& set = *ends.server->GetHealthCheckService();
    watch watching(*ends.channel, "s");
    const int at_first = watching.next();
    set.SetServingStatus("s", true);
    const int then = watching.next();
    set.SetServingStatus(false);
    const int later = watching.next();
    say("health changes", at_first, then, later, health(*ends.channel, ""));
    set.SetServingStatus(true);
    const int again = watching.next();
    set.Shutdown();
    const int shut = watching.next();
    set.SetServingStatus("s", true);
    set.SetServingStatus(true);
    say("health shut down", again, shut, health(*ends.channel, "s"), health(*ends.channel, ""));
  }
  grpc::EnableDefaultHealthCheckService(false);
}

int run_alone() {
  plugins();
  own_healths();
  return 0;
}

int run_server() {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::channelz::experimental::InitChannelzService();
  harbour::harbour_service service;
  return harbour::serve_until_sigterm(
      [&](grpc::ServerBuilder& builder) { builder.RegisterService(&service); },
      [](grpc::Server& server) {
        auto& set = *server.GetHealthCheckService();
        set.SetServingStatus("shipyard", true);
        set.SetServingStatus("closed", false);
      });
}

}  // namespace

int main(int count, char** words) {
  std::cout << std::boolalpha;
  const std::string mode = count > 1 ? words[1] : "";
  if (mode == "server") return run_server();
  if (mode == "client" && count == 3) return run_client(std::string("127.0.0.1:") + words[2]);
  if (mode == "alone") return run_alone();
  std::cerr << "usage: around_program server | client PORT | alone\n";
  return 2;
}
