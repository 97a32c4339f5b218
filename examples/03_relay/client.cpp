// relay_client: shows that deadline, baggage and cancellation pass through a chain of servers that never mention them.
#include "../command_line.hpp"
#include "relay.coracle.hpp"

#include <coracle/client.hpp>
#include <coracle/rpc/baggage.hpp>

#include <chrono>
#include <cstdio>
#include <stdexcept>

namespace {

using namespace std::chrono_literals;
using relay_stub = relay::rpc::Relay::stub;

constexpr auto patience = 20s;
constexpr auto long_ms = 60'000;

void require(bool truth, const std::string& expectation) {
  if (!truth) throw std::runtime_error("not as expected: " + expectation);
}

relay::Letter make_letter(const char* text, int hold_ms) {
  relay::Letter letter;
  letter.set_text(text);
  letter.set_hold_ms(hold_ms);
  return letter;
}

// Waits until the last server's desk is as wanted. It is asked over and over: the letters that are recalled cannot tell.
coracle::task<> until_desk_has(const relay_stub& relay, int holding, int recalled) {
  const relay::LookAtDeskRequest request;
  for (auto left = patience / 10ms; left > 0; --left) {
    const auto desk = co_await relay.LookAtDesk(request, coracle::within(patience));
    if (desk.value().holding() == holding && desk->recalled() == recalled) co_return;
    co_await coracle::sleep_for(10ms);
  }
  throw std::runtime_error("not as expected: the last server does not let go of the letter");
}

coracle::task<int> send_a_letter(const relay_stub& relay) {
  const auto letter = make_letter("all is well", 0);
  coracle::baggage carried;
  carried.set("sender", "Ada");
  const auto options = coracle::within(patience).add_metadata("baggage", carried.header());
  const auto receipt = co_await relay.Carry(letter, options);
  const auto left = receipt.value().deadline_left_ms();
  require(left > 0 && left <= std::chrono::milliseconds(patience).count(),
          "the last server sees a deadline in " + std::to_string(left) + " ms");
  std::printf("a letter came back over %d hops; of its 20 s the last server saw %lld ms left\n",
              receipt->hops(), static_cast<long long>(left));
  require(receipt->sender() == "Ada", "the last server takes it for a letter of " + receipt->sender());
  std::printf("the last server found its sender, %s, in the baggage\n", receipt->sender().c_str());
  const auto desk = co_await relay.LookAtDesk(relay::LookAtDeskRequest(), coracle::within(patience));
  co_return desk.value().recalled();
}

coracle::task<> miss_a_deadline(const relay_stub& relay, int recalled_before) {
  const auto letter = make_letter("too late", long_ms);
  const auto receipt = co_await relay.Carry(letter, coracle::within(200ms));
  const auto status = receipt.status();
  require(status.code() == coracle::status_code::deadline_exceeded,
          "the slow letter ended with " + status.to_string());
  co_await until_desk_has(relay, 0, recalled_before + 1);
  std::printf("its deadline passed, and the last server let go of the letter: %s\n",
              examples::printable(status.to_string()).c_str());
}

coracle::task<> carry_until_cancelled(const relay_stub& relay, bool& cancelled) {
  const auto letter = make_letter("never mind", long_ms);
  const auto receipt = co_await relay.Carry(letter);
  cancelled = receipt.status().code() == coracle::status_code::cancelled;
}

coracle::task<> stop_when_held(const relay_stub& relay, int recalled_before, coracle::scope& work) {
  co_await until_desk_has(relay, 1, recalled_before);
  work.request_stop();
}

coracle::task<> cancel(const relay_stub& relay, int recalled_before) {
  bool cancelled = false;
  coracle::scope work(co_await coracle::coro::this_environment());
  work.spawn(carry_until_cancelled(relay, cancelled));
  work.spawn(stop_when_held(relay, recalled_before, work));
  co_await work.join();
  require(cancelled, "the call that was stopped did not end with CANCELLED");
  co_await until_desk_has(relay, 0, recalled_before + 1);
  std::printf("its call was cancelled, and the last server let go of the letter\n");
}

coracle::task<> tour(coracle::channel channel) {
  const relay_stub relay(channel);
  const int recalled = co_await send_a_letter(relay);
  co_await miss_a_deadline(relay, recalled);
  co_await cancel(relay, recalled + 1);
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run("relay_client", [&] {
    const examples::command_line line(argc, argv, "ADDRESS");
    coracle::runtime runtime;
    coracle::channel channel(runtime, line.words().front(), coracle::insecure());
    coracle::sync_wait(runtime, tour(channel));
    return 0;
  });
}
