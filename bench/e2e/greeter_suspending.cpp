// bench_greeter_suspending PORT [CERT KEY]: SayHello in a handler that waits for the loop's next turn before
// it replies, to measure the cost of suspending, compared with bench_greeter.
#include "e2e/serving.hpp"
#include "helloworld.coracle.hpp"

#include <coracle/coro/yield.hpp>

namespace {

class greeter final : public helloworld::rpc::Greeter::service {
  coracle::reply<helloworld::HelloReply> SayHello(coracle::server_context&,
                                                  const helloworld::HelloRequest& request) override {
    co_await coracle::yield();
    helloworld::HelloReply reply;
    reply.set_message(request.name());
    co_return reply;
  }
};

}  // namespace

int main(int argc, char** argv) {
  greeter greets;
  return bench::serve("bench_greeter_suspending", argc, argv, {&greets});
}
