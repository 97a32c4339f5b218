// A client that goes away while its handler reads nothing.
#include "support/echo_fixture.hpp"
#include "support/raw_http.hpp"

#include "coracle/coro/event.hpp"
#include "coracle/coro/sleep.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <string>

namespace coracle::unread_stream_test {
namespace {

using namespace std::chrono_literals;
using namespace testing_support;

// Reads nothing until it is stopped.
class deaf_service final : public echo_service {
 public:
  explicit deaf_service(event<>& end) : end_(end) {}
  reply<echo::Text> Collect(server_context&, reader<echo::Text> /*texts*/) override {
    try {
      co_await sleep_for(1h);
    } catch (const coro::cancelled&) {
      end_.set();
      throw;
    }
    co_return status::internal("nothing has stopped the handler");
  }

 private:
  event<>& end_;
};

class unread_streams : public echo_fixture {
 protected:
  service& served() noexcept override { return deaf_; }
  event<> stopped_{rt().at(0)};
  deaf_service deaf_{stopped_};
};
INSTANTIATE_TEST_SUITE_P(Everywhere, unread_streams, every_world_over_tcp, echo_fixture::case_name);

// As much as a connection receives while the handler consumes nothing (http1_options::window_bytes), and a
// little more.
TEST_P(unread_streams, StopTheirHandlerWhenTheClientGoesAway) {
  const auto leave = [](std::string address, event<>& over) -> task<> {
    {
      net::stream s = co_await raw_http::connect(address);
      co_await raw_http::send(
          s,
          "POST /echo.Echo/Collect HTTP/1.1\r\nhost: localhost\r\n"
          "content-type: application/connect+proto\r\ntransfer-encoding: chunked\r\n\r\n");
      const std::string message = echo_fixture::text(std::string(16'000, 'x')).SerializeAsString();
      std::string envelope(1, '\0');
      for (int shift = 24; shift >= 0; shift -= 8)
        envelope.push_back(static_cast<char>(message.size() >> shift));
      char size[16];
      const int digits = std::snprintf(size, sizeof size, "%zx\r\n", envelope.size() + message.size());
      const std::string chunk =
          std::string(size, static_cast<std::size_t>(digits)) + envelope + message + "\r\n";
      for (std::size_t sent = 0; sent < (1u << 20) + 32'000; sent += message.size())
        co_await raw_http::send(s, chunk);
    }
    co_await over;
  };
  run(leave(address_, stopped_));
}

}  // namespace
}  // namespace coracle::unread_stream_test
