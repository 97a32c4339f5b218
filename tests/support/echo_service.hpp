// echo_service: the service that the end-to-end tests call.
#pragma once

#include "echo.coracle.hpp"

#include "coracle/client.hpp"
#include "coracle/server.hpp"

#include <atomic>
#include <stdexcept>
#include <string>

namespace coracle::testing_support {

using echo_stub = echo::rpc::Echo::stub;

class echo_service : public echo::rpc::Echo::service {
 public:
  // Streams that were read to a clean end.
  std::atomic<int> collected{0};
  // Handlers that have begun to wait, and those that were stopped meanwhile.
  std::atomic<int> hung{0};
  std::atomic<int> stopped{0};
  // The destination of Misbehave("relay").
  const channel* next = nullptr;

  reply<echo::Text> Say(server_context&, const echo::Text& request) override { co_return request; }
  reply<echo::Text> SayAtOnce(server_context&, const echo::Text& request) override { return request; }

  reply<echo::Text> Collect(server_context&, reader<echo::Text> texts) override {
    echo::Text all;
    while (auto one = co_await texts.next()) {
      all.mutable_text()->append(one->text());
      all.set_count(all.count() + 1);
    }
    ++collected;
    co_return all;
  }

  replies<echo::Text> Repeat(server_context&, const echo::Text& request) override {
    echo::Text reply = request;
    for (int i = 0; i < request.count(); ++i) {
      reply.set_count(i);
      co_yield reply;
    }
    if (request.text() == "fail") co_return status::not_found("after the replies");
    co_return status();
  }

  replies<echo::Text> Chat(server_context&, reader<echo::Text> texts) override {
    echo::Text one;
    while (co_await texts.read(one)) co_yield one;
    co_return status();
  }

  reply<echo::Text> Misbehave(server_context& context, const echo::Text& request) override {
    const std::string& text = request.text();
    if (text == "throw") throw std::runtime_error("secret");
    if (text == "throw status") throw status_error(status::aborted("thrown"));
    if (text == "status") co_return status(status_code::not_found, "no such name \xc3\xbc 100%", "details");
    if (text == "metadata") {
      for (const auto field : context.metadata())
        if (field.name.substr(0, 2) == "x-") context.initial_metadata().add(field.name, field.value);
      context.trailing_metadata().add("x-trailer", "late");
      context.trailing_metadata().add("x-trailer-bin", std::string("\0\xff", 2));
      co_return request;
    }
    if (text == "deadline") {
      echo::Text reply;
      reply.set_count(context.deadline() == never
                          ? -1
                          : static_cast<int>((context.deadline() - coro::this_executor().now()) /
                                             std::chrono::milliseconds(1)));
      co_return reply;
    }
    if (text == "relay" || text == "relay deadline") {
      const echo_stub onward(*next);
      echo::Text question;
      question.set_text(text == "relay" ? "hang" : "deadline");
      co_return co_await onward.Misbehave(question);
    }
    if (text == "hang") {
      ++hung;
      try {
        co_await sleep_for(std::chrono::hours(1));
      } catch (const coro::cancelled&) {
        ++stopped;
        throw;
      }
    }
    co_return request;
  }
};

}  // namespace coracle::testing_support
