// bench_greeter_in_place PORT [CERT KEY]: SayHello from a handler that constructs its reply in place, to
// measure the cost of returning it by value, as bench_greeter does.
#include "e2e/serving.hpp"
#include "helloworld.coracle.hpp"

namespace {

class greeter final : public helloworld::rpc::Greeter::service {
  coracle::reply<helloworld::HelloReply> SayHello(coracle::server_context& context,
                                                  const helloworld::HelloRequest& request) override {
    auto& reply = context.make_reply<helloworld::HelloReply>();
    reply.set_message(request.name());
    return &reply;
  }
};

}  // namespace

int main(int argc, char** argv) {
  greeter greets;
  return bench::serve("bench_greeter_in_place", argc, argv, {&greets});
}
