// A program in the API of grpc++, compiled with both libraries: gRPC's standard services and extensions.
// A server with health, reflection, channelz and plugins; a client that prints what it sees as "case: what".
//
//   extensions_program server           prints its address, and serves until SIGTERM
//   extensions_program client PORT
//   extensions_program alone FOLDER     with the files of certificates.sh; both sides in one process
#include "call_kinds.grpc.pb.h"
#include "call_kinds_service.hpp"
#include "program_cases.hpp"
#include "standard_services.pb.h"

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/ext/channelz_service_plugin.h>
#include <grpcpp/ext/health_check_service_server_builder_option.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/channel_argument_option.h>
#include <grpcpp/impl/client_unary_call.h>
#include <grpcpp/impl/server_initializer.h>
#include <grpcpp/security/auth_metadata_processor.h>
#include <grpcpp/server_posix.h>

#include <fcntl.h>
#include <sys/socket.h>

#include <chrono>
#include <condition_variable>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace call_kinds::extensions {
namespace {

using namespace std::chrono_literals;
using grpc::internal::RpcMethod;

// --- health, reflection and channelz, by their names

const char* const health_check = "/grpc.health.v1.Health/Check";
const char* const health_watch = "/grpc.health.v1.Health/Watch";

std::string health(grpc::Channel& channel, const std::string& service) {
  grpc::ClientContext context;
  standard_services::HealthRequest request;
  standard_services::HealthReply reply;
  request.set_service(service);
  const auto s = grpc::internal::BlockingUnaryCall(&channel, RpcMethod(health_check, RpcMethod::NORMAL_RPC),
                                                   &context, request, &reply);
  return s.ok() ? "status " + std::to_string(reply.status()) : "code " + std::to_string(s.error_code());
}

class watch {
 public:
  watch(grpc::Channel& channel, const std::string& service) {
    standard_services::HealthRequest request;
    request.set_service(service);
    reader_.reset(grpc::internal::ClientReaderFactory<standard_services::HealthReply>::Create(
        &channel, RpcMethod(health_watch, RpcMethod::SERVER_STREAMING), &context_, request));
  }
  int next() {
    standard_services::HealthReply reply;
    return reader_->Read(&reply) ? reply.status() : -1;
  }
  grpc::StatusCode end() {
    context_.TryCancel();
    return reader_->Finish().error_code();
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<standard_services::HealthReply>> reader_;
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

std::string reflection(grpc::Channel& channel, const standard_services::ReflectionRequest& request) {
  grpc::ClientContext context;
  using stream =
      grpc::ClientReaderWriter<standard_services::ReflectionRequest, standard_services::ReflectionReply>;
  const std::unique_ptr<stream> asking(
      grpc::internal::ClientReaderWriterFactory<standard_services::ReflectionRequest,
                                                standard_services::ReflectionReply>::
          Create(&channel,
                 RpcMethod("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                           RpcMethod::BIDI_STREAMING),
                 &context));
  standard_services::ReflectionReply reply;
  if (!asking->Write(request) || !asking->Read(&reply)) return "nothing";
  asking->WritesDone();
  const auto s = asking->Finish();
  std::string all = "code " + std::to_string(s.error_code());
  std::set<std::string> names;
  for (const auto& service : reply.services().service())
    if (service.name().find("call_kinds.") == 0 ||
        service.name() == "grpc.reflection.v1alpha.ServerReflection")
      names.insert(service.name());
  for (const std::string& name : names) all += " " + name;
  if (reply.files().file_size() > 0) all += " files " + std::to_string(reply.files().file_size());
  if (reply.has_error()) all += " error " + std::to_string(reply.error().code());
  return all;
}

void reflections(grpc::Channel& channel) {
  standard_services::ReflectionRequest request;
  request.set_list_services("*");
  say("services by reflection", reflection(channel, request));
  request.Clear();
  request.set_file_containing_symbol("call_kinds.CallKinds");
  say("file by reflection", reflection(channel, request));
  request.set_file_containing_symbol("call_kinds.Nothing");
  say("no file by reflection", reflection(channel, request));
}

void servers(grpc::Channel& channel) {
  grpc::ClientContext context;
  standard_services::ServersReply reply;
  const auto s = grpc::internal::BlockingUnaryCall(
      &channel, RpcMethod("/grpc.channelz.v1.Channelz/GetServers", RpcMethod::NORMAL_RPC), &context,
      standard_services::ServersRequest(), &reply);
  say("servers by channelz", s.error_code(), reply.server_size(), reply.end());
}

// --- what a client's context tells

std::string without_port(const std::string& peer) { return peer.substr(0, peer.rfind(':')); }

std::string properties(const grpc::AuthContext& of) {
  std::set<std::string> sorted;
  for (auto at = of.begin(); at != of.end(); ++at) {
    const auto [name, value] = *at;
    if (name == "x509_subject") continue;  // which coracle::grpcpp does not have
    sorted.insert(text(name) + (value.size() < 40 ? "=" + text(value) : ""));
  }
  std::string all = of.IsPeerAuthenticated() ? "authenticated" : "anonymous";
  all += " " + of.GetPeerIdentityPropertyName();
  for (const std::string& property : sorted) all += " " + property;
  return all;
}

void contexts(const std::shared_ptr<grpc::Channel>& channel) {
  const auto stub = CallKinds::NewStub(channel);
  {
    grpc::ClientContext context;
    Reply reply;
    const auto s = stub->Unary(&context, query("x"), &reply);
    say("peer after a call", s.error_code(), without_port(context.peer()));
    say("identity of a server in plaintext", context.auth_context()->IsPeerAuthenticated(),
        context.auth_context()->GetPeerIdentity().size());
  }
  {
    grpc::ClientContext context;
    const auto reader = stub->ServerStream(&context, query("headers first", 1));
    reader->WaitForInitialMetadata();
    const std::string early = without_port(context.peer());
    Reply reply;
    while (reader->Read(&reply)) continue;
    const auto s = reader->Finish();
    say("peer of a stream", s.error_code(), early, without_port(context.peer()));
  }
  {
    grpc::ClientContext context;
    context.set_authority("other.example");
    Reply reply;
    say("another authority", stub->Unary(&context, query("x"), &reply).error_code());
  }
}

int run_client(const std::string& port) {
  const auto channel = channel_to(port);
  contexts(channel);
  healths(*channel);
  reflections(*channel);
  servers(*channel);
  return 0;
}

// --- one process

class unimplemented final : public Unimplemented::Service {
  grpc::Status Call(grpc::ServerContext*, const Query*, Reply* reply) override {
    reply->set_name("light");
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
    initializer->RegisterService(std::make_shared<unimplemented>());
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
    target = "127.0.0.1:" + std::to_string(port);
    channel = grpc::CreateChannel(target, grpc::InsecureChannelCredentials());
  }
  std::unique_ptr<grpc::Server> server;
  std::string target;
  std::shared_ptr<grpc::Channel> channel;
};

void plugins() {
  call_kinds_service service;
  const pair_of_ends ends(service, [](grpc::ServerBuilder& builder) {
    builder.SetOption(std::make_unique<noting_option>());
    builder.SetOption(grpc::MakeChannelArgumentOption("grpc.max_concurrent_streams", 10));
    builder.SetMaxReceiveMessageSize(1000);
  });
  say("order of plugins", events);
  grpc::ClientContext context;
  Reply reply;
  const auto s = Unimplemented::NewStub(ends.channel)->Call(&context, Query(), &reply);
  say("service of a plugin", s.error_code(), reply.name());
  grpc::ClientContext other;
  const auto large =
      CallKinds::NewStub(ends.channel)->Unary(&other, query("x", 0, std::string(500, 'x')), &reply);
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
  call_kinds_service service;
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

// --- calls on behalf of others

// Calls another service on behalf of its caller.
class relay final : public CallKinds::Service {
 public:
  explicit relay(std::unique_ptr<CallKinds::Stub> to) : to_(std::move(to)) {}
  grpc::Status Unary(grpc::ServerContext* context, const Query* query, Reply* reply) override {
    grpc::PropagationOptions options;
    if (query->load() == "no deadline") options.disable_deadline_propagation();
    if (query->load() == "no cancellation") options.disable_cancellation_propagation();
    auto child = grpc::ClientContext::FromServerContext(*context, options);
    if (query->number() > 0)
      child->set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(query->number()));
    if (query->load() == "left behind") {
      left_ = std::move(child);
      stream_ = to_->ServerStream(left_.get(), call_kinds::query("until cancelled", 1));
      stream_->Read(reply);
      return grpc::Status::OK;
    }
    if (query->load() == "told")
      reply->set_number(child->deadline() == std::chrono::system_clock::time_point::max());
    tell([&] { current_ = child.get(); });
    grpc::Status s;
    if (query->load() != "told") s = to_->Unary(child.get(), call_kinds::query(query->ask(), 7), reply);
    tell([&] { outcome_ = s; });
    return s;
  }
  void forget_the_last_call() {
    tell([&] {
      current_ = nullptr;
      outcome_.reset();
    });
  }
  // Each waits for the handler: until it makes its call, and until that has ended.
  grpc::ClientContext& current() {
    std::unique_lock lock(changing_);
    changed_.wait(lock, [&] { return current_ != nullptr; });
    return *current_;
  }
  grpc::Status outcome() {
    std::unique_lock lock(changing_);
    changed_.wait(lock, [&] { return outcome_.has_value(); });
    return *outcome_;
  }
  grpc::StatusCode end_of_what_was_left() {
    Reply reply;
    while (stream_->Read(&reply)) continue;
    return stream_->Finish().error_code();
  }

 private:
  template <class Change>
  void tell(Change&& change) {
    const std::lock_guard lock(changing_);
    change();
    changed_.notify_all();
  }
  std::mutex changing_;
  std::condition_variable changed_;
  grpc::ClientContext* current_ = nullptr;
  std::optional<grpc::Status> outcome_;
  std::unique_ptr<CallKinds::Stub> to_;
  std::unique_ptr<grpc::ClientContext> left_;
  std::unique_ptr<grpc::ClientReader<Reply>> stream_;
};

void propagation() {
  call_kinds_service behind;
  const pair_of_ends inner(behind, [](grpc::ServerBuilder&) {});
  relay between(CallKinds::NewStub(inner.channel));
  const pair_of_ends outer(between, [](grpc::ServerBuilder&) {});
  const auto stub = CallKinds::NewStub(outer.channel);
  const auto find = [&](const Query& query, int deadline_s) {
    grpc::ClientContext context;
    if (deadline_s > 0)
      context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(deadline_s));
    Reply reply;
    const auto s = stub->Unary(&context, query, &reply);
    return std::to_string(s.error_code()) + " " + std::to_string(reply.number());
  };
  say("deadline of the caller", find(query("deadline"), 100));
  say("no deadline of the caller", find(query("deadline"), 0));
  say("deadline not propagated", find(query("deadline", 0, "no deadline"), 100));
  say("earlier deadline of one's own", find(query("deadline", 50'000), 100));
  say("later deadline of one's own", find(query("deadline", 200'000), 100));
  say("deadline that the context tells", find(query("", 0, "told"), 100));
  const auto cancelled = [&](const Query& query, bool propagates) {
    between.forget_the_last_call();
    grpc::ClientContext context;
    Reply reply;
    grpc::Status s;
    std::thread calling([&] { s = stub->Unary(&context, query, &reply); });
    const auto wait_for_the_inner_handler = [&] {
      grpc::ClientContext other;
      Reply none;
      CallKinds::NewStub(inner.channel)->Unary(&other, call_kinds::query("when another waits"), &none);
    };
    grpc::ClientContext& inner_call = between.current();
    wait_for_the_inner_handler();
    context.TryCancel();
    calling.join();
    if (!propagates) {
      wait_for_the_inner_handler();  // which still waits
      inner_call.TryCancel();
    }
    return std::to_string(s.error_code()) + " " + std::to_string(between.outcome().error_code());
  };
  say("cancellation of the caller", cancelled(query("wait for cancel"), true));
  say("cancellation not propagated", cancelled(query("wait for cancel", 0, "no cancellation"), false));
  const std::string of_parent = find(query("", 5'000, "left behind"), 0);
  say("a call left behind", of_parent, between.end_of_what_was_left());
}

// --- calls that are authenticated by their metadata

std::string folder;  // of certificates

std::string file(const std::string& name) {
  std::ifstream from(folder + "/" + name, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(from), {});
}

class processor final : public grpc::AuthMetadataProcessor {
 public:
  explicit processor(bool blocks) : blocks_(blocks) {}
  bool IsBlocking() const override { return blocks_; }
  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* context, OutputMetadata* consumed,
                       OutputMetadata* response) override {
    const auto path = metadata.find(":path");
    if (path != metadata.end() && text(path->second).find("Health") != std::string::npos)
      return grpc::Status::OK;
    const auto found = metadata.find("x-token");
    if (found == metadata.end()) return grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "no token");
    if (found->second == "bad") return grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "not you");
    consumed->emplace("x-token", text(found->second));
    response->emplace("x-response", "1");
    context->AddProperty("user", "ada");
    context->SetPeerIdentityPropertyName("user");
    return grpc::Status::OK;
  }

 private:
  const bool blocks_;
};

class identity final : public CallKinds::Service {
 public:
  grpc::Status Unary(grpc::ServerContext* context, const Query*, Reply* reply) override {
    std::string all = context->client_metadata().count("x-token") > 0 ? "token " : "no-token ";
    if (context->client_metadata().count("x-other") > 0) all += "other ";
    all += context->auth_context()->IsPeerAuthenticated() ? "known " : "anonymous ";
    for (const auto& value : context->auth_context()->GetPeerIdentity()) all += text(value);
    reply->set_name(all);
    return grpc::Status::OK;
  }
};

void processors() {
  identity service;
  for (const bool blocks : {true, false}) {
    grpc::SslServerCredentialsOptions options;
    options.pem_key_cert_pairs.push_back({file("server.key"), file("server.pem")});
    const auto credentials = grpc::SslServerCredentials(options);
    credentials->SetAuthMetadataProcessor(std::make_shared<processor>(blocks));
    grpc::EnableDefaultHealthCheckService(true);
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", credentials, &port);
    builder.RegisterService(&service);
    const auto server = builder.BuildAndStart();
    grpc::EnableDefaultHealthCheckService(false);
    grpc::SslCredentialsOptions trusting;
    trusting.pem_root_certs = file("ca.pem");
    const auto channel =
        grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::SslCredentials(trusting));
    const auto stub = CallKinds::NewStub(channel);
    const auto find = [&](const std::string& token) {
      grpc::ClientContext context;
      if (!token.empty()) context.AddMetadata("x-token", token);
      context.AddMetadata("x-other", "1");
      Reply reply;
      const auto s = stub->Unary(&context, query(""), &reply);
      return std::to_string(s.error_code()) + " " + s.error_message() + reply.name() +
             (context.GetServerInitialMetadata().count("x-response") > 0 ? " response" : "");
    };
    const std::string how = blocks ? " by a processor that blocks" : " by a processor";
    say("token accepted" + how, find("good"));
    say("no token" + how, find(""));
    say("token rejected" + how, find("bad"));
    say("health" + how, health(*channel, ""));
    if (blocks) continue;
    grpc::ClientContext context;
    context.AddMetadata("x-token", "good");
    Reply reply;
    stub->Unary(&context, query(""), &reply);
    say("identity of a server", properties(*context.auth_context()));
  }
}

// --- channels and servers from a file descriptor

void descriptors() {
  call_kinds_service service;
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();  // which has no port
  int ends[2];
  ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
  for (const int end : ends) ::fcntl(end, F_SETFL, O_NONBLOCK);
  grpc::AddInsecureChannelFromFd(server.get(), ends[0]);
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(1000);
  const auto channel = grpc::CreateCustomInsecureChannelFromFd("anything", ends[1], arguments);
  const auto stub = CallKinds::NewStub(channel);
  const auto find = [&](const std::string& ask, int number) {
    grpc::ClientContext context;
    Reply reply;
    const auto s = stub->Unary(&context, query(ask, number), &reply);
    return std::to_string(s.error_code()) + " " + reply.name();
  };
  const std::string first = find("hello", 0);
  const std::string second = find("again", 0);
  say("calls through a descriptor", first, second);
  say("limit of a channel from a descriptor", find("large", 2000));
  server->Shutdown();
  say("calls after the end of a descriptor's server", find("hello", 0));
}

// --- arguments and ports that are said twice

void ports() {
  call_kinds_service service;
  grpc::ServerBuilder builder;
  int chosen[2] = {};
  for (int& port : chosen) builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  std::string seen;
  for (const int port : chosen) {
    const auto channel =
        grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials());
    grpc::ClientContext context;
    Reply reply;
    seen +=
        std::to_string(CallKinds::NewStub(channel)->Unary(&context, query("x"), &reply).error_code()) + " ";
  }
  say("two ports", seen, chosen[0] != chosen[1]);
}

void names_said_twice() {
  call_kinds_service service;
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs.push_back({file("server.key"), file("server.pem")});
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(options), &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  grpc::SslCredentialsOptions trusting;
  trusting.pem_root_certs = file("ca.pem");
  std::string seen;
  for (const auto& names : {std::vector<const char*>{"localhost", "elsewhere.example"},
                            std::vector<const char*>{"elsewhere.example", "localhost"}}) {
    grpc::ChannelArguments arguments;
    for (const char* const name : names) arguments.SetSslTargetNameOverride(name);
    const auto channel = grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port),
                                                   grpc::SslCredentials(trusting), arguments);
    grpc::ClientContext context;
    Reply reply;
    seen +=
        std::to_string(CallKinds::NewStub(channel)->Unary(&context, query("x"), &reply).error_code()) + " ";
  }
  say("target names that are said twice", seen);
  seen.clear();
  for (const bool small_first : {true, false}) {
    grpc::ChannelArguments arguments;
    for (const bool small : {small_first, !small_first})
      arguments.SetMaxReceiveMessageSize(small ? 1000 : 4000);
    const auto channel = grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port),
                                                   grpc::SslCredentials(trusting), arguments);
    grpc::ClientContext context;
    Reply reply;
    seen += std::to_string(
                CallKinds::NewStub(channel)->Unary(&context, query("large", 2000), &reply).error_code()) +
            " ";
  }
  say("limits that are said twice", seen);
}

// Answers with the number of bytes that it got.
class measure final : public CallKinds::Service {
  grpc::Status Unary(grpc::ServerContext* context, const Query* query, Reply* reply) override {
    reply->set_number(static_cast<int>(query->load().size()));
    const auto agent = context->client_metadata().find("user-agent");
    if (agent == context->client_metadata().end()) return grpc::Status::OK;
    const std::string name = text(agent->second);
    reply->set_name(name.substr(0, name.find("grpc")));
    return grpc::Status::OK;
  }
};

void arguments_said_twice() {
  measure service;
  const auto of = [&](auto prepare) {
    const pair_of_ends ends(service, prepare);
    grpc::ClientContext context;
    Reply reply;
    return std::to_string(CallKinds::NewStub(ends.channel)
                              ->Unary(&context, query("x", 0, std::string(500, 'x')), &reply)
                              .error_code());
  };
  const char* const limit = GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH;
  const std::string small_first = of([&](grpc::ServerBuilder& b) {
    b.AddChannelArgument(limit, 100);
    b.AddChannelArgument(limit, 1000);
  });
  const std::string large_first = of([&](grpc::ServerBuilder& b) {
    b.AddChannelArgument(limit, 1000);
    b.AddChannelArgument(limit, 100);
  });
  say("arguments of a server that are said twice", small_first, large_first);
  const std::string small_option = of([&](grpc::ServerBuilder& b) {
    b.SetMaxReceiveMessageSize(1000);
    b.AddChannelArgument(limit, 100);
  });
  const std::string large_option = of([&](grpc::ServerBuilder& b) {
    b.SetMaxReceiveMessageSize(100);
    b.AddChannelArgument(limit, 1000);
  });
  say("an argument and a function", small_option, large_option);
  const std::string twice = of([&](grpc::ServerBuilder& b) {
    b.SetMaxReceiveMessageSize(100);
    b.SetMaxReceiveMessageSize(1000);
  });
  say("a function that is called twice", twice);
  const pair_of_ends ends(service, [](grpc::ServerBuilder&) {});
  grpc::ChannelArguments arguments;
  arguments.SetUserAgentPrefix("first");
  arguments.SetUserAgentPrefix("second");
  grpc::ClientContext context;
  Reply reply;
  const auto channel = grpc::CreateCustomChannel(ends.target, grpc::InsecureChannelCredentials(), arguments);
  const auto s = CallKinds::NewStub(channel)->Unary(&context, query("x"), &reply);
  say("prefixes of the user agent", s.error_code(), reply.name());
}

int run_alone(const std::string& certificates) {
  folder = certificates;
  descriptors();
  ports();
  names_said_twice();
  arguments_said_twice();
  propagation();
  processors();
  plugins();
  own_healths();
  return 0;
}

int run_server() {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::channelz::experimental::InitChannelzService();
  call_kinds_service service;
  return serve_until_sigterm([&](grpc::ServerBuilder& builder) { builder.RegisterService(&service); },
                             [](grpc::Server& server) {
                               auto& set = *server.GetHealthCheckService();
                               set.SetServingStatus("shipyard", true);
                               set.SetServingStatus("closed", false);
                             });
}

const program entry("extensions", {{"server", run_server},
                                   {"client", "PORT", run_client},
                                   {"alone", "CERTIFICATES", run_alone}});

}  // namespace
}  // namespace call_kinds::extensions
