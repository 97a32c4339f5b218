// One program with the classes of three generators for one .proto, all in use.
#include "grpc/health/v1/health.coracle.hpp"
#include "shipyard.coracle.hpp"
#include "shipyard.grpc.pb.h"
#include "shipyard.pb.h"

#include "coracle/client.hpp"
#include "coracle/server.hpp"

#include <google/protobuf/service.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace {

shipyard::Plan plan(const std::string& name) {
  shipyard::Plan p;
  p.set_name(name);
  return p;
}

class our_yard final : public shipyard::rpc::Yard::service {
  coracle::reply<shipyard::Boat> Build(coracle::server_context&, const shipyard::Plan& request) override {
    shipyard::Boat boat;
    boat.set_name(request.name() + " by Coracle");
    return boat;
  }
};

class grpc_yard final : public shipyard::plus::Yard::Service {
  grpc::Status Build(grpc::ServerContext*, const shipyard::Plan* request, shipyard::Boat* reply) override {
    reply->set_name(request->name() + " by grpc++");
    return grpc::Status::OK;
  }
};

class generic_yard final : public shipyard::Yard {
  void Build(google::protobuf::RpcController*, const shipyard::Plan* request, shipyard::Boat* reply,
             google::protobuf::Closure* done) override {
    reply->set_name(request->name() + " by protobuf");
    done->Run();
  }
};

// protobuf brings no transport: this is the shortest possible one.
class direct_channel final : public google::protobuf::RpcChannel {
 public:
  explicit direct_channel(google::protobuf::Service& to) : to_(to) {}
  void CallMethod(const google::protobuf::MethodDescriptor* method,
                  google::protobuf::RpcController* controller, const google::protobuf::Message* request,
                  google::protobuf::Message* reply, google::protobuf::Closure* done) override {
    to_.CallMethod(method, controller, request, reply, done);
  }

 private:
  google::protobuf::Service& to_;
};

TEST(ThreeGenerators, TheStubOfGrpcCallsOurServer) {
  our_yard yard;
  coracle::server server;
  server.add(yard);
  ASSERT_TRUE(server.listen("127.0.0.1:0", coracle::insecure()).ok());
  server.start();

  const auto stub = shipyard::plus::Yard::NewStub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(server.port()), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  shipyard::Boat boat;
  const grpc::Status status = stub->Build(&context, plan("a raft"), &boat);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(boat.name(), "a raft by Coracle");
}

TEST(ThreeGenerators, OurStubCallsTheServerOfGrpc) {
  grpc_yard yard;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&yard);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  ASSERT_NE(port, 0);

  coracle::channel channel("127.0.0.1:" + std::to_string(port), coracle::insecure());
  const shipyard::rpc::Yard::stub stub(channel);
  const auto boat = coracle::sync_wait(stub.Build(plan("a raft")));
  ASSERT_TRUE(boat) << boat.status().to_string();
  EXPECT_EQ(boat->name(), "a raft by grpc++");
}

TEST(ThreeGenerators, ProtobufsStubCallsProtobufsService) {
  generic_yard yard;
  direct_channel channel(yard);
  shipyard::Yard_Stub stub(&channel);
  const shipyard::Plan request = plan("a raft");
  shipyard::Boat boat;
  stub.Build(nullptr, &request, &boat, google::protobuf::NewCallback(google::protobuf::DoNothing));
  EXPECT_EQ(boat.name(), "a raft by protobuf");
}

// Checks whether the server at that port is healthy, with C++ that this program has generated for itself.
bool healthy(int port) {
  coracle::channel channel("127.0.0.1:" + std::to_string(port), coracle::insecure());
  const grpc::health::v1::rpc::Health::stub stub(channel);
  const auto reply = coracle::sync_wait(stub.Check(grpc::health::v1::HealthCheckRequest()));
  return reply && reply->status() == grpc::health::v1::HealthCheckResponse::SERVING;
}

TEST(ThreeGenerators, HealthAndReflectionOfThreeMakesStandBesideEachOther) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc_yard theirs;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&theirs);
  const std::unique_ptr<grpc::Server> their_server = builder.BuildAndStart();
  EXPECT_TRUE(healthy(port));

  our_yard ours;
  coracle::server server;
  server.add(ours);
  coracle::with_defaults(server);
  ASSERT_TRUE(server.listen("127.0.0.1:0", coracle::insecure()).ok());
  server.start();
  EXPECT_TRUE(healthy(server.port()));
}

}  // namespace
