// AsyncGenericService, where tests/interop/grpcpp_relinked_test.py does not look.
#include "adapters/grpcpp/src/server/server_core.hpp"
#include "queue_fixture.hpp"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace coracle::testing_support::generic_queues_test {
namespace {

using call_kinds::CallKinds;
using call_kinds::Reply;
using call_kinds::tagged;
using call_kinds::taken;
using call_kinds::taken_in_any_order;
using grpc::StatusCode;

// A server with a generic service and one queue.
class GenericQueues : public queue_fixture<grpc::AsyncGenericService> {
 protected:
  void start(const preparation& prepare = [](grpc::ServerBuilder&) {}) {
    queue_fixture::start([&](grpc::ServerBuilder& builder) {
      builder.RegisterAsyncGenericService(&service);
      prepare(builder);
    });
  }
  // A call that was requested, without a notice of its end.
  struct requested : call_kinds::held_generic {
    explicit requested(GenericQueues& by, int tag = 1)
        : held_generic(by.service, by.queue(), by.queue(), tag, false) {}
  };
  // Takes one call, which it answers with its request.
  void serve() {
    requested call(*this);
    grpc::CompletionQueue of_client;
    grpc::ClientContext context;
    Reply reply;
    grpc::Status s;
    stub->AsyncUnary(&context, query_of("name"), &of_client)->Finish(&reply, &s, tagged(1));
    EXPECT_EQ(taken(queue()), "1+");
    EXPECT_EQ(call.context.method(), "/call_kinds.CallKinds/Unary");
    EXPECT_EQ(call.context.host(), "127.0.0.1:" + std::to_string(port));
    grpc::ByteBuffer message;
    EXPECT_EQ(call.read(message, 2), "2+");
    call.stream.WriteAndFinish(message, grpc::WriteOptions(), grpc::Status::OK, tagged(3));
    EXPECT_EQ(taken(queue()), "3+");
    EXPECT_EQ(taken(of_client), "1+");
    EXPECT_TRUE(s.ok());
    EXPECT_EQ(reply.name(), "name");
  }
};

TEST_F(GenericQueues, OneThreadDrivesTheServer) {
  start();
  for (int i = 0; i < 5; ++i) serve();
  EXPECT_FALSE(server->core().driver()->counted().for_good);
  end();
}

TEST_F(GenericQueues, AServiceWithGenericMethodsAloneIsDrivenByTheQueue) {
  CallKinds::WithGenericMethod_Unary<CallKinds::WithGenericMethod_ServerStream<
      CallKinds::WithGenericMethod_ClientStream<CallKinds::WithGenericMethod_BidiStream<CallKinds::Service>>>>
      methods;
  start([&](grpc::ServerBuilder& builder) { builder.RegisterService(&methods); });
  serve();
  EXPECT_NE(server->core().driver(), nullptr);
  end();
  server.reset();
}

// As with grpc++.
TEST_F(GenericQueues, AGenericMethodWithoutAGenericServiceMakesNoServer) {
  CallKinds::WithGenericMethod_Unary<CallKinds::Service> methods;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials());
  builder.RegisterService(&methods);
  EXPECT_EQ(builder.BuildAndStart(), nullptr);
}

TEST_F(GenericQueues, ARequestOfAServiceWithoutAServerFails) {
  grpc::ServerBuilder builder;
  queues.push_back(builder.AddCompletionQueue());
  requested call(*this);
  EXPECT_EQ(taken(queue()), "1-");
}

TEST_F(GenericQueues, ASecondGenericServiceIsIgnored) {
  grpc::AsyncGenericService second;
  grpc::CallbackGenericService third;
  start([&](grpc::ServerBuilder& builder) {
    builder.RegisterAsyncGenericService(&second).RegisterCallbackGenericService(&third);
  });
  serve();
  const call_kinds::held_generic call(second, queue(), queue(), 1, false);
  EXPECT_EQ(taken(queue()), "1-");
  end();
}

TEST_F(GenericQueues, AServiceHasOneServerAtATime) {
  start();
  grpc::ServerBuilder builder;
  builder.RegisterAsyncGenericService(&service);
  EXPECT_EQ(builder.BuildAndStart(), nullptr);
  serve();
  end();
  EXPECT_NE(builder.BuildAndStart(), nullptr);
}

TEST_F(GenericQueues, ACallWhoseEventIsNotTakenEndsWithTheQueue) {
  start();
  auto other = grpc::ServerBuilder().AddCompletionQueue();
  const call_kinds::held_generic first(service, queue(), *other, 1, false);
  requested second(*this, 2);
  grpc::CompletionQueue of_client;
  grpc::ClientContext contexts[2];
  Reply replies[2];
  grpc::Status s[2];
  for (int i = 0; i < 2; ++i)
    stub->AsyncUnary(&contexts[i], query_of("x"), &of_client)->Finish(&replies[i], &s[i], tagged(i + 1));
  EXPECT_EQ(taken(queue()), "2+");  // the first call has come, too
  other.reset();
  second.stream.Finish(grpc::Status(StatusCode::ABORTED, ""), tagged(3));
  EXPECT_EQ(taken(queue()), "3+");
  EXPECT_EQ(taken_in_any_order(of_client, 2), "1+ 2+");  // of two calls
  EXPECT_EQ(s[0].error_code(), StatusCode::CANCELLED);
  EXPECT_EQ(s[1].error_code(), StatusCode::ABORTED);
  end();
}

}  // namespace
}  // namespace coracle::testing_support::generic_queues_test
