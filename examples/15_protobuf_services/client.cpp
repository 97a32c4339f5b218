// protobuf_echo_client: calls both methods by the stub that stock protoc generates.
#include "../command_line.hpp"
#include "echo.pb.h"

#include <coracle/client.hpp>
#include <coracle/protobuf_services.hpp>

#include <chrono>
#include <cstdio>
#include <string>

namespace {

using namespace std::chrono_literals;

void print(const char* method, const coracle::protobuf_controller& call, const echo::EchoResponse& response) {
  const std::string outcome = call.Failed() ? call.ErrorText() : "success";
  std::printf("Recv %s Rsp, status:%s, rsp:%s\n", method, examples::printable(outcome).c_str(),
              examples::printable(response.msg()).c_str());
}

// --8<-- [start:calls]
coracle::task<bool> call_both(coracle::channel to) {
  coracle::protobuf_channel channel(to);
  echo::EchoService_Stub stub(&channel);
  coracle::protobuf_controller controller(coracle::within(5s));
  echo::EchoRequest request;
  echo::EchoResponse response;

  request.set_msg("hello, Echo.");
  stub.Echo(&controller, &request, &response, nullptr);
  co_await controller;
  print("Echo", controller, response);
  if (controller.Failed()) co_return false;

  controller.Reset();
  request.set_msg("hello, RelayEcho.");
  stub.RelayEcho(&controller, &request, &response, nullptr);
  co_await controller;
  print("RelayEcho", controller, response);
  co_return !controller.Failed();
}
// --8<-- [end:calls]

}  // namespace

int main(int argc, char** argv) {
  return examples::run("protobuf_echo_client", [&] {
    const examples::command_line line(argc, argv, "ADDRESS");
    coracle::runtime runtime;
    coracle::channel channel(runtime, line.words().front(), coracle::insecure());
    return coracle::sync_wait(runtime, call_both(channel)) ? 0 : 1;
  });
}
