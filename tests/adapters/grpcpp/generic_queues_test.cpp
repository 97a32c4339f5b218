// AsyncGenericService, where tests/interop/grpcpp_relinked_test.py does not look.
#include "adapters/grpcpp/src/server_core.hpp"
#include "harbour_fixture.hpp"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace coracle::testing_support::generic_queues_test {
namespace {

using grpc::StatusCode;
using harbour::Harbour;
using harbour::Ship;

void* tagged(std::intptr_t number) { return reinterpret_cast<void*>(number); }

// The next event of a queue: its tag, negative if `ok` is false; 0 if there is none any more.
std::intptr_t taken(grpc::CompletionQueue& queue) {
  void* tag = nullptr;
  bool ok = false;
  if (!queue.Next(&tag, &ok)) return 0;
  const auto number = reinterpret_cast<std::intptr_t>(tag);
  return ok ? number : -number;
}

struct requested {
  grpc::GenericServerContext context;
  grpc::GenericServerAsyncReaderWriter stream{&context};
};

// A server with a generic service and one queue.
class GenericQueues : public ::testing::Test {
 protected:
  template <class Prepare>
  void start(Prepare prepare) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    prepare(builder);
    queue = builder.AddCompletionQueue();
    server = builder.BuildAndStart();
    ASSERT_NE(server, nullptr);
    address = "127.0.0.1:" + std::to_string(port);
    channel = grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
    stub = Harbour::NewStub(channel);
  }
  void start() {
    start([this](grpc::ServerBuilder& builder) { builder.RegisterAsyncGenericService(&generic); });
  }
  void request(requested& call, std::intptr_t tag) {
    generic.RequestCall(&call.context, &call.stream, queue.get(), queue.get(), tagged(tag));
  }
  // Takes one call, which it answers with its request.
  void serve() {
    requested call;
    request(call, 1);
    grpc::CompletionQueue of_client;
    grpc::ClientContext context;
    Ship ship;
    grpc::Status s;
    stub->AsyncFind(&context, harbour_query("name"), &of_client)->Finish(&ship, &s, tagged(1));
    EXPECT_EQ(taken(*queue), 1);
    EXPECT_EQ(call.context.method(), "/harbour.Harbour/Find");
    EXPECT_EQ(call.context.host(), address);
    grpc::ByteBuffer message;
    call.stream.Read(&message, tagged(2));
    EXPECT_EQ(taken(*queue), 2);
    call.stream.WriteAndFinish(message, grpc::WriteOptions(), grpc::Status::OK, tagged(3));
    EXPECT_EQ(taken(*queue), 3);
    EXPECT_EQ(taken(of_client), 1);
    EXPECT_TRUE(s.ok());
    EXPECT_EQ(ship.name(), "name");
  }
  void end() {
    server->Shutdown(std::chrono::system_clock::now());
    queue->Shutdown();
    while (taken(*queue) != 0) continue;
  }

  grpc::AsyncGenericService generic;
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  std::unique_ptr<grpc::Server> server;
  std::string address;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<Harbour::Stub> stub;
};

TEST_F(GenericQueues, OneThreadDrivesTheServer) {
  start();
  for (int i = 0; i < 5; ++i) serve();
  EXPECT_FALSE(server->core().driver()->counted().for_good);
  end();
}

TEST_F(GenericQueues, AServiceWithGenericMethodsAloneIsDrivenByTheQueue) {
  Harbour::WithGenericMethod_Find<Harbour::WithGenericMethod_List<
      Harbour::WithGenericMethod_Record<Harbour::WithGenericMethod_Talk<Harbour::Service>>>>
      service;
  start([&](grpc::ServerBuilder& builder) {
    builder.RegisterService(&service).RegisterAsyncGenericService(&generic);
  });
  serve();
  EXPECT_NE(server->core().driver(), nullptr);
  end();
  server.reset();
}

TEST_F(GenericQueues, AGenericMethodWithoutAGenericServiceIsUnimplemented) {
  Harbour::WithGenericMethod_Find<Harbour::Service> service;
  start([&](grpc::ServerBuilder& builder) { builder.RegisterService(&service); });
  grpc::ClientContext context;
  Ship ship;
  EXPECT_EQ(stub->Find(&context, harbour_query("x"), &ship).error_code(), StatusCode::UNIMPLEMENTED);
  end();
  server.reset();
}

TEST_F(GenericQueues, ARequestOfAServiceWithoutAServerFails) {
  grpc::ServerBuilder builder;
  queue = builder.AddCompletionQueue();
  requested call;
  request(call, 1);
  EXPECT_EQ(taken(*queue), -1);
}

TEST_F(GenericQueues, ASecondGenericServiceIsIgnored) {
  grpc::AsyncGenericService second;
  grpc::CallbackGenericService third;
  start([&](grpc::ServerBuilder& builder) {
    builder.RegisterAsyncGenericService(&generic)
        .RegisterAsyncGenericService(&second)
        .RegisterCallbackGenericService(&third);
  });
  serve();
  requested call;
  second.RequestCall(&call.context, &call.stream, queue.get(), queue.get(), tagged(1));
  EXPECT_EQ(taken(*queue), -1);
  end();
}

TEST_F(GenericQueues, AServiceHasOneServerAtATime) {
  start();
  grpc::ServerBuilder builder;
  builder.RegisterAsyncGenericService(&generic);
  EXPECT_EQ(builder.BuildAndStart(), nullptr);
  serve();
  end();
  EXPECT_NE(builder.BuildAndStart(), nullptr);
}

TEST_F(GenericQueues, ACallWhoseEventIsNotTakenEndsWithTheQueue) {
  start();
  auto other = grpc::ServerBuilder().AddCompletionQueue();
  requested calls[2];
  generic.RequestCall(&calls[0].context, &calls[0].stream, queue.get(), other.get(), tagged(1));
  request(calls[1], 2);
  grpc::CompletionQueue of_client;
  grpc::ClientContext contexts[2];
  Ship ships[2];
  grpc::Status s[2];
  for (int i = 0; i < 2; ++i)
    stub->AsyncFind(&contexts[i], harbour_query("x"), &of_client)->Finish(&ships[i], &s[i], tagged(i + 1));
  EXPECT_EQ(taken(*queue), 2);  // the first call has come, too
  other.reset();
  calls[1].stream.Finish(grpc::Status(StatusCode::ABORTED, ""), tagged(3));
  EXPECT_EQ(taken(*queue), 3);
  EXPECT_EQ(taken(of_client) + taken(of_client), 3);
  EXPECT_EQ(s[0].error_code(), StatusCode::CANCELLED);
  EXPECT_EQ(s[1].error_code(), StatusCode::ABORTED);
  end();
}

}  // namespace
}  // namespace coracle::testing_support::generic_queues_test
