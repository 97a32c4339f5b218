// bench_greeter PORT [CERT KEY]: the server that the load generators drive, over every protocol of its port.
#include "e2e/copying_greeter.hpp"
#include "e2e/serving.hpp"
#include "idle.coracle.hpp"
#include "orders.coracle.hpp"

namespace {

class order_echo final : public orders::rpc::Orders::service {
  coracle::reply<orders::Order> Echo(coracle::server_context&, const orders::Order& order) override {
    return order;
  }
};

class idle_streams final : public idle::rpc::Idle::service {
  coracle::replies<idle::Msg> Hold(coracle::server_context&, coracle::reader<idle::Msg> messages) override {
    while (const auto message = co_await messages.next()) co_yield *message;
    co_return coracle::ok;
  }
};

// protos/helloworld.rules.yaml says the same to grpc-gateway.
constexpr const char* rest_rules = R"({"http": {"rules": [
  {"selector": "helloworld.Greeter.SayHello", "get": "/hello/{name}",
   "additional_bindings": [{"post": "/hello", "body": "*"}]}
]}})";

}  // namespace

int main(int argc, char** argv) {
  bench::copying_greeter greets;
  order_echo echoes;
  idle_streams holds;
  coracle::server_options options;
  options.codecs = {&coracle::json_codec()};
  coracle::rest_options rest;
  rest.http_rules = rest_rules;
  return bench::serve("bench_greeter", argc, argv, {&greets, &echoes, &holds}, options, &rest);
}
