// pages_server [AUTHORIZE | CHAIN KEY...]: a server with pages for operators, for operator_pages_test.py: it
// has made calls that ended well and not, has one in progress, and a channel that reaches no server.
// AUTHORIZE is the value of the header field "authorization" that the pages then need. With files of
// certificates and keys it listens on a port with TLS, too. GET /burn makes a thread use a CPU until GET
// /rest, and GET /hoard takes 64 MiB.
#include "support/echo_service.hpp"

// --8<-- [start:includes]
#include <coracle/server.hpp>
#include <coracle/telemetry/with_pages.hpp>
// --8<-- [end:includes]

#include "coracle/client.hpp"
#include "coracle/tls.hpp"

#include "coracle/runtime/offload.hpp"

#include <unistd.h>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace {

using coracle::testing_support::echo_service;
using coracle::testing_support::echo_stub;

coracle::task<> make_calls(echo_stub stub, echo_stub nowhere) {
  echo::Text text;
  text.set_text("hello");
  for (int i = 0; i < 20; ++i) {
    const auto reply = co_await stub.Say(text);
    if (!reply) std::fprintf(stderr, "%s\n", reply.status().to_string().c_str());
  }
  text.set_text("status");
  (void)co_await stub.Misbehave(text);  // NOT_FOUND
  coracle::call_options soon;
  soon.timeout = std::chrono::seconds(5);
  (void)co_await nowhere.Say(text, soon);  // UNAVAILABLE
}

// A call whose requests do not end.
coracle::task<> stay(echo_stub stub) {
  auto call = stub.Chat();
  echo::Text text;
  text.set_text("hello");
  (void)co_await call.write(text);
  while (true) {
    const auto more = co_await call.read(text);
    if (!more.ok() || !*more) break;
  }
}

void add_local_pages(coracle::server& server) {
  // --8<-- [start:local]
  coracle::with_pages(server);
  // --8<-- [end:local]
}

void add_pages(coracle::server& server, const std::string& needed) {
  // --8<-- [start:authorize]
  coracle::pages_options pages;
  pages.authorize = [needed](const coracle::http_request& request) {
    if (request.header("authorization").value_or("") == needed) return coracle::status();
    return coracle::status::permission_denied("these pages are not for you");
  };
  coracle::with_pages(server, pages);
  // --8<-- [end:authorize]
}

std::atomic<bool> burning{false};

// What a profile must name.
[[gnu::noinline]] void burn_cpu() {
  volatile std::uint32_t number = 1;
  while (burning.load(std::memory_order_relaxed)) number = number * 1'664'525U + 1'013'904'223U;
}

[[gnu::noinline]] std::unique_ptr<std::string> hoard_memory() {
  return std::make_unique<std::string>((std::size_t{64} << 20) - 1, 'x');
}

coracle::task<> burn() { co_await coracle::offload(&burn_cpu); }

void add_burning(coracle::server& server, coracle::runtime& runtime) {
  server.add_http("GET", "/burn", [&runtime](coracle::http_request) -> coracle::task<coracle::http_response> {
    if (!burning.exchange(true)) runtime.spawn(burn());
    co_return coracle::http_response::text("burning\n");
  });
  server.add_http("GET", "/hoard", [](coracle::http_request) -> coracle::task<coracle::http_response> {
    static const std::unique_ptr<std::string> hoard = hoard_memory();
    co_return coracle::http_response::text("hoarded " + std::to_string(hoard->size()) + " bytes\n");
  });
  server.add_http("GET", "/rest", [](coracle::http_request) -> coracle::task<coracle::http_response> {
    burning = false;
    co_return coracle::http_response::text("at rest\n");
  });
}

int fail(const coracle::status& reason) {
  std::fprintf(stderr, "%s\n", reason.to_string().c_str());
  return 1;
}

}  // namespace

int main(int count, char** words) {
  coracle::runtime runtime(2);
  echo_service service;
  coracle::server server(runtime);
  server.add(service);
  if (count == 2) add_pages(server, words[1]);
  else add_local_pages(server);
  add_burning(server, runtime);
  if (const coracle::status outcome = server.listen("127.0.0.1:0", coracle::insecure()); !outcome.ok())
    return fail(outcome);
  coracle::tls::server_options tls;
  for (int i = 1; i + 1 < count; i += 2)
    tls.certificates.push_back(coracle::tls::key_pair::files(words[i], words[i + 1]));
  if (!tls.certificates.empty())
    if (const coracle::status outcome = server.listen("127.0.0.1:0", tls); !outcome.ok())
      return fail(outcome);
  server.start();
  const coracle::channel channel(runtime, "127.0.0.1:" + std::to_string(server.port()), coracle::insecure());
  const coracle::channel nowhere(runtime, "127.0.0.1:1", coracle::insecure());
  coracle::sync_wait(runtime, runtime.at(0), make_calls(echo_stub(channel), echo_stub(nowhere)));
  runtime.spawn(stay(echo_stub(channel)));
  std::printf("listening on 127.0.0.1:%u\n", unsigned{server.port()});
  std::fflush(stdout);
  while (true) ::pause();  // until a signal ends the process
}
