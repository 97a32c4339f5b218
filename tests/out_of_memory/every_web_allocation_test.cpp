// The same for requests of HTTP/1.1: unary calls of Connect, streams of gRPC-Web, and REST.
#include "out_of_memory/everything.hpp"
#include "out_of_memory/failing_host.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>

namespace coracle::every_web_allocation_test {
namespace {

using namespace test;

constexpr const char* rules = R"({"http": {"rules": [
  {"selector": "echo.Echo.Say", "get": "/say/{text}",
   "additional_bindings": [{"post": "/say", "body": "*"}]},
  {"selector": "echo.Echo.Repeat", "get": "/repeat/{text}"},
  {"selector": "echo.Echo.Collect", "post": "/collect", "body": "*"}]}})";

struct web_calls {
  static task<> connect(echo_stub s, outcomes& out) {
    const echo::Text small = text("small");
    for (int i = 0; i < 2; ++i) {
      const auto reply = co_await s.Say(small);
      out.add("a unary call of Connect", reply.status());
    }
    const echo::Text large = text(std::string(100'000, 'x'));
    call_options packed;
    packed.compression = encoding::gzip;
    packed.add_metadata("x-reply", "gzip");
    const auto back = co_await s.Say(large, packed);
    out.add("a compressed call of Connect", back.status());
    const echo::Text thrown = text("throw status");
    const auto failed = co_await s.Misbehave(thrown);
    out.add("a failed call of Connect",
            failed.status().code() == status_code::aborted ? status() : failed.status());
  }

  static task<> grpc_web(echo_stub s, outcomes& out) {
    const echo::Text one = text(std::string(2'000, 'x'), 20);
    auto repeating = s.Repeat(one);
    const status repeated = co_await repeating.finish();
    out.add("a server's stream of gRPC-Web", repeated);
    auto collecting = s.Collect();
    for (int i = 0; i < 5; ++i) {
      const status written = co_await collecting.write(one);
      out.add("a write of gRPC-Web", written);
    }
    const auto collected = co_await collecting.finish();
    out.add("a client's stream of gRPC-Web", collected.status());
  }

  // Returns what the server answers to `request`, up to the end of the connection.
  static task<std::string> exchange(std::string at, std::string request) {
    std::string all;
    auto connected = co_await net::stream::connect(net::address::parse(at).value());
    if (!connected) co_return all;
    static_cast<void>(co_await connected->write(as_bytes(request)));
    std::uint8_t room[4096];
    while (true) {
      const auto got = co_await connected->read(room);
      if (!got || *got == 0) co_return all;
      all.append(reinterpret_cast<const char*>(room), *got);
    }
  }

  static std::string request(std::string_view line, std::string_view body, std::string_view fields = {}) {
    std::string r(line);
    r.append(" HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n").append(fields);
    if (!body.empty())
      r.append("content-type: application/json\r\ncontent-length: ")
          .append(std::to_string(body.size()))
          .append("\r\n");
    return r.append("\r\n").append(body);
  }

  // The codes of success, of the errors that are meant, and of a server without memory; none if the
  // connection was closed.
  static void check(outcomes& out, const std::string& response, std::string_view meant) {
    const std::string_view code =
        response.size() < 12 ? std::string_view() : std::string_view(response).substr(9, 3);
    if (code.empty() || code == meant || code == "503" || code == "429") return;
    out.must_be_ok("a request of REST", status::unknown(response));
  }

  static task<> rest(std::string at, outcomes& out) {
    check(out, co_await exchange(at, request("GET /say/a%20b?count=3", {})), "200");
    check(out, co_await exchange(at, request("POST /say", R"({"text": "hello", "count": 1})")), "200");
    check(out, co_await exchange(at, request("POST /say", R"({"text": 1})")), "400");
    check(out, co_await exchange(at, request("GET /repeat/a?count=3", {}, "accept: text/event-stream\r\n")),
          "200");
    check(out, co_await exchange(at, request("POST /collect", R"([{"text": "a"}, {"text": "b"}])")), "200");
    check(out,
          co_await exchange(at,
                            "POST /say HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
                            "content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
                            "2;a=b\r\n{}\r\n0\r\nx-trailer: 1\r\n\r\n"),
          "200");
    check(out, co_await exchange(at, "GET /say/a HTTP/1.1\r\nhost : localhost\r\n\r\n"), "400");
  }

  static task<> all(echo_stub connect_stub, echo_stub web_stub, std::string at, outcomes& out) {
    co_await connect(connect_stub, out);
    co_await grpc_web(web_stub, out);
    co_await rest(at, out);
  }
  static task<> of_client(echo_stub connect_stub, echo_stub web_stub, outcomes& out) {
    co_await connect(connect_stub, out);
    co_await grpc_web(web_stub, out);
  }
  static task<> one_of_each(echo_stub connect_stub, echo_stub web_stub, std::string at, outcomes& out) {
    co_await everything::one_call(connect_stub, out);
    co_await everything::one_call(web_stub, out);
    const std::string response = co_await exchange(at, request("GET /say/still", {}));
    if (!response.starts_with("HTTP/1.1 200 "))
      out.must_be_ok("a request of REST after all this", status::unknown(response));
  }
};

channel to_server(runtime& from, const std::string& at, call_protocol protocol) {
  channel_options options;
  options.http_version = http_version::http1;
  options.protocol = protocol;
  return channel(from, at, insecure(), options);
}

// A server that answers all protocols.
struct served {
  explicit served(runtime& host) : server_(host) {
    server_.add(service_);
    rest_options o;
    o.http_rules = rules;
    listening = server_.add_rest(o);
    if (listening.ok()) listening = server_.listen("0.0.0.0:50051", insecure());
  }
  packing_service service_;
  server server_;
  status listening;
};

// Channels that speak two protocols to the server.
struct web_channels {
  explicit web_channels(two_hosts& hosts, call_protocol web_protocol = call_protocol::grpc_web_text)
      : connect(to_server(hosts.client, hosts.server_address, call_protocol::connect)),
        web(to_server(hosts.client, hosts.server_address, web_protocol)) {}
  const channel connect;
  const channel web;
};

std::string play_server() {
  outcomes out;
  two_hosts hosts(two_hosts::failing::server);
  const std::string& at = hosts.server_address;
  {
    const served s(hosts.server);
    if (!s.listening.ok()) return s.listening.to_string();
    hosts.world.run_for(std::chrono::milliseconds(1));  // what belongs to the start
    {
      const web_channels to(hosts);
      if (!with_failing_allocations([&] {
            sync_wait(hosts.client, web_calls::all(echo_stub(to.connect), echo_stub(to.web), at, out));
          }))
        return reached_the_client;
    }
    const web_channels to(hosts, call_protocol::grpc_web);
    sync_wait(hosts.client, web_calls::one_of_each(echo_stub(to.connect), echo_stub(to.web), at, out));
  }
  return out.wrong();
}

std::string play_client() {
  outcomes out;
  two_hosts hosts(two_hosts::failing::client);
  {
    const served s(hosts.server);
    if (!s.listening.ok()) return s.listening.to_string();
    const web_channels to(hosts);
    const auto one_of_each = [&] {
      sync_wait(hosts.client,
                web_calls::one_of_each(echo_stub(to.connect), echo_stub(to.web), hosts.server_address, out));
    };
    one_of_each();
    // An allocation of the test, or of making a call, fails with an exception for the caller.
    with_failing_allocations([&] {
      sync_wait(hosts.client, web_calls::of_client(echo_stub(to.connect), echo_stub(to.web), out));
    });
    one_of_each();
  }
  return out.wrong();
}

TEST(EveryAllocationForTheWeb, OfAServerMayFail) { expect_each_may_fail(play_server, 200); }

TEST(EveryAllocationForTheWeb, OfAClientMayFail) { expect_each_may_fail(play_client, 100); }

}  // namespace
}  // namespace coracle::every_web_allocation_test
