// restart_pair serve PORT | call PORT: a server that restarts.py restarts repeatedly, and a client that
// retries its idempotent calls. The client answers each line of its input with the numbers of its completed
// and lost calls, and ends with its input.
#include "echo.coracle.hpp"

#include "coracle/client.hpp"
#include "coracle/client/service_config.hpp"
#include "coracle/server.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>

namespace {

using namespace std::chrono_literals;

class echoing final : public echo::rpc::Echo::service {
  coracle::reply<echo::Text> Say(coracle::server_context&, const echo::Text& request) override {
    co_await coracle::sleep_for(10ms);  // so that a restart interrupts calls
    co_return request;
  }
};

int serve(const std::string& port) {
  echoing service;
  coracle::server server;
  server.add(service);
  const coracle::status outcome = server.listen("127.0.0.1:" + port, coracle::insecure());
  if (outcome.ok()) std::printf("listening on 127.0.0.1:%u\n", unsigned{server.port()});
  else std::printf("%s\n", outcome.to_string().c_str());
  std::fflush(stdout);
  return server.run();
}

// What the callers, on the channel's thread, report to the reader.
struct tally {
  std::atomic<int> made{0};
  std::atomic<int> lost{0};
  std::atomic<bool> over{false};
  std::atomic<int> running{0};
};

coracle::task<> call_until_over(echo::rpc::Echo::stub server, tally& t) {
  for (int i = 0; !t.over; ++i) {
    echo::Text request;
    request.set_count(i);
    const auto reply = co_await server.Say(request);
    if (!reply || reply->count() != i) {
      ++t.lost;
      std::fprintf(stderr, "lost: %s\n", reply.status().to_string().c_str());
    }
    ++t.made;
  }
  --t.running;
}

int call(const std::string& port) {
  const auto config = coracle::service_config::parse(
      R"({"methodConfig":[{"name":[{}],"waitForReady":true,"retryPolicy":{"maxAttempts":5,
          "initialBackoff":"0.01s","maxBackoff":"0.1s","backoffMultiplier":2,
          "retryableStatusCodes":["UNAVAILABLE"]}}]})");
  coracle::channel_options options;
  options.service_config = config.value();
  coracle::channel retrying("127.0.0.1:" + port, coracle::insecure(), options);
  tally t;
  constexpr int callers = 4;
  t.running = callers;
  for (int i = 0; i < callers; ++i)
    retrying.owner().spawn(call_until_over(echo::rpc::Echo::stub(retrying), t));
  retrying.owner().start();
  for (std::string line; std::getline(std::cin, line);) {
    std::printf("made %d lost %d\n", t.made.load(), t.lost.load());
    std::fflush(stdout);
  }
  t.over = true;
  while (t.running > 0) std::this_thread::sleep_for(1ms);  // sleeps on purpose: until the last call has ended
  std::printf("made %d lost %d\n", t.made.load(), t.lost.load());
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::string_view role = count == 3 ? words[1] : "";
  if (role == "serve") return serve(words[2]);
  if (role == "call") return call(words[2]);
  std::fputs("restart_pair serve PORT | call PORT\n", stderr);
  return 2;
}
