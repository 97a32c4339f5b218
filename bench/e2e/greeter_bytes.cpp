// bench_greeter_bytes PORT [CERT KEY]: bench_greeter's unary methods, in bytes: the cost of the engine
// without protobuf. The replies are the same, since requests and replies have their only field in the same
// place.
#include "e2e/serving.hpp"

#include <coracle/rpc/bytes_message.hpp>

namespace {

class bytes_echo final : public coracle::service {
 public:
  [[nodiscard]] coracle::method_table methods() const noexcept override {
    static constexpr coracle::method table[] = {
        coracle::unary_method<&bytes_echo::echo>("/helloworld.Greeter/SayHello"),
        coracle::unary_method<&bytes_echo::echo>("/orders.Orders/Echo"),
    };
    return table;
  }

 private:
  coracle::reply<coracle::bytes_message> echo(coracle::server_context&,
                                              const coracle::bytes_message& message) {
    return message;
  }
};

}  // namespace

int main(int argc, char** argv) {
  bytes_echo echoes;
  return bench::serve("bench_greeter_bytes", argc, argv, {&echoes});
}
