// The code of docs/guides/http_routes.md.
// --8<-- [start:includes]
#include <coracle/server.hpp>

#include <chrono>
#include <string>
// --8<-- [end:includes]

#include "support/raw_http.hpp"

#include <coracle/runtime/sync_wait.hpp>

#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace coracle::http_routes_test {
namespace {

namespace raw_http = testing_support::raw_http;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

// --8<-- [start:handler]
coracle::task<coracle::http_response> greet(coracle::http_request request) {
  const std::string name(request.path_parameter("name"));
  if (name == "nobody") co_return coracle::http_response::text("nobody is here\n", 404);
  const bool loud = request.parameter("loud") == "yes";
  co_return coracle::http_response::text("Hello, " + name + (loud ? "!\n" : ".\n"))
      .header("cache-control", "no-store");
}
// --8<-- [end:handler]

void add_routes(coracle::server& server) {
  // --8<-- [start:routes]
  server.add_http("GET", "/greetings/{name}", greet);  // GET /greetings/Ada?loud=yes

  // For load balancers and container platforms that ask over HTTP.
  server.add_http("GET", "/healthz", [](coracle::http_request) -> coracle::task<coracle::http_response> {
    co_return coracle::http_response::text("ok\n");
  });
  // --8<-- [end:routes]
}

void add_upload(coracle::server& server) {
  // --8<-- [start:upload]
  coracle::http_route upload;
  upload.method = "POST";
  upload.path = "/pictures";
  upload.content_types = {"image/png", "image/jpeg"};
  upload.max_body_bytes = std::size_t{16} << 20;
  upload.handler = [](coracle::http_request request) -> coracle::task<coracle::http_response> {
    co_return coracle::http_response::json("{\"bytes\": " + std::to_string(request.body().size()) + "}", 201);
  };
  server.add_http(upload);
  // --8<-- [end:upload]
}

// --8<-- [start:events]
coracle::async_generator<std::string> ticks(coracle::http_request request) {
  const auto drain = request.drain_token();
  for (int i = 1; !drain.stop_requested(); ++i) {
    co_yield "id: " + std::to_string(i) + "\ndata: tick\n\n";
    (void)co_await coracle::stop_on(drain, coracle::sleep_for(1s));  // ends early when the server drains
  }
}

coracle::task<coracle::http_response> events(coracle::http_request request) {
  co_return coracle::http_response::stream("text/event-stream", ticks(std::move(request)));
}
// --8<-- [end:events]

coracle::status add_page(coracle::server& server, const std::string& folder) {
  // --8<-- [start:files]
  coracle::status added = coracle::add_files(server, "/", folder);  // GET / is its index.html
  if (!added.ok()) return added;
  coracle::static_file_options forever;  // files whose names change with their contents
  forever.cache_control = "public, max-age=31536000, immutable";
  return coracle::add_files(server, "/assets", folder + "/assets", forever);
  // --8<-- [end:files]
}

coracle::server_options options() {
  // --8<-- [start:options]
  coracle::server_options options;
  options.web.hsts = std::chrono::hours(24 * 365);  // over TLS: browsers use TLS only, for a year
  // --8<-- [end:options]
  return options;
}

class HttpRoutesGuide : public ::testing::Test {
 protected:
  HttpRoutesGuide() {
    std::string name = (std::filesystem::temp_directory_path() / "coracle-guide-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    std::filesystem::create_directory(folder_ / "assets");
    std::ofstream(folder_ / "index.html") << "the page";
    std::ofstream(folder_ / "assets/app.js") << "let a;";
  }
  ~HttpRoutesGuide() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
};

TEST_F(HttpRoutesGuide, ItsRoutesAnswer) {
  coracle::runtime rt(coracle::runtime_options{.loops = 1});
  rt.start();
  coracle::server server(rt, options());
  add_routes(server);
  add_upload(server);
  server.add_http("GET", "/events", events);
  ASSERT_EQ(add_page(server, folder_.string()), coracle::status());
  ASSERT_EQ(server.listen("127.0.0.1:0", coracle::insecure()), coracle::status());
  const std::string address = "127.0.0.1:" + std::to_string(server.port());
  const auto ask = [&](const std::string& line, const std::string& fields = {},
                       const std::string& body = {}) {
    return raw_http::parse(
        coracle::sync_wait(rt, raw_http::exchange(address, raw_http::request(line, fields, body))));
  };
  EXPECT_EQ(ask("GET /greetings/Ada?loud=yes").body, "Hello, Ada!\n");
  EXPECT_EQ(ask("GET /greetings/nobody").status(), 404);
  EXPECT_EQ(ask("GET /healthz").body, "ok\n");
  EXPECT_EQ(ask("POST /pictures", "content-type: image/png\r\n", "png").body, "{\"bytes\": 3}");
  EXPECT_EQ(ask("POST /pictures", "content-type: text/csv\r\n", "csv").status(), 415);
  EXPECT_EQ(ask("GET /").body, "the page");
  EXPECT_THAT(ask("GET /assets/app.js").field("cache-control"), HasSubstr("immutable"));
  const auto first_event = [](std::string to, coracle::server& of) -> coracle::task<std::string> {
    coracle::net::stream s = co_await raw_http::connect(to);
    co_await raw_http::send(s, raw_http::request("GET /events"));
    std::string all;
    co_await raw_http::receive_until(s, all, "data: tick\n\n");
    of.stop();
    co_await raw_http::receive_until(s, all, {});
    co_return all;
  };
  EXPECT_THAT(raw_http::parse(coracle::sync_wait(rt, first_event(address, server))).body,
              ::testing::MatchesRegex("id: 1\ndata: tick\n\n(.|\n)*"))
      << "and the end of the stream";
}

}  // namespace
}  // namespace coracle::http_routes_test
