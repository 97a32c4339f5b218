// Peers that misuse TLS, deliberately or not.
#include "support/kept_log.hpp"
#include "tls/context.hpp"
#include "tls/engine.hpp"
#include "unit/tls/secured_ends.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

namespace coracle::tls::hostile_peer_test {
namespace {

using namespace std::chrono_literals;

// An engine driven by hand, over a raw connection.
class side_by_hand {
 public:
  side_by_hand(std::unique_ptr<net::duplex> raw, openssl_ptr<SSL> connection, bool server)
      : tls(std::move(connection), server, loop::current()->wall_now()), line(std::move(raw)) {
    line.on_received = [this] {
      tls.feed(as_bytes(line.text));
      tls.keep_unread();
      line.text.clear();
    };
  }
  task<> send_output() {
    const std::string bytes(as_text(tls.output().pending()));
    tls.output().clear();
    if (bytes.empty() || !line.send(bytes)) co_return;
    const std::size_t before = line.sends.size();
    co_await line.until([&] { return line.sends.size() > before || line.end; });
  }
  task<> handshake_step() {
    while (tls.handshake() == engine::step::more) {
      co_await send_output();
      co_await sleep_for(1ms);
    }
    co_await send_output();
  }

  engine tls;
  recorder line;
};

class client_by_hand {
 public:
  explicit client_by_hand(std::unique_ptr<net::duplex> raw)
      : context_(client_context::make(trusting("ca")).value()),
        side(std::move(raw), context_->connection(), false) {
    side.tls.expect_server("localhost", context_->sessions());
  }

 private:
  std::shared_ptr<const client_context> context_;

 public:
  side_by_hand side;
};

// sending: the server is in the middle of a reply, so that the buffers of a reply are in use anyway.
task<> ask_for_keys(bool sending) {
  two_sides sides(served_as("server"), trusting("ca"));
  loop& here = *loop::current();
  net::memory_pair_options small;
  small.buffer_bytes = 20'000;
  auto [c, s] = net::make_memory_duplex_pair(here, here, small);
  client_by_hand client(std::move(c));
  recorder server(sides.server->secure(here, std::move(s)));
  co_await client.side.handshake_step();
  co_await sleep_for(1ms);
  client.side.line.pause();  // reads no more data
  const std::string reply(sending ? 1'000'000 : 1, 'x');
  EXPECT_EQ(sending && server.send(reply), sending);
  for (int i = 0; i < 10'000 && !server.end; ++i) {
    SSL_key_update(&client.side.tls.connection(), SSL_KEY_UPDATE_REQUESTED);
    client.side.tls.handshake();
    if (i % 50 == 49) co_await client.side.send_output();
    if (i % 50 == 49) co_await sleep_for(1ms);
  }
  EXPECT_TRUE(server.end);
  EXPECT_EQ(server.line->end_reason(), "the peer requests TLS responses and does not read them");
  client.side.line.resume();
  co_await server.closed_down(true);
  co_await client.side.line.closed_down(true);
}

task<> stay() {
  loop& here = *loop::current();
  server_options credentials = served_as("server");
  credentials.client_cas.push_back(pem_source::file(testing_support::certificate("ca.pem")));
  two_sides sides(credentials, trusting("ca"));
  auto [c, s] = net::make_memory_duplex_pair(here, here);
  client_by_hand client(std::move(c));
  recorder server(sides.server->secure(here, std::move(s)));
  co_await client.side.handshake_step();
  co_await server.until_end();
  EXPECT_THAT(std::string(server.line->end_reason()), testing::HasSubstr("the client sent no certificate"));
  const time_point began = here.now();
  co_await server.closed_down(true);
  EXPECT_EQ(here.now() - began, limits::close_notify_time);
  co_await client.side.line.closed_down(true);
}

task<> talk_plainly(two_sides& sides) {
  loop& here = *loop::current();
  auto [c, s] = net::make_memory_duplex_pair(here, here);
  recorder client(std::move(c));
  recorder server(sides.server->secure(here, std::move(s)));
  EXPECT_TRUE(client.send("GET / HTTP/1.1\r\n\r\n"));
  co_await server.until_end();
  co_await server.closed_down(true);
  co_await client.closed_down(true);
}

task<> talk_plainly_often(const testing_support::kept_log* log) {
  two_sides sides(served_as("server"), trusting("ca"));
  const std::size_t before = log->text().size();
  for (int i = 0; i < 3; ++i) co_await talk_plainly(sides);
  const std::string first = log->text().substr(before);
  EXPECT_EQ(std::count(first.begin(), first.end(), '\n'), 1) << first;
  EXPECT_THAT(first, testing::StartsWith("TLS with "));
  co_await sleep_for(10s);
  EXPECT_THAT(log->text().substr(before + first.size()), testing::HasSubstr("(and 1 times before in 10 s)"));
}

// As a server without ALPN, which may not support HTTP/2. Every server supports HTTP/1.1.
task<> choose_nothing(std::string wanted) {
  loop& here = *loop::current();
  two_sides sides(served_as("server"), trusting("ca"));
  const auto context = server_context::make(served_as("server")).value();
  openssl_ptr<SSL> connection = context->connection();
  SSL_CTX_set_alpn_select_cb(SSL_get_SSL_CTX(connection.get()), nullptr, nullptr);
  auto [c, s] = net::make_memory_duplex_pair(here, here);
  recorder client(sides.client->secure(here, std::move(c), "localhost", wanted));
  side_by_hand server(std::move(s), std::move(connection), true);
  const bool http1 = wanted == "http/1.1";
  EXPECT_TRUE(client.send("PRI"));
  co_await server.handshake_step();
  if (http1) {
    co_await client.until([&] { return client.handshakes == 1 || client.end; });
    EXPECT_TRUE(client.line->established());
    EXPECT_EQ(client.line->auth()->application_protocol(), "");
    co_await client.closed_down(true);
    co_await server.line.closed_down(true);
    co_return;
  }
  co_await client.until_end();
  EXPECT_EQ(client.line->end_reason(),
            "the TLS handshake failed: the server does not select HTTP/2 (ALPN h2): is it a gRPC server?");
  co_await client.closed_down(true);
  co_await server.line.closed_down(true);
}

class a_rude_client : public a_secured_connection {
 protected:
  a_rude_client() : a_secured_connection(sim::world_options{.log = &log}) {
    log.set_min_level(log_level::info);
  }
  static inline testing_support::kept_log log;
};
TEST_F(a_rude_client, FillsNoLog) { run(talk_plainly_often, &log); }
TEST_F(a_rude_client, ThatStaysAfterItsHandshakeFailedIsCutOff) { run(stay); }
TEST_F(a_rude_client, ThatAsksForKeysAndDoesNotReadIsClosed) { run(ask_for_keys, false); }
TEST_F(a_rude_client, ThatAsksForKeysDuringAReplyAndDoesNotReadIsClosed) { run(ask_for_keys, true); }

class a_rude_server : public a_secured_connection {};
TEST_F(a_rude_server, ThatDoesNotChooseHttp2IsGivenUp) { run(choose_nothing, "h2"); }
TEST_F(a_rude_server, ThatChoosesNoProtocolIsAcceptedForHttp1) { run(choose_nothing, "http/1.1"); }

}  // namespace
}  // namespace coracle::tls::hostile_peer_test
