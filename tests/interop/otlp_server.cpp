// otlp_server: a server that exports as the environment says, for otlp_test.py. It calls itself when it
// starts.
#include "echo.coracle.hpp"

#include "coracle/base/fan_out_logger.hpp"
#include "coracle/client.hpp"
#include "coracle/coro/measure.hpp"
#include "coracle/server.hpp"
// --8<-- [start:otlp]
#include "coracle/telemetry/otlp.hpp"
#include "coracle/telemetry/otlp_logger.hpp"
#include "coracle/tls.hpp"
// --8<-- [end:otlp]

#include <cstdio>
#include <string>

namespace {

class echoing final : public echo::rpc::Echo::service {
  coracle::reply<echo::Text> Say(coracle::server_context&, const echo::Text& request) override {
    if (request.text().empty()) return coracle::status::not_found("no text");
    return request;
  }
};

constexpr coracle::instrument uploads{.name = "test.uploads",
                                      .description = "Files that clients uploaded.",
                                      .unit = "{file}",
                                      .labels = {"format"},
                                      .optional_labels = {},
                                      .bounds = {}};
constexpr coracle::instrument present{.name = "test.present",
                                      .description = "Files that exist.",
                                      .unit = "{file}",
                                      .kind = coracle::instrument_kind::up_down_counter,
                                      .labels = {},
                                      .optional_labels = {},
                                      .bounds = {}};
constexpr coracle::instrument newest{.name = "test.newest",
                                     .description = "The number of the newest file.",
                                     .unit = "1",
                                     .kind = coracle::instrument_kind::gauge,
                                     .labels = {},
                                     .optional_labels = {},
                                     .bounds = {}};

// Calls the server, measures, and says that it is ready.
coracle::task<> call_itself(coracle::server& server) {
  const std::string address = "127.0.0.1:" + std::to_string(server.port());
  const echo::rpc::Echo::stub stub(coracle::channel(server.owner(), address, coracle::insecure()));
  echo::Text text;
  (void)co_await stub.Say(text);
  text.set_text("hello");
  for (int i = 0; i < 3; ++i) (void)co_await stub.Say(text);

  server.owner()
      .log()
      .in(coracle::log_room::application, coracle::log_trace{{0xab}, {0xcd}, 1})
      .warning("the server is ready", coracle::log_field("calls", 4), coracle::log_field("bytes", "p\xff"));
  coracle::measure(uploads, 2, {"p\xff"});  // not UTF-8
  coracle::measure(uploads, 3, {"jpeg"});
  coracle::measure(present, 5);
  coracle::measure(present, -2);
  coracle::measure(newest, 7.5);
  std::printf("listening on %s\n", address.c_str());
  std::fflush(stdout);
}

}  // namespace

int main() {
  echoing service;
  // --8<-- [start:log]
  coracle::otlp_logger exported;
  coracle::fan_out_logger log({&coracle::stderr_logger(), &exported});
  coracle::runtime runtime({.log = &log});
  coracle::server server(runtime);
  // --8<-- [end:log]
  server.add(service);
  // --8<-- [start:main]
  coracle::otlp_options otlp = coracle::otlp_options::from_environment();
  otlp.use_tls<coracle::tls::client_options>();  // only if an endpoint begins with https
  coracle::with_otlp(server, otlp);
  // --8<-- [end:main]
  if (!server.listen("127.0.0.1:0", coracle::insecure()).ok()) return 1;
  server.owner().spawn(call_itself(server));
  return server.run();
}
