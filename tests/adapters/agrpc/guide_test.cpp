// The code of docs/guides/from_asio_grpc.md.

#include "agrpc_fixture.hpp"

// --8<-- [start:includes]
#include <agrpc/asio_grpc.hpp>
// --8<-- [end:includes]

namespace agrpc_tests::guide_test {

using call_kinds::CallKinds;

class guide : public agrpc_fixture {};

// --8<-- [start:server]
void register_handlers(agrpc::GrpcContext& grpc_context, CallKinds::AsyncService& service) {
  using RPC = agrpc::ServerRPC<&CallKinds::AsyncService::RequestServerStream>;
  agrpc::register_awaitable_rpc_handler<RPC>(
      grpc_context, service,
      [](RPC& rpc, RPC::Request& request) -> asio::awaitable<void> {
        RPC::Response response;
        for (int i = 0; i != request.number(); ++i) {
          response.set_number(i);
          if (!co_await rpc.write(response)) co_return;
        }
        co_await rpc.finish(grpc::Status::OK);
      },
      asio::detached);
}
// --8<-- [end:server]

// --8<-- [start:client]
asio::awaitable<int> count_ships(agrpc::GrpcContext& grpc_context, CallKinds::Stub& stub) {
  using RPC = agrpc::ClientRPC<&CallKinds::Stub::PrepareAsyncServerStream>;
  RPC rpc{grpc_context};
  rpc.context().set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  RPC::Request request;
  request.set_number(3);
  co_await rpc.start(stub, request);
  RPC::Response response;
  int replies = 0;
  while (co_await rpc.read(response)) ++replies;
  const grpc::Status status = co_await rpc.finish();
  co_return status.ok() ? replies : -1;
}
// --8<-- [end:client]

// --8<-- [start:version_2]
void register_handler(agrpc::GrpcContext& grpc_context, CallKinds::AsyncService& service) {
  agrpc::repeatedly_request(
      &CallKinds::AsyncService::RequestUnary, service,
      asio::bind_executor(
          grpc_context,
          [](grpc::ServerContext&, call_kinds::Query& request,
             grpc::ServerAsyncResponseWriter<call_kinds::Reply>& writer) -> asio::awaitable<void> {
            call_kinds::Reply response;
            response.set_name(request.ask());
            co_await agrpc::finish(writer, response, grpc::Status::OK);
          }));
}

asio::awaitable<std::string> find_ship(agrpc::GrpcContext& grpc_context, CallKinds::Stub& stub) {
  grpc::ClientContext client_context;
  call_kinds::Query request;
  request.set_ask("brig");
  auto reader = agrpc::request(&CallKinds::Stub::AsyncUnary, stub, client_context, request, grpc_context);
  call_kinds::Reply response;
  grpc::Status status;
  co_await agrpc::finish(reader, response, status);
  co_return status.ok() ? response.name() : status.error_message();
}
// --8<-- [end:version_2]

TEST_F(guide, ServersAndClientsOfBothVersions) {
  register_handlers(context(), service);
  register_handler(context(), service);
  run([&]() -> asio::awaitable<void> {
    EXPECT_EQ(co_await count_ships(context(), *stub), 3);
    EXPECT_EQ(co_await find_ship(context(), *stub), "brig");
  });
}

}  // namespace agrpc_tests::guide_test
