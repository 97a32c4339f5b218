// server_by_hand: a server of HTTP/1.1 whose responses are written out by the test.
#pragma once

#include "support/server_fleet.hpp"

#include "coracle/coro/scope.hpp"
#include "coracle/net/listener.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::testing_support {

// Responds to requests whose message is empty, one after the other, by the script of their connection. An
// empty response closes the connection, and so does the end of the script.
class server_by_hand {
 public:
  using script = std::vector<std::string>;
  explicit server_by_hand(std::vector<script> scripts) : scripts_(std::move(scripts)) {}
  duration pause{};  // before each response
  int connections = 0;
  int requests = 0;
  std::string last_request;

  task<> serve(net::address at) {
    auto listening = net::listener::open(at);
    EXPECT_TRUE(listening.ok());
    if (!listening) co_return;
    scope work(co_await coro::this_environment());
    for (const script& s : scripts_) {
      auto next = co_await listening->accept();
      if (!next) break;
      ++connections;
      work.spawn(talk(*std::move(next), s));
    }
    co_await work.join();
    co_await listening->close();
  }

 private:
  static bool is_complete(std::string_view request) {
    if (request.find("transfer-encoding: chunked") != request.npos) return request.ends_with("0\r\n\r\n");
    return request.ends_with("\r\n\r\n");
  }
  task<> talk(net::stream line, script s) {
    for (const std::string& response : s) {
      std::string request;
      std::array<std::uint8_t, 4096> piece;
      while (!is_complete(request)) {
        const auto n = co_await line.read(piece);
        if (!n || *n == 0) co_return;
        request.append(as_text({piece.data(), *n}));
      }
      ++requests;
      last_request = request;
      if (pause > duration::zero()) co_await sleep_for(pause);
      if (response.empty()) break;
      (void)co_await line.write(as_bytes(response));
    }
    line.close();
  }
  std::vector<script> scripts_;
};

// A simulated world with one such server.
class a_server_by_hand : public server_fleet {
 protected:
  server_by_hand& serve(std::vector<server_by_hand::script> s) {
    by_hand_ = std::make_unique<server_by_hand>(std::move(s));
    world_.host("hand").spawn(by_hand_->serve(*net::address::parse("0.0.0.0:50051")));
    wait(std::chrono::milliseconds(1));
    return *by_hand_;
  }
  std::unique_ptr<server_by_hand> by_hand_;
};

}  // namespace coracle::testing_support
