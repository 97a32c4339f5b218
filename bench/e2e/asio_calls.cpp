// CPU per call through Asio: completion tokens against co_await, and loops that an io_context drives against
// their own.
//
//   bench_asio_calls CLIENT CLIENT_LOOP SERVER_LOOP CALLS
//
// CLIENT: co_await, then (which takes no Asio), callback or use_awaitable. The loops: own or asio. 10
// connections with 10 calls each at a time. Prints the CPU time of the client's thread and of the server's,
// in nanoseconds per call.
#include "helloworld.coracle.hpp"

#include "coracle/asio.hpp"
#include "coracle/client.hpp"
#include "coracle/server.hpp"

#include <boost/asio.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

namespace asio = boost::asio;
using helloworld::HelloReply;
using helloworld::HelloRequest;
using greeter_stub = helloworld::rpc::Greeter::stub;

constexpr int connections = 10;
constexpr int calls_each = 10;

double thread_cpu_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

class greeter final : public helloworld::rpc::Greeter::service {
  coracle::reply<HelloReply> SayHello(coracle::server_context&, const HelloRequest& request) override {
    HelloReply reply;
    reply.set_message(request.name());
    return reply;
  }
};

// A runtime that this thread drives by itself or by an io_context.
class driven {
 public:
  explicit driven(bool by_asio) {
    if (by_asio) driver_.emplace(io, runtime);
  }
  void run() {
    if (!driver_) return static_cast<void>(runtime.run());
    io.run();
  }
  void stop() {
    if (driver_) driver_->stop();
    else work_.reset();
  }
  coracle::runtime runtime;
  asio::io_context io{1};

 private:
  std::optional<coracle::runtime::work_guard> work_{runtime.keep_running()};
  std::optional<coracle::asio_driver> driver_;
};

class clients {
 public:
  clients(driven& on, int calls) : on_(on), left_(calls), running_(connections * calls_each) {}
  coracle::task<> with_co_await(greeter_stub stub) {
    while (take()) {
      const auto reply = co_await stub.SayHello(request_);
      check(reply);
    }
    ended();
  }
  void with_then(std::shared_ptr<greeter_stub> stub) {
    if (!take()) return ended();
    const greeter_stub& s = *stub;
    s.SayHello(request_)
        .then([this, stub = std::move(stub)](const coracle::result<HelloReply>& r) mutable {
          check(r);
          with_then(std::move(stub));
        })
        .detach();
  }
  void with_callback(std::shared_ptr<greeter_stub> stub) {
    if (!take()) return ended();
    const greeter_stub& s = *stub;
    coracle::async_wait(s.SayHello(request_),
                        [this, stub = std::move(stub)](const coracle::result<HelloReply>& r) mutable {
                          check(r);
                          with_callback(std::move(stub));
                        });
  }
  asio::awaitable<void> with_use_awaitable(greeter_stub stub) {
    while (take()) {
      const auto reply = co_await coracle::async_wait(stub.SayHello(request_), asio::use_awaitable);
      check(reply);
    }
    ended();
  }

 private:
  bool take() { return left_-- > 0; }
  void check(const coracle::result<HelloReply>& r) {
    if (!r) std::abort();
  }
  void ended() {
    if (--running_ == 0) on_.stop();
  }
  driven& on_;
  int left_;
  int running_;
  HelloRequest request_ = [] {
    HelloRequest r;
    r.set_name("0123456789");
    return r;
  }();
};

double run_client(std::string_view kind, bool by_asio, std::uint16_t port, int calls) {
  driven on(by_asio);
  std::vector<coracle::channel> channels;
  for (int i = 0; i < connections; ++i)
    channels.emplace_back(on.runtime, "127.0.0.1:" + std::to_string(port), coracle::insecure());
  coracle::loop_context context(on.runtime.at(0));
  clients all(on, calls);
  for (int i = 0; i < connections * calls_each; ++i) {
    const greeter_stub stub(channels[static_cast<std::size_t>(i % connections)]);
    if (kind == "co_await") on.runtime.spawn(all.with_co_await(stub));
    else if (kind == "then") all.with_then(std::make_shared<greeter_stub>(stub));
    else if (kind == "callback") all.with_callback(std::make_shared<greeter_stub>(stub));
    else if (by_asio) asio::co_spawn(on.io, all.with_use_awaitable(stub), asio::detached);
    else asio::co_spawn(context, all.with_use_awaitable(stub), asio::detached);
  }
  const double before = thread_cpu_ns();
  on.run();
  return (thread_cpu_ns() - before) / calls;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: bench_asio_calls CLIENT CLIENT_LOOP SERVER_LOOP CALLS\n");
    return 1;
  }
  const std::string_view kind = argv[1];
  const int calls = std::atoi(argv[4]);
  std::promise<std::uint16_t> port;
  std::atomic<driven*> serving = nullptr;
  double server_ns = 0;
  std::thread thread([&] {
    driven on(std::string_view(argv[3]) == "asio");
    greeter service;
    coracle::server server(on.runtime);
    server.add(service);
    if (!server.listen("127.0.0.1:0", coracle::insecure()).ok()) std::abort();
    serving = &on;
    port.set_value(server.port());
    const double before = thread_cpu_ns();
    on.run();
    server_ns = (thread_cpu_ns() - before) / calls;
  });
  const double client_ns =
      run_client(kind, std::string_view(argv[2]) == "asio", port.get_future().get(), calls);
  serving.load()->stop();
  thread.join();
  std::printf("%s client loop %s server loop %s: client %.0f ns, server %.0f ns per call\n", argv[1], argv[2],
              argv[3], client_ns, server_ns);
  return 0;
}
