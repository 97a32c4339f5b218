// observed_server FILE: a server and a channel to it that have made a few calls, for operator_test.py: shows
// both in channelz, and has written the calls to a binary log.
#include "support/echo_service.hpp"

#include "coracle/client.hpp"
#include "coracle/server.hpp"
#include "coracle/services/defaults.hpp"
#include "coracle/telemetry/binary_log.hpp"

#include <unistd.h>
#include <cstdio>
#include <string>
#include <utility>

namespace {

using coracle::testing_support::echo_service;
using coracle::testing_support::echo_stub;

coracle::task<> call(echo_stub stub) {
  coracle::call_options options;
  options.timeout = std::chrono::seconds(60);
  options.add_metadata("x-user", "ada").add_metadata("x-team-bin", std::string("\0\xff", 2));
  echo::Text text;
  text.set_text("hello");
  const auto reply = co_await stub.Say(text, options);
  if (!reply) std::fprintf(stderr, "%s\n", reply.status().to_string().c_str());
  text.set_text("status");
  (void)co_await stub.Misbehave(text);  // NOT_FOUND
  text.set_count(3);
  auto replies = stub.Repeat(text);
  echo::Text one;
  while (true) {
    const auto more = co_await replies.read(one);
    if (!more.ok() || !*more) break;
  }
  (void)co_await replies.finish();
}

int fail(const coracle::status& reason) {
  std::fprintf(stderr, "%s\n", reason.to_string().c_str());
  return 1;
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return fail(coracle::status::failed_precondition("usage: observed_server FILE"));
  // --8<-- [start:log]
  const auto file = coracle::binary_log_file::open(words[1]);
  if (!file) return fail(file.status());
  const auto log = coracle::binary_log::from_environment(*file);
  if (!log) return fail(log.status());  // a malformed filter
  // --8<-- [end:log]
  coracle::runtime runtime(2);
  echo_service service;
  // --8<-- [start:server]
  coracle::server server(runtime);
  coracle::with_binary_log(server, *log);
  // --8<-- [end:server]
  server.add(service);
  coracle::with_defaults(server);
  if (const coracle::status outcome = server.listen("127.0.0.1:0", coracle::insecure()); !outcome.ok())
    return fail(outcome);
  server.start();
  // --8<-- [start:channel]
  coracle::channel_options options;
  options.interceptors.push_back(coracle::binary_log_interceptor(*log));
  // --8<-- [end:channel]
  const coracle::channel channel(runtime, "127.0.0.1:" + std::to_string(server.port()), coracle::insecure(),
                                 options);
  coracle::sync_wait(runtime, runtime.at(0), call(echo_stub(channel)));
  (*file)->flush();
  std::printf("listening on 127.0.0.1:%u\n", unsigned{server.port()});
  std::fflush(stdout);
  while (true) ::pause();  // until a signal ends the process
}
