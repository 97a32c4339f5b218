// bench_overloaded PORT WORKERS MILLISECONDS plain|protected: a Greeter each call of which holds one of the
// workers for that time, as a query holds a connection of a database. Calls that find no worker wait without
// bound, unless the server is protected.

#include <coracle/coro/semaphore.hpp>
#include <coracle/coro/sleep.hpp>
#include <coracle/server.hpp>
#include "helloworld.coracle.hpp"

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

class busy_greeter final : public helloworld::rpc::Greeter::service {
 public:
  busy_greeter(coracle::loop& on, std::size_t workers, std::chrono::milliseconds time)
      : workers_(workers, on), time_(time) {}

 private:
  coracle::reply<helloworld::HelloReply> SayHello(coracle::server_context&,
                                                  const helloworld::HelloRequest& request) override {
    const coracle::semaphore::guard worker = co_await workers_.acquire_guard();
    co_await coracle::sleep_for(time_);
    helloworld::HelloReply reply;
    reply.set_message(request.name());
    co_return reply;
  }

  coracle::semaphore workers_;
  std::chrono::milliseconds time_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc == 5 ? argv[4] : "";
  if (mode != "plain" && mode != "protected") {
    std::fputs("usage: bench_overloaded PORT WORKERS MILLISECONDS plain|protected\n", stderr);
    return 2;
  }
  coracle::runtime runtime(1);
  busy_greeter greets(runtime.at(0), static_cast<std::size_t>(std::atoi(argv[2])),
                      std::chrono::milliseconds(std::atoi(argv[3])));
  coracle::server_options options;
  if (mode == "protected") options.protect();
  coracle::server server(runtime, options);
  server.add(greets);
  // run() logs its errors.
  if (server.listen(std::string("127.0.0.1:") + argv[1], coracle::insecure()).ok()) {
    std::printf("listening on 127.0.0.1:%u\n", unsigned{server.port()});
    std::fflush(stdout);
  }
  return server.run();
}
