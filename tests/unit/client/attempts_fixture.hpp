// attempts_fixture: calls with a policy through a real channel to a scripted server, in virtual time.
#pragma once

#include "client/call/call_setup.hpp"
#include "client/call/method_config.hpp"
#include "client/call/retry_controller.hpp"
#include "client/call/retry_policy.hpp"
#include "coracle/client/channel.hpp"
#include "coracle/client/client_observer.hpp"
#include "coracle/client/client_stream.hpp"
#include "coracle/client/unary_call.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "support/scripted_server.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace coracle::testing_support {

using namespace std::chrono_literals;
using text = google::protobuf::StringValue;

inline text text_of(std::string s) {
  text t;
  t.set_value(std::move(s));
  return t;
}

// The channel with the configuration of a method and an observer.
class configured_channel final : public channel {
  class configuring final : public call_channel {
   public:
    explicit configuring(const channel& inner) noexcept : inner_(inner) {}
    void begin(client::call_attempt& a) noexcept override { inner_.implementation().begin(a); }
    loop& blocking_loop() override { return inner_.implementation().blocking_loop(); }
    void set_up(client::call_setup& setup, std::string_view method, loop& here) noexcept override {
      inner_.implementation().set_up(setup, method, here);
      setup.config = &config;
      setup.observer = watcher ? &watcher : nullptr;
    }
    status refusal(loop& here) noexcept override { return inner_.implementation().refusal(here); }
    client::method_config config;
    std::shared_ptr<client_observer> watcher;

   private:
    channel inner_;
  };
  explicit configured_channel(std::shared_ptr<configuring> by)
      : channel(by), config(by->config), watcher(by->watcher) {}

 public:
  explicit configured_channel(const channel& inner)
      : configured_channel(std::make_shared<configuring>(inner)) {}
  client::method_config& config;
  std::shared_ptr<client_observer>& watcher;
};

class attempts_fixture : public testing::Test {
 protected:
  attempts_fixture()
      : server_(host_.at(0)), channel_(std::in_place, host_, server_.way()), calls_(*channel_) {}
  ~attempts_fixture() override {
    channel_->close();
    server_.disconnect();
    world_.run_for(10s);
  }

  template <class T>
  T run(task<T> t) {
    return sync_wait(host_, host_.at(0), std::move(t));
  }
  // Returns the time since the start of the fixture, in ms.
  [[nodiscard]] std::int64_t ms(time_point t) const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(t - began_).count();
  }

  void retry(unsigned attempts, std::initializer_list<status_code> codes = {status_code::unavailable}) {
    auto p = std::make_shared<client::retry_policy>();
    p->max_attempts = attempts;
    p->initial_backoff = 100ms;
    p->max_backoff = 1s;
    p->backoff_multiplier = 2;
    for (const status_code c : codes) p->retryable.add(c);
    calls_.config.retry = std::move(p);
  }
  void hedge(unsigned attempts, duration delay) {
    auto p = std::make_shared<client::hedging_policy>();
    p->max_attempts = attempts;
    p->delay = delay;
    p->non_fatal.add(status_code::unavailable);
    calls_.config.hedging = std::move(p);
  }

  // Makes one unary call; its results stay in the fixture.
  struct answer {
    status outcome;
    std::string text;
    std::string attempt;  // x-attempt of the head: which request answered
    std::string trailer;  // likewise
    time_point ended{};
  };
  static task<answer> say_through(const channel& to, std::string content, call_options options) {
    const text request = text_of(std::move(content));
    unary_call<text> call(to, "/scripted.Service/Method", request, options);
    auto reply = co_await call;
    answer a;
    a.outcome = reply.status();
    if (reply) a.text = reply->value();
    a.attempt = std::string(call.initial_metadata().find("x-attempt").value_or(""));
    a.trailer = std::string(call.trailing_metadata().find("x-trailer").value_or(""));
    a.ended = loop::current()->now();
    co_return a;
  }
  answer say(std::string content, const call_options& options = {}) {
    return run(say_through(calls_, std::move(content), options));
  }
  using stream_call = bidi_call<text, text>;

  sim::world world_{1};
  runtime& host_ = world_.host("host", 1);
  time_point began_ = world_.now();
  scripted_server server_;
  std::optional<channel> channel_;
  configured_channel calls_;
};

}  // namespace coracle::testing_support
