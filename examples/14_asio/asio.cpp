// A program of plain Asio, with TCP and a timer, that also serves and calls gRPC: all in one thread.
#include "../command_line.hpp"
#include "greeter.coracle.hpp"

#include "coracle/asio.hpp"
#include "coracle/client.hpp"
#include "coracle/server.hpp"

#include <boost/asio.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>

namespace {

namespace asio = boost::asio;
using asio::awaitable;
using asio::use_awaitable;
using asio::ip::tcp;
using helloworld::HelloReply;
using helloworld::HelloRequest;
using namespace std::chrono_literals;

// --8<-- [start:handler]
// The handler of a call is a coroutine of Asio.
awaitable<HelloReply> answer(const HelloRequest& request) {
  asio::steady_timer pause(co_await asio::this_coro::executor, 1ms);
  co_await pause.async_wait(use_awaitable);
  HelloReply reply;
  reply.set_message("Hello, " + request.name());
  co_return reply;
}

class greeter final : public helloworld::rpc::Greeter::service {
 public:
  explicit greeter(asio::io_context& io) : io_(io) {}

 private:
  coracle::reply<HelloReply> SayHello(coracle::server_context&, const HelloRequest& request) override {
    co_return co_await coracle::on_executor(io_, answer(request));
  }
  asio::io_context& io_;
};
// --8<-- [end:handler]

// A line over TCP is a name; the answer is the greeting that the server gives over gRPC.
// --8<-- [start:call]
awaitable<void> converse(tcp::socket socket, helloworld::rpc::Greeter::stub stub) {
  std::string line;
  for (;;) {
    const std::size_t size =
        co_await asio::async_read_until(socket, asio::dynamic_buffer(line), '\n', use_awaitable);
    HelloRequest request;
    request.set_name(line.substr(0, size - 1));
    line.erase(0, size);
    const auto reply =
        co_await coracle::async_wait(stub.SayHello(request, coracle::within(5s)), use_awaitable);
    const std::string text = reply ? reply->message() + "\n" : reply.status().to_string() + "\n";
    co_await asio::async_write(socket, asio::buffer(text), use_awaitable);
  }
}
// --8<-- [end:call]

awaitable<void> accept(tcp::acceptor& acceptor, helloworld::rpc::Greeter::stub stub) {
  for (;;) {
    tcp::socket socket = co_await acceptor.async_accept(use_awaitable);
    asio::co_spawn(acceptor.get_executor(), converse(std::move(socket), stub), asio::detached);
  }
}

awaitable<int> greet_over_tcp(tcp::endpoint where, int times) {
  tcp::socket socket(co_await asio::this_coro::executor);
  co_await socket.async_connect(where, use_awaitable);
  std::string received;
  int greeted = 0;
  for (int i = 0; i < times; ++i) {
    const std::string name = "guest " + std::to_string(i);
    co_await asio::async_write(socket, asio::buffer(name + "\n"), use_awaitable);
    const std::size_t size =
        co_await asio::async_read_until(socket, asio::dynamic_buffer(received), '\n', use_awaitable);
    if (received.substr(0, size) == "Hello, " + name + "\n") ++greeted;
    received.erase(0, size);
  }
  co_return greeted;
}

int run_all() {
  // --8<-- [start:main]
  asio::io_context io;
  coracle::runtime runtime;
  coracle::asio_driver driver(io, runtime);

  greeter service(io);
  coracle::server server(runtime);
  server.add(service);
  if (const auto bound = server.listen("127.0.0.1:0", coracle::insecure()); !bound.ok())
    throw coracle::status_error(bound);
  const coracle::channel channel(runtime, "127.0.0.1:" + std::to_string(server.port()), coracle::insecure());

  tcp::acceptor acceptor(io, {asio::ip::address_v4::loopback(), 0});
  asio::co_spawn(io, accept(acceptor, helloworld::rpc::Greeter::stub(channel)), asio::detached);
  int greeted = 0;
  asio::co_spawn(io, greet_over_tcp(acceptor.local_endpoint(), 100), [&](std::exception_ptr, int count) {
    greeted = count;
    acceptor.close();
    driver.stop();
  });
  io.run();
  // --8<-- [end:main]
  std::printf("%d greetings over TCP, each by a call\n", greeted);
  return greeted == 100 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run("asio", [&] {
    const examples::command_line none(argc, argv, "");
    return run_all();
  });
}
