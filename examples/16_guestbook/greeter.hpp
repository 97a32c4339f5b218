// greeter: the service, which the server serves and the test calls.
#pragma once

#include "guestbook.coracle.hpp"

#include <coracle/server.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace guestbook {

class greeter final : public rpc::Greeter::service {
  // One reply. No `co_await` here, so a plain function is enough.
  coracle::reply<Greeting> Greet(coracle::server_context&, const GreetRequest& request) override {
    if (request.name().empty()) return coracle::status::invalid_argument("name must not be empty");
    Greeting greeting;
    greeting.set_text("Hello, " + request.name());
    return greeting;
  }

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

  coracle::reply<SignReply> Sign(coracle::server_context&, const SignRequest& request) override {
    if (request.name().empty())
      return coracle::with_details(coracle::status::invalid_argument("a guest needs a name"),
                                   coracle::bad_request().field("name", "is empty"));
    guests_.push_back(request.name());
    return guest_count();
  }

  coracle::reply<SignReply> SignAll(coracle::server_context&,
                                    coracle::reader<SignRequest> requests) override {
    std::vector<std::string> names;
    while (const auto request = co_await requests.next()) names.push_back(request->name());
    guests_.insert(guests_.end(), names.begin(), names.end());
    co_return guest_count();
  }

  coracle::replies<Guest> ListGuests(coracle::server_context&, const ListGuestsRequest& request) override {
    for (std::size_t i = 0; i < guests_.size(); ++i) {
      Guest guest;
      guest.set_name(guests_[i]);
      co_await coracle::sleep_for(std::chrono::milliseconds(request.pause_ms()));
      co_yield guest;
    }
    co_return coracle::ok;
  }

  SignReply guest_count() const {
    SignReply reply;
    reply.set_guests(static_cast<int>(guests_.size()));
    return reply;
  }

  std::vector<std::string> guests_;
};

}  // namespace guestbook
