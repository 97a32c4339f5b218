// Clients and servers in the API of grpc++, where tests/interop/grpcpp_relinked_test.py does not look.
#include "call_kinds_fixture.hpp"
#include "call_kinds_mock.grpc.pb.h"
#include "notification.hpp"
#include "support/certificates.hpp"

#include <grpcpp/ext/admin_services.h>
#include <grpcpp/impl/client_unary_call.h>

#include "coracle/client.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/client/sync_wait.hpp"
#include "coracle/services/health_service.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace coracle::testing_support::grpcpp_test {
namespace {

using namespace std::chrono_literals;
using call_kinds::CallKinds;
using call_kinds::Note;
using call_kinds::notification;
using call_kinds::Position;
using call_kinds::Query;
using call_kinds::Reply;
using call_kinds::Summary;
using grpc::StatusCode;
using std::chrono::system_clock;

class GrpcppCalls : public call_kinds_fixture<> {};

TEST_F(GrpcppCalls, ACallBringsWhatTheHandlerSays) {
  start();
  Reply reply;
  EXPECT_TRUE(find(query_of("hello", 7), reply).ok());
  EXPECT_EQ(reply.name(), "hello");
  EXPECT_EQ(reply.number(), 7);
}

TEST_F(GrpcppCalls, ManyThreadsCallThroughOneStub) {
  start();
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        Reply reply;
        if (find(query_of("x", t * 100 + i), reply).ok() && reply.number() == t * 100 + i) ++right;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, 400);
}

TEST_F(GrpcppCalls, TheLimitsOfAChannelAndOfAServerHold) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(1000);
  start([](grpc::ServerBuilder& b) { b.SetMaxReceiveMessageSize(2000); }, grpc::InsecureServerCredentials(),
        grpc::InsecureChannelCredentials(), arguments);
  Reply reply;
  EXPECT_EQ(find(query_of("large", 1001), reply).error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(find(query_of("length", 0, std::string(1500, 'x')), reply).error_code(), StatusCode::OK);
  EXPECT_EQ(find(query_of("length", 0, std::string(2001, 'x')), reply).error_code(),
            StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(GrpcppCalls, InvalidMetadataFailsTheCallBeforeItIsSent) {
  start();
  Reply reply;
  const auto s = find(query_of("x"), reply, [](grpc::ClientContext& c) { c.AddMetadata("Upper", "1"); });
  EXPECT_EQ(s.error_code(), StatusCode::INTERNAL);
  EXPECT_THAT(s.error_message(), ::testing::HasSubstr("'Upper'"));
  grpc::ClientContext context;
  context.AddMetadata("sp ace", "1");
  const auto reader = stub->ServerStream(&context, query_of("", 1));
  EXPECT_FALSE(reader->Read(&reply));
  EXPECT_EQ(reader->Finish().error_code(), StatusCode::INTERNAL);
  EXPECT_THAT(context.debug_error_string(), ::testing::HasSubstr("'sp ace'"));
  EXPECT_THAT(context.debug_error_string(),
              ::testing::ContainsRegex("created_time:\"[0-9-]+T[0-9:.]+\\+00:00\"}$"));
}

TEST_F(GrpcppCalls, AChannelWithInvalidOptionsFailsItsCalls) {
  start();
  Reply reply;
  stub = CallKinds::NewStub(grpc::CreateChannel("127.0.0.1:1", nullptr));
  EXPECT_EQ(find(query_of("x"), reply).error_code(), StatusCode::INVALID_ARGUMENT);
  grpc::ChannelArguments arguments;
  arguments.SetServiceConfigJSON("{");
  connect(grpc::InsecureChannelCredentials(), arguments);
  EXPECT_EQ(find(query_of("x"), reply).error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(channel->GetState(true), GRPC_CHANNEL_TRANSIENT_FAILURE);
}

// What a program does not link is not there; grpcpp_xds_test.py has programs that do.
TEST_F(GrpcppCalls, ATargetOfXdsNamesTheLibraryThatItNeeds) {
  for (const char* target : {"xds:///shop", "XDS://authority/shop"}) {
    channel = grpc::CreateChannel(target, grpc::InsecureChannelCredentials());
    stub = CallKinds::NewStub(channel);
    Reply reply;
    const grpc::Status s = find(query_of("x"), reply);
    EXPECT_EQ(s.error_code(), StatusCode::UNAVAILABLE);
    EXPECT_EQ(s.error_message(), "the program has no xDS, which the target " + std::string(target) +
                                     " needs: link coracle::grpcpp_xds beside coracle::grpcpp");
    EXPECT_EQ(channel->GetState(false), GRPC_CHANNEL_TRANSIENT_FAILURE);
  }
}

TEST_F(GrpcppCalls, AdminServicesAreChannelzAlone) {
  grpc::ServerBuilder builder;
  grpc::AddAdminServices(&builder);
  const auto built = builder.BuildAndStart();
  ASSERT_NE(built, nullptr);
  EXPECT_NE(builder.BuildAndStart(), nullptr);
  const auto code_of = [&](const char* path) {
    grpc::ClientContext context;
    const grpc::Slice nothing("");
    const grpc::ByteBuffer request(&nothing, 1);
    grpc::ByteBuffer reply;
    return grpc::internal::BlockingUnaryCall(
               built->InProcessChannel({}).get(),
               grpc::internal::RpcMethod(path, grpc::internal::RpcMethod::NORMAL_RPC), &context, request,
               &reply)
        .error_code();
  };
  EXPECT_EQ(code_of("/grpc.channelz.v1.Channelz/GetServers"), StatusCode::OK);
  EXPECT_EQ(code_of("/envoy.service.status.v3.ClientStatusDiscoveryService/FetchClientStatus"),
            StatusCode::UNIMPLEMENTED);
}

// A program that waits for a connection must learn that there will be none.
TEST_F(GrpcppCalls, AChannelThatCannotConnectHasFailedFromTheStart) {
  for (const char* target : {"ipv4:nonsense", "dns:///", "unix:", "bad:///", ""}) {
    const auto of = grpc::CreateChannel(target, grpc::InsecureChannelCredentials());
    EXPECT_EQ(of->GetState(false), GRPC_CHANNEL_TRANSIENT_FAILURE) << target;
    EXPECT_EQ(of->GetState(true), GRPC_CHANNEL_TRANSIENT_FAILURE) << target;
    const auto soon = [] { return system_clock::now() + std::chrono::milliseconds(20); };
    EXPECT_TRUE(of->WaitForStateChange(GRPC_CHANNEL_IDLE, soon())) << target;
    const auto deadline = soon();
    EXPECT_FALSE(of->WaitForStateChange(GRPC_CHANNEL_TRANSIENT_FAILURE, deadline)) << target;
    EXPECT_GE(system_clock::now(), deadline) << target;
    EXPECT_FALSE(of->WaitForConnected(soon())) << target;
    grpc::CompletionQueue queue;
    void* tag = nullptr;
    bool changed = true;
    of->NotifyOnStateChange(GRPC_CHANNEL_TRANSIENT_FAILURE, soon(), &queue, &tag);
    ASSERT_TRUE(queue.Next(&tag, &changed)) << target;
    EXPECT_FALSE(changed) << target;
    of->NotifyOnStateChange(GRPC_CHANNEL_IDLE, soon(), &queue, &tag);
    ASSERT_TRUE(queue.Next(&tag, &changed)) << target;
    EXPECT_TRUE(changed) << target;
  }
}

TEST_F(GrpcppCalls, ACancelledCallHasTheWordOfTheOriginal) {
  start();
  Reply reply;
  const auto early = [](grpc::ClientContext& c) { c.TryCancel(); };
  EXPECT_EQ(find(query_of("x"), reply, early).error_message(), "CANCELLED");
  std::thread cancelling;
  const auto late = [&](grpc::ClientContext& c) {
    cancelling = std::thread([&] {
      Reply other;
      EXPECT_TRUE(find(query_of("when another waits"), other).ok());  // the handler runs
      c.TryCancel();
    });
  };
  EXPECT_EQ(find(query_of("wait for cancel"), reply, late).error_message(), "CANCELLED");
  cancelling.join();
}

TEST_F(GrpcppCalls, TheServiceConfigOfAChannelApplies) {
  grpc::ChannelArguments arguments;
  arguments.SetServiceConfigJSON(
      R"({"methodConfig":[{"name":[{"service":"call_kinds.CallKinds"}],"timeout":"0.05s"}]})");
  arguments.SetLoadBalancingPolicyName("round_robin");
  arguments.SetUserAgentPrefix("mine/1");
  arguments.SetInt("grpc.no_such_argument", 1);
  start([](grpc::ServerBuilder&) {}, grpc::InsecureServerCredentials(), grpc::InsecureChannelCredentials(),
        arguments);
  Reply reply;
  EXPECT_EQ(find(query_of("wait for cancel"), reply).error_code(), StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(GrpcppCalls, ACallThatNothingFinishesEndsWithItsContext) {
  start();
  Reply reply;
  {
    grpc::ClientContext context;
    const auto reader = stub->ServerStream(&context, query_of("until cancelled", 1));
    EXPECT_TRUE(reader->Read(&reply));
  }
  server->Shutdown();  // waits for the handler
  EXPECT_TRUE(service.cancelled_writes_ended);
}

// --- objects in static storage, which end after main() with a stream in progress

enum part { of_server, of_channel, of_reader, of_context };  // the context of a call outlives its reader

struct at_exit {
  std::function<void()> end;
  ~at_exit() {
    if (end) end();
  }
};
// Objects that are constructed in the order of the first calls, and destroyed in the opposite order.
template <int N>
at_exit& slot() {
  static at_exit one;
  return one;
}

// Ends the process, whose objects are destroyed in this order, before or after those that the library itself
// has in static storage.
[[noreturn]] void exit_with_objects(const std::vector<part>& order, bool before_the_librarys) {
  const auto prepare = [] { return std::vector<at_exit*>{&slot<3>(), &slot<2>(), &slot<1>(), &slot<0>()}; };
  if (!before_the_librarys) prepare();
  auto* const service = new call_kinds::call_kinds_service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(service);
  auto* const server = builder.BuildAndStart().release();
  auto channel = grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials());
  std::shared_ptr<call_kinds::CallKinds::Stub> stub = call_kinds::CallKinds::NewStub(channel);
  auto* const context = new grpc::ClientContext;
  auto* const reader = stub->ServerStream(context, query_of("until cancelled", 1)).release();
  Reply reply;
  if (!reader->Read(&reply)) std::_Exit(3);
  const std::vector<at_exit*> slots = prepare();
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::function<void()>& end = slots[slots.size() - 1 - i]->end;
    switch (order[i]) {
      case of_server:
        end = [=] {
          server->Shutdown(std::chrono::system_clock::now());
          delete server;
          delete service;
        };
        break;
      case of_channel:
        end = [held = std::move(channel), called = std::move(stub)]() mutable {
          called.reset();
          held.reset();
        };
        break;
      case of_reader: end = [=] { delete reader; }; break;
      case of_context: end = [=] { delete context; }; break;
    }
  }
  std::exit(0);
}

TEST(GrpcppDeathTest, ObjectsInStaticStorageEndInAnyOrder) {
  const std::string style = GTEST_FLAG_GET(death_test_style);
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process, in which no call was made
  std::vector<part> order{of_server, of_channel, of_reader, of_context};
  int orders = 0;
  do {
    const auto at = [&](part which) { return std::find(order.begin(), order.end(), which); };
    if (at(of_context) < at(of_reader)) continue;
    for (const bool before : {false, true}) {
      EXPECT_EXIT(exit_with_objects(order, before), ::testing::ExitedWithCode(0), "^$")
          << order[0] << order[1] << order[2] << order[3];
      ++orders;
    }
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(orders, 24);
  GTEST_FLAG_SET(death_test_style, style);
}

TEST_F(GrpcppCalls, AChildOfForkCannotUseTheChannelsOfItsParent) {
  start();
  Reply reply;
  ASSERT_TRUE(find(query_of("x"), reply).ok());
  const pid_t child = ::fork();
  if (child == 0) {
    const auto s = find(query_of("x"), reply);
    ::_exit(s.error_code() == StatusCode::UNAVAILABLE && s.error_message().find("fork") != std::string::npos
                ? 0
                : 1);
  }
  int ended = -1;
  ASSERT_EQ(::waitpid(child, &ended, 0), child);
  EXPECT_EQ(ended, 0);
  EXPECT_TRUE(find(query_of("x"), reply).ok());
}

// --- credentials

std::shared_ptr<grpc::ServerCredentials> tls_server(grpc_ssl_client_certificate_request_type type) {
  const auto& made = certificates::made();
  grpc::SslServerCredentialsOptions options(type);
  options.pem_key_cert_pairs.push_back({made.text("server.key"), made.text("server.pem")});
  options.pem_root_certs = made.text("ca.pem");
  return grpc::SslServerCredentials(options);
}
std::shared_ptr<grpc::ChannelCredentials> tls_client(const std::string& certificate = "") {
  const auto& made = certificates::made();
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = made.text("ca.pem");
  if (!certificate.empty()) {
    options.pem_private_key = made.text(certificate + ".key");
    options.pem_cert_chain = made.text(certificate + ".pem");
  }
  return grpc::SslCredentials(options);
}

// Says who calls, and with what.
class identity_service final : public CallKinds::Service {
 public:
  grpc::Status Unary(grpc::ServerContext* context, const Query* query, Reply* reply) override {
    const auto auth = context->auth_context();
    std::string all;
    for (const grpc::string_ref name : auth->FindPropertyValues(query->ask()))
      all += call_kinds::text(name) + ";";
    for (const auto& [key, value] : context->client_metadata())
      if (key == "authorization" || key.starts_with("x-"))
        all += call_kinds::text(key) + "=" + call_kinds::text(value) + ";";
    reply->set_name(all);
    reply->set_number(auth->IsPeerAuthenticated() ? 1 : 0);
    if (auth->IsPeerAuthenticated()) reply->set_load(call_kinds::text(auth->GetPeerIdentity().at(0)));
    return grpc::Status::OK;
  }
};

class GrpcppCredentials : public call_kinds_fixture<identity_service> {};

TEST_F(GrpcppCredentials, TlsProtectsTheConnection) {
  start([](grpc::ServerBuilder&) {}, tls_server(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE), tls_client());
  Reply reply;
  ASSERT_TRUE(find(query_of(GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME), reply).ok());
  EXPECT_EQ(reply.name(), "ssl;");
  EXPECT_EQ(reply.number(), 0);
  connect(grpc::SslCredentials({}));  // the system's CAs do not know the server
  EXPECT_EQ(find(query_of(""), reply).error_code(), StatusCode::UNAVAILABLE);
}

TEST_F(GrpcppCredentials, AClientsCertificateIsItsIdentity) {
  start([](grpc::ServerBuilder&) {}, tls_server(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY),
        tls_client("client"));
  Reply reply;
  ASSERT_TRUE(find(query_of(GRPC_X509_CN_PROPERTY_NAME), reply).ok());
  EXPECT_EQ(reply.name(), "ada;");
  EXPECT_EQ(reply.number(), 1);
  EXPECT_EQ(reply.load(), "ada.example");
  ASSERT_TRUE(find(query_of(GRPC_PEER_SPIFFE_ID_PROPERTY_NAME), reply).ok());
  EXPECT_EQ(reply.name(), "spiffe://example/ada;");
  connect(tls_client());
  EXPECT_EQ(find(query_of(""), reply).error_code(), StatusCode::UNAVAILABLE);
}

TEST_F(GrpcppCredentials, ATargetNameCanBeOverridden) {
  grpc::ChannelArguments arguments;
  arguments.SetSslTargetNameOverride("movies.example");
  start([](grpc::ServerBuilder&) {}, tls_server(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE), tls_client(),
        arguments);
  Reply reply;
  EXPECT_TRUE(find(query_of(""), reply).ok());
  grpc::ChannelArguments wrong;
  wrong.SetSslTargetNameOverride("elsewhere.example");
  connect(tls_client(), wrong);
  EXPECT_EQ(find(query_of(""), reply).error_code(), StatusCode::UNAVAILABLE);
}

class plugin final : public grpc::MetadataCredentialsPlugin {
 public:
  explicit plugin(bool blocks) : blocks_(blocks) {}
  bool IsBlocking() const override { return blocks_; }
  grpc::Status GetMetadata(grpc::string_ref url, grpc::string_ref method, const grpc::AuthContext&,
                           std::multimap<std::string, std::string>* metadata) override {
    if (method == "ServerStream") return grpc::Status(StatusCode::NOT_FOUND, "no token");
    metadata->emplace("x-url", call_kinds::text(url).substr(0, 18));
    metadata->emplace("x-method", call_kinds::text(method));
    return grpc::Status::OK;
  }

 private:
  const bool blocks_;
};

TEST_F(GrpcppCredentials, CallsCarryTheCredentialsOfTheirContextAndOfTheirChannel) {
  start([](grpc::ServerBuilder&) {}, tls_server(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE),
        grpc::CompositeChannelCredentials(
            tls_client(), grpc::MetadataCredentialsFromPlugin(std::make_unique<plugin>(true))));
  Reply reply;
  const auto with_token = [](grpc::ClientContext& c) {
    c.set_credentials(grpc::CompositeCallCredentials(grpc::AccessTokenCredentials("t0"),
                                                     grpc::GoogleIAMCredentials("t1", "a")));
  };
  ASSERT_TRUE(find(query_of(""), reply, with_token).ok());
  EXPECT_EQ(reply.name(),
            "authorization=Bearer "
            "t0;x-goog-iam-authority-selector=a;x-goog-iam-authorization-token=t1;x-method=Unary;"
            "x-url=https://127.0.0.1:;");
  grpc::ClientContext context;
  const auto reader = stub->ServerStream(&context, query_of("", 1));
  EXPECT_FALSE(reader->Read(&reply));
  const auto s = reader->Finish();
  EXPECT_EQ(s.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(s.error_message(), ::testing::HasSubstr("no token"));
}

TEST_F(GrpcppCredentials, APluginThatDoesNotBlockRunsOnTheLoop) {
  start([](grpc::ServerBuilder&) {}, tls_server(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE), tls_client());
  Reply reply;
  const auto from_plugin = [](grpc::ClientContext& c) {
    c.set_credentials(grpc::MetadataCredentialsFromPlugin(std::make_unique<plugin>(false)));
  };
  ASSERT_TRUE(find(query_of(""), reply, from_plugin).ok());
  EXPECT_THAT(reply.name(), ::testing::HasSubstr("x-method=Unary;"));
}

TEST_F(GrpcppCredentials, TheFailureOfAPluginHasTheWordsOfTheOriginal) {
  start([](grpc::ServerBuilder&) {}, tls_server(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE), tls_client());
  grpc::ClientContext context;
  context.set_credentials(grpc::MetadataCredentialsFromPlugin(std::make_unique<plugin>(false)));
  Reply reply;
  const auto reader = stub->ServerStream(&context, query_of("", 1));
  EXPECT_FALSE(reader->Read(&reply));
  EXPECT_EQ(reader->Finish().error_message(), "Getting metadata from plugin failed with error: no token");
}

// --- servers

// Handlers that wait until the test lets them go.
class waiting_service final : public CallKinds::Service {
 public:
  grpc::Status Unary(grpc::ServerContext* context, const Query* query, Reply* reply) override {
    if (query->ask() == "thread") {
      std::ifstream comm("/proc/thread-self/comm");
      std::string name;
      std::getline(comm, name);
      reply->set_name(name);
      return grpc::Status::OK;
    }
    if (query->ask() == "meet") {
      if (++met == query->number()) release.notify();
    } else {
      entered.notify();
    }
    release.wait();
    reply->set_number(context->IsCancelled() ? 1 : 0);
    return grpc::Status::OK;
  }
  grpc::Status ClientStream(grpc::ServerContext* context, grpc::ServerReader<Position>* reader,
                            Summary*) override {
    std::thread other([&] {
      release.wait();
      context->TryCancel();
    });
    entered.notify();
    Position position;
    reads_after_cancel = reader->Read(&position);
    other.join();
    ended.notify();
    after_the_call.wait();
    metadata_after_the_call = context->client_metadata().count("x-kept");
    return grpc::Status::OK;
  }
  std::atomic<int> met{0};
  notification entered;
  notification release;
  notification ended;
  notification after_the_call;
  std::atomic<bool> reads_after_cancel{true};
  std::atomic<std::size_t> metadata_after_the_call{0};
};

class GrpcppServers : public call_kinds_fixture<waiting_service> {};

TEST_F(GrpcppServers, HandlersRunOnNamedThreads) {
  start();
  Reply reply;
  ASSERT_TRUE(find(query_of("thread"), reply).ok());
  EXPECT_EQ(reply.name(), "grpcpp-handler");
}

TEST_F(GrpcppServers, ACallBeyondTheThreadsOfTheQuotaIsRejected) {
  start([](grpc::ServerBuilder& b) { b.SetResourceQuota(grpc::ResourceQuota("few").SetMaxThreads(1)); });
  Reply first;
  grpc::Status of_first;
  std::thread waiting([&] { of_first = find(query_of("wait"), first); });
  service.entered.wait();
  Reply second;
  const auto s = find(query_of("thread"), second);
  EXPECT_EQ(s.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(s.error_message(), ::testing::HasSubstr("SetMaxThreads"));
  service.release.notify();
  waiting.join();
  EXPECT_TRUE(of_first.ok());
  // The thread takes the next call when the reply of its last one is on its way.
  while (!find(query_of("thread"), second).ok()) std::this_thread::yield();
}

TEST_F(GrpcppServers, HandlersThatWaitForEachOtherAllRun) {
  start();
  std::atomic<bool> over{false};
  std::vector<std::thread> busy;  // so that the pool lets new handlers wait for a free thread
  for (int t = 0; t < 4; ++t) {
    busy.emplace_back([&] {
      Reply reply;
      while (!over) EXPECT_TRUE(find(query_of("thread"), reply).ok());
    });
  }
  std::vector<std::thread> meeting;
  std::atomic<int> right{0};
  for (int t = 0; t < 20; ++t) {
    meeting.emplace_back([&] {
      Reply reply;
      if (find(query_of("meet", 20), reply).ok()) ++right;
    });
  }
  for (std::thread& t : meeting) t.join();
  over = true;
  for (std::thread& t : busy) t.join();
  EXPECT_EQ(right, 20);
}

TEST_F(GrpcppServers, ShutdownWaitsForTheHandlers) {
  start();
  Reply reply;
  grpc::Status outcome;
  std::thread calling([&] { outcome = find(query_of("wait"), reply); });
  service.entered.wait();
  std::thread ending([&] { server->Shutdown(); });
  service.release.notify();
  calling.join();
  ending.join();
  server->Wait();
  server->Shutdown();
  EXPECT_TRUE(outcome.ok());
  EXPECT_EQ(reply.number(), 0);
}

TEST_F(GrpcppServers, ShutdownCancelsAtItsDeadline) {
  start();
  Reply reply;
  grpc::Status outcome;
  std::thread calling([&] { outcome = find(query_of("wait"), reply); });
  service.entered.wait();
  std::thread ending([&] { server->Shutdown(system_clock::now()); });
  calling.join();
  EXPECT_NE(outcome.error_code(), StatusCode::OK);
  service.release.notify();
  ending.join();
}

TEST_F(GrpcppServers, TryCancelEndsTheCallAndTheReadOfItsHandler) {
  start();
  grpc::ClientContext context;
  context.AddMetadata("x-kept", "1");
  Summary summary;
  const auto writer = stub->ClientStream(&context, &summary);
  service.entered.wait();
  service.release.notify();
  service.ended.wait();
  EXPECT_EQ(writer->Finish().error_code(), StatusCode::CANCELLED);
  EXPECT_FALSE(service.reads_after_cancel);
  service.after_the_call.notify();
  server->Shutdown();
  EXPECT_EQ(service.metadata_after_the_call, 1u);
}

// Counts what handlers see when they have read all requests.
class reading_service final : public CallKinds::Service {
 public:
  grpc::Status ClientStream(grpc::ServerContext* context, grpc::ServerReader<Position>* reader,
                            Summary*) override {
    reader->SendInitialMetadata();
    Position position;
    while (reader->Read(&position)) continue;
    ++(context->IsCancelled() ? cancelled : complete);
    return grpc::Status::OK;
  }
  grpc::Status BidiStream(grpc::ServerContext* context,
                          grpc::ServerReaderWriter<Note, Note>* stream) override {
    stream->SendInitialMetadata();
    Note note;
    while (stream->Read(&note)) continue;
    ++(context->IsCancelled() ? cancelled : complete);
    return grpc::Status::OK;
  }
  std::atomic<int> cancelled{0};
  std::atomic<int> complete{0};
};

class GrpcppReads : public call_kinds_fixture<reading_service> {
 protected:
  // Has a call that its handler reads from, and ends it.
  template <class Stream, class Message>
  static void play(Stream& by, const Message& message, grpc::ClientContext& context, bool cancels) {
    by.WaitForInitialMetadata();
    EXPECT_TRUE(by.Write(message));
    if (cancels) context.TryCancel();
    else by.WritesDone();
    EXPECT_EQ(by.Finish().error_code(), cancels ? StatusCode::CANCELLED : StatusCode::OK);
  }
};

// gRFC L84: there is no moment between the two.
TEST_F(GrpcppReads, ThatFailWithACancelledCallFindItCancelled) {
  start();
  constexpr int rounds = 50;
  for (int i = 0; i < rounds; ++i) {
    for (const bool cancels : {true, false}) {
      grpc::ClientContext context;
      Summary summary;
      const auto writer = stub->ClientStream(&context, &summary);
      play(*writer, Position(), context, cancels);
      grpc::ClientContext of_both;
      const auto both = stub->BidiStream(&of_both);
      play(*both, Note(), of_both, cancels);
    }
  }
  server->Shutdown();  // waits for the handlers
  EXPECT_EQ(service.cancelled, 2 * rounds);
  EXPECT_EQ(service.complete, 2 * rounds);
}

TEST_F(GrpcppServers, APortThatIsTakenMakesNoServerUnlessItIsShared) {
  start();
  grpc::ServerBuilder builder;
  int selected = 7;
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddListeningPort("127.0.0.1:" + std::to_string(port), grpc::InsecureServerCredentials(), &selected);
  builder.RegisterService(&service);
  EXPECT_EQ(builder.BuildAndStart(), nullptr);
  EXPECT_EQ(selected, 7);
  grpc::ServerBuilder unprotected;
  unprotected.AddListeningPort("127.0.0.1:0", nullptr);
  unprotected.RegisterService(&service);
  EXPECT_EQ(unprotected.BuildAndStart(), nullptr);
}

TEST_F(GrpcppServers, ServicesOfCoracleAnswerOnTheSamePort) {
  health_service health;
  start([&](grpc::ServerBuilder& b) { b.RegisterService(health); });
  const coracle::channel to("127.0.0.1:" + std::to_string(port), insecure());
  const generic_stub any(to);
  const bytes_message everything;
  const auto reply = sync_wait(any.unary<bytes_message>("/grpc.health.v1.Health/Check", everything));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->bytes(), "\x08\x01");  // SERVING
  Reply found;
  EXPECT_TRUE(find(query_of("thread"), found).ok());
  server.reset();  // before the service
}

TEST_F(GrpcppServers, AServiceCanBeServedAgain) {
  start();
  server.reset();
  start();
  Reply reply;
  EXPECT_TRUE(find(query_of("thread"), reply).ok());
}

// --- generated classes beyond stubs and services

class streamed_service final : public CallKinds::WithStreamedUnaryMethod_Unary<
                                   CallKinds::WithSplitStreamingMethod_ServerStream<CallKinds::Service>> {
 public:
  grpc::Status StreamedUnary(grpc::ServerContext*,
                             grpc::ServerUnaryStreamer<Query, Reply>* streamer) override {
    Query query;
    Reply reply;
    EXPECT_FALSE(streamer->Write(reply));  // not before the request was read
    std::uint32_t size = 0;
    EXPECT_TRUE(streamer->NextMessageSize(&size));
    EXPECT_TRUE(streamer->Read(&query));
    EXPECT_FALSE(streamer->Read(&query));
    reply.set_name("streamed " + query.ask());
    EXPECT_TRUE(streamer->Write(reply));
    EXPECT_FALSE(streamer->Write(reply));
    return grpc::Status::OK;
  }
  grpc::Status StreamedServerStream(grpc::ServerContext*,
                                    grpc::ServerSplitStreamer<Query, Reply>* streamer) override {
    Query query;
    EXPECT_TRUE(streamer->Read(&query));
    Reply reply;
    for (int i = 0; i < query.number(); ++i) EXPECT_TRUE(streamer->Write(reply));
    return grpc::Status::OK;
  }
};

class GrpcppStreamed : public call_kinds_fixture<streamed_service> {};

TEST_F(GrpcppStreamed, MethodsAreHandledAsStreams) {
  start();
  Reply reply;
  ASSERT_TRUE(find(query_of("x"), reply).ok());
  EXPECT_EQ(reply.name(), "streamed x");
  grpc::ClientContext context;
  const auto reader = stub->ServerStream(&context, query_of("", 3));
  int count = 0;
  while (reader->Read(&reply)) ++count;
  EXPECT_EQ(count, 3);
  EXPECT_TRUE(reader->Finish().ok());
}

class named_find final : public CallKinds::Service {
 public:
  grpc::Status Unary(grpc::ServerContext* context, const Query*, Reply* reply) override {
    reply->set_name(call_kinds::text(context->ExperimentalGetAuthority()));
    return grpc::Status::OK;
  }
};

class GrpcppAuthorities : public call_kinds_fixture<named_find> {};

TEST_F(GrpcppAuthorities, AreThoseThatTheClientCalled) {
  start();
  Reply reply;
  EXPECT_TRUE(find(Query(), reply).ok());
  EXPECT_EQ(reply.name(), "127.0.0.1:" + std::to_string(port));
  EXPECT_TRUE(find(Query(), reply, [](grpc::ClientContext& c) { c.set_authority("own.example"); }).ok());
  EXPECT_EQ(reply.name(), "own.example");
}

TEST(GrpcppMocks, AStubCanBeMocked) {
  call_kinds::MockCallKindsStub stub;
  Reply answer;
  answer.set_name("mocked");
  EXPECT_CALL(stub, Unary)
      .WillOnce(::testing::DoAll(::testing::SetArgPointee<2>(answer), ::testing::Return(grpc::Status::OK)));
  CallKinds::StubInterface& used = stub;
  grpc::ClientContext context;
  Reply reply;
  EXPECT_TRUE(used.Unary(&context, Query(), &reply).ok());
  EXPECT_EQ(reply.name(), "mocked");
}

TEST(GrpcppMocks, AHandlerCanBeCalledDirectly) {
  call_kinds::call_kinds_service service;
  grpc::ServerContext context;
  Reply reply;
  const Query query = query_of("deadline");
  EXPECT_TRUE(service.Unary(&context, &query, &reply).ok());
  EXPECT_EQ(reply.number(), -1);
  EXPECT_FALSE(context.IsCancelled());
  EXPECT_EQ(context.peer(), "");
  EXPECT_TRUE(context.ExperimentalGetAuthority().empty());
  EXPECT_FALSE(context.auth_context()->IsPeerAuthenticated());
}

TEST(GrpcppBuilders, MakeSeveralServersOfHandlers) {
  call_kinds::call_kinds_service service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  std::unique_ptr<grpc::Server> servers[2];
  std::set<int> ports;
  for (auto& server : servers) {
    server = builder.BuildAndStart();
    ASSERT_NE(server, nullptr);
    ports.insert(port);
  }
  EXPECT_EQ(ports.size(), 2u);
  for (const int of_one : ports) {
    const auto stub = CallKinds::NewStub(
        grpc::CreateChannel("127.0.0.1:" + std::to_string(of_one), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    Reply reply;
    EXPECT_TRUE(stub->Unary(&context, query_of("hello"), &reply).ok());
  }
}

}  // namespace
}  // namespace coracle::testing_support::grpcpp_test
