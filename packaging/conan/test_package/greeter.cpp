// A service and a client of it: what the package brings compiles, links and answers.
#include "greeter.coracle.hpp"

#include "coracle/client.hpp"
#include "coracle/server.hpp"

#include <string>

class greetings final : public greeter::rpc::Greeter::service {
  coracle::reply<greeter::Greeting> Greet(coracle::server_context&, const greeter::Name& name) override {
    greeter::Greeting greeting;
    greeting.set_text("Hello, " + name.text());
    return greeting;
  }
};

int main() {
  greetings service;
  coracle::server server;
  server.add(service);
  if (!server.listen("127.0.0.1:0", coracle::insecure()).ok()) return 1;
  server.start();

  coracle::channel channel("127.0.0.1:" + std::to_string(server.port()), coracle::insecure());
  greeter::Name name;
  name.set_text("package");
  const greeter::rpc::Greeter::stub stub(channel);
  const auto greeting = coracle::sync_wait(stub.Greet(name));
  return greeting && greeting->text() == "Hello, package" ? 0 : 1;
}
