// protobuf_echo_server: a service of stock protoc's classes. RelayEcho calls the next server.
#include "../command_line.hpp"
#include "echo.pb.h"

#include <coracle/client.hpp>
#include <coracle/protobuf_services.hpp>
#include <coracle/server.hpp>
#include <coracle/server/call_statistics.hpp>

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

namespace {

using namespace std::chrono_literals;
using google::protobuf::Closure;
using google::protobuf::RpcController;

// --8<-- [start:service]
class my_echo_service final : public echo::EchoService {
 public:
  explicit my_echo_service(coracle::channel next) : next_(std::move(next)) {}

  void Echo(RpcController*, const echo::EchoRequest* request, echo::EchoResponse* response,
            Closure* done) override {
    response->set_msg(" Echo >>>>>>> " + request->msg());
    done->Run();
  }

  // A call within a call needs a coroutine.
  void RelayEcho(RpcController* controller, const echo::EchoRequest* request, echo::EchoResponse* response,
                 Closure* done) override {
    coracle::loop& here = *coracle::loop::current();
    here.owner().spawn_on(here, relay(&next_, controller, request, response, done));
  }

 private:
  static coracle::task<> relay(coracle::protobuf_channel* next, RpcController* controller,
                               const echo::EchoRequest* request, echo::EchoResponse* response,
                               Closure* done) {
    echo::EchoRequest inner;
    inner.set_msg("Relay Call >>>>>> " + request->msg());
    echo::EchoService_Stub stub(next);
    coracle::protobuf_controller call(coracle::within(5s));
    stub.Echo(&call, &inner, response, nullptr);
    co_await call;
    if (call.Failed()) controller->SetFailed(call.ErrorText());
    done->Run();
  }

  coracle::protobuf_channel next_;
};
// --8<-- [end:service]

}  // namespace

int main(int argc, char** argv) {
  return examples::run("protobuf_echo_server", [&] {
    const examples::command_line line(argc, argv, "--port=PORT [--next=ADDRESS]");
    coracle::runtime runtime;
    const auto next = line.option("next");
    my_echo_service echo(next ? coracle::channel(runtime, *next, coracle::insecure()) : coracle::channel());
    // --8<-- [start:serve]
    coracle::protobuf_service served(echo);
    coracle::server server(runtime);
    server.add(served);
    // --8<-- [end:serve]
    const auto statistics = std::make_shared<coracle::call_statistics>(runtime.log());
    server.add_interceptor(statistics);
    coracle::runtime ticker;
    ticker.spawn(statistics->log_each_second());  // CORACLE_LOG=info shows the lines
    ticker.start();
    server.listen("127.0.0.1:" + std::to_string(line.port("port")), coracle::insecure()).throw_if_error();
    std::printf("listening on 127.0.0.1:%u\n", unsigned{server.port()});
    std::fflush(stdout);
    return server.run();
  });
}
