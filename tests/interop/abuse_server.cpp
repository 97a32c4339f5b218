// abuse_server [CERTIFICATE KEY]: the server that abuse_test.py and http1_abuse_test.py attack: small limits,
// and replies as large as the request says. QUOTA_MIB: its memory quota, 32 if it is not set.
#include "echo.coracle.hpp"

#include "coracle/server.hpp"
#include "coracle/tls/server_options.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

using namespace std::chrono_literals;

constexpr const char* rules = R"({"http": {"rules": [
  {"selector": "echo.Echo.SayAtOnce", "get": "/say/{count}",
   "additional_bindings": [{"post": "/say", "body": "*"}]},
  {"selector": "echo.Echo.Repeat", "get": "/repeat"},
  {"selector": "echo.Echo.Collect", "post": "/collect", "body": "*"}]}})";

class generous final : public echo::rpc::Echo::service {
  static echo::Text reply_to(const echo::Text& request) {
    echo::Text reply;
    reply.set_text(std::string(static_cast<std::size_t>(request.count()), 'x'));
    return reply;
  }
  coracle::reply<echo::Text> SayAtOnce(coracle::server_context&, const echo::Text& request) override {
    return reply_to(request);
  }
  // All of them together, a while after the requests.
  coracle::reply<echo::Text> Say(coracle::server_context&, const echo::Text& request) override {
    co_await coracle::sleep_for(200ms);
    co_return reply_to(request);
  }
  coracle::reply<echo::Text> Collect(coracle::server_context&, coracle::reader<echo::Text> texts) override {
    echo::Text all;
    while (const auto one = co_await texts.next()) all.set_count(all.count() + 1);
    co_return all;
  }
  // Without an end.
  coracle::replies<echo::Text> Repeat(coracle::server_context&, const echo::Text&) override {
    echo::Text reply;
    reply.set_text(std::string(1000, 'x'));
    while (true) co_yield reply;
  }
  // Reads nothing.
  coracle::replies<echo::Text> Chat(coracle::server_context&, coracle::reader<echo::Text>) override {
    co_await coracle::sleep_for(1h);
    co_return coracle::status();
  }
};

std::size_t quota_bytes() {
  const char* const mebibytes = std::getenv("QUOTA_MIB");
  return std::size_t{mebibytes ? std::stoul(mebibytes) : 32} << 20;
}

}  // namespace

int main(int count, char** words) {
  generous service;
  coracle::server_options options;
  options.memory = coracle::memory_quota(quota_bytes());
  options.limits = {.handshake_time = 2s, .stall_time = 1s};
  options.drain_grace = 1s;
  coracle::server server(options);
  server.add(service);
  coracle::rest_options rest;
  rest.http_rules = rules;
  if (const coracle::status added = server.add_rest(rest); !added.ok())
    return std::fprintf(stderr, "%s\n", added.to_string().c_str()), 1;
  coracle::server_credentials credentials = coracle::insecure();
  if (count == 3) {
    coracle::tls::server_options tls;
    tls.certificates = {coracle::tls::key_pair::files(words[1], words[2])};
    tls.handshake_timeout = 2s;
    credentials = tls;
  }
  const coracle::status outcome = server.listen("127.0.0.1:0", credentials);
  if (outcome.ok()) std::printf("listening on 127.0.0.1:%u\n", unsigned{server.port()});
  std::fflush(stdout);
  return server.run();
}
