// greeter: the service, which the server serves and the test calls.
#pragma once

#include "project_name.coracle.hpp"

#include <coracle/server.hpp>

#include <string>

namespace project_name {

class greeter final : public rpc::Greeter::service {
  // A stream of replies. co_yield waits while the client does not read, and ends the handler when the call
  // has ended.
  coracle::replies<Greeting> GreetOften(coracle::server_context&, const GreetOftenRequest& request) override {
    if (request.name().empty()) co_return coracle::status::invalid_argument("name must not be empty");
    Greeting greeting;
    for (int i = 1; i <= request.times(); ++i) {
      greeting.set_text("Hello, " + request.name() + " (" + std::to_string(i) + " of " +
                        std::to_string(request.times()) + ")");
      co_yield greeting;
    }
    co_return coracle::ok;
  }

  // A stream of requests. next() is empty after the last one, and throws if the call ends before.
  coracle::reply<Greeting> GreetAll(coracle::server_context&,
                                    coracle::reader<GreetRequest> requests) override {
    std::string names;
    while (const auto request = co_await requests.next())
      names += (names.empty() ? "" : " and ") + request->name();
    if (names.empty()) co_return coracle::status::invalid_argument("name must not be empty");
    Greeting greeting;
    greeting.set_text("Hello, " + names);
    co_return greeting;
  }

  // Streams in both directions.
  coracle::replies<Greeting> Converse(coracle::server_context&,
                                      coracle::reader<GreetRequest> requests) override {
    Greeting greeting;
    while (const auto request = co_await requests.next()) {
      greeting.set_text("Hello, " + request->name());
      co_yield greeting;
    }
    co_return coracle::ok;
  }
};

}  // namespace project_name
