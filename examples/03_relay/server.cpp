// relay_server: carries letters to the next server of a chain, or is the last one and holds them.
#include "../command_line.hpp"
#include "relay.coracle.hpp"

#include <coracle/client.hpp>
#include <coracle/server.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <optional>
#include <utility>

namespace {

// --8<-- [start:carrier]
// A server in the middle. Deadline, cancellation and baggage are not mentioned: a call that a handler makes inherits them.
class carrier final : public relay::rpc::Relay::service {
 public:
  explicit carrier(coracle::channel next) : next_(std::move(next)) {}

  coracle::reply<relay::Receipt> Carry(coracle::server_context&, const relay::Letter& letter) override {
    auto receipt = co_await next_.Carry(letter);
    if (receipt) receipt->set_hops(receipt->hops() + 1);
    co_return receipt;
  }

  coracle::reply<relay::Desk> LookAtDesk(coracle::server_context&,
                                         const relay::LookAtDeskRequest& request) override {
    co_return co_await next_.LookAtDesk(request);
  }

 private:
  relay::rpc::Relay::stub next_;
};
// --8<-- [end:carrier]

// Counts a letter as held, and as recalled when its handler is unwound before its time is up.
class held_letter {
 public:
  held_letter(std::atomic<int>& holding, std::atomic<int>& recalled)
      : holding_(holding), recalled_(recalled) {
    ++holding_;
  }
  held_letter(const held_letter&) = delete;
  held_letter& operator=(const held_letter&) = delete;
  ~held_letter() {
    --holding_;
    if (!answered_) ++recalled_;
  }
  void answered() noexcept { answered_ = true; }

 private:
  std::atomic<int>& holding_;
  std::atomic<int>& recalled_;
  bool answered_ = false;
};

// The last server.
class recipient final : public relay::rpc::Relay::service {
  coracle::reply<relay::Receipt> Carry(coracle::server_context& context,
                                       const relay::Letter& letter) override {
    relay::Receipt receipt;
    receipt.set_text("read: " + letter.text());
    receipt.set_deadline_left_ms(left_ms(context.deadline()));
    receipt.set_sender(context.baggage().find("sender").value_or("nobody"));
    held_letter held(holding_, recalled_);
    co_await coracle::sleep_for(std::chrono::milliseconds(letter.hold_ms()));  // throws when the call is over
    held.answered();
    co_return receipt;
  }

  coracle::reply<relay::Desk> LookAtDesk(coracle::server_context&, const relay::LookAtDeskRequest&) override {
    relay::Desk desk;
    desk.set_holding(holding_);
    desk.set_recalled(recalled_);
    return desk;
  }

  static std::int64_t left_ms(coracle::time_point deadline) {
    if (deadline == coracle::never) return -1;
    return std::chrono::duration_cast<std::chrono::milliseconds>(deadline -
                                                                 coracle::coro::this_executor().now())
        .count();
  }

  // Handlers may run on several threads when a server has several loops.
  std::atomic<int> holding_{0};
  std::atomic<int> recalled_{0};
};

}  // namespace

int main(int argc, char** argv) {
  return examples::run("relay_server", [&] {
    const examples::command_line line(argc, argv, "--port=PORT [--next=ADDRESS]");
    const auto port = line.port("port");
    coracle::runtime runtime;
    std::optional<carrier> middle;
    recipient last;
    coracle::server server(runtime);
    if (const auto address = line.option("next")) {
      server.add(middle.emplace(coracle::channel(runtime, *address, coracle::insecure())));
    } else {
      server.add(last);
    }
    const auto address = "127.0.0.1:" + std::to_string(port);
    server.listen(address, coracle::insecure()).throw_if_error();
    std::printf("listening on 127.0.0.1:%u\n", unsigned{server.port()});
    std::fflush(stdout);
    return server.run();
  });
}
