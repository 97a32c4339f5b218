// greeter: the service, which the server serves and the test calls.
#pragma once

#include "project_name.coracle.hpp"

#include <coracle/server.hpp>

#include <string>

namespace project_name {

class greeter final : public rpc::Greeter::service {
  // One reply. No `co_await` here, so a plain function is enough.
  coracle::reply<Greeting> Greet(coracle::server_context&, const GreetRequest& request) override {
    if (request.name().empty()) return coracle::status::invalid_argument("name must not be empty");
    Greeting greeting;
    greeting.set_text("Hello, " + request.name());
    return greeting;
  }
};

}  // namespace project_name
