// The code of docs/guides/console.md.
// --8<-- [start:includes]
#include <coracle/console/console.hpp>
#include <coracle/server.hpp>
// --8<-- [end:includes]

#include "support/raw_http.hpp"

#include <coracle/runtime/sync_wait.hpp>

#include <gtest/gtest.h>

#include <string>

namespace coracle::console_guide_test {
namespace {

namespace raw_http = testing_support::raw_http;

void add_page(coracle::server& server) {
  // --8<-- [start:page]
  coracle::with_console(server);  // http://127.0.0.1:50051/console
  // --8<-- [end:page]
}

void add_protected_page(coracle::server& server) {
  // --8<-- [start:authorize]
  coracle::console_options console;
  console.path = "/internal/console";
  console.authorize = [](const coracle::http_request& request) -> coracle::status {
    const auto sent = request.header("authorization");
    if (!sent) return coracle::status::unauthenticated("log in");            // 401, the browser asks
    if (*sent == "Basic b3BlcmF0b3I6c2VjcmV0") return {};                    // operator:secret
    return coracle::status::permission_denied("this is for operators only");  // 403
  };
  coracle::with_console(server, console);
  // --8<-- [end:authorize]
}

int status_of(coracle::runtime& on, const coracle::server& server, const std::string& path,
              const std::string& fields = {}) {
  const std::string address = "127.0.0.1:" + std::to_string(server.port());
  return raw_http::parse(
             sync_wait(on, on.at(0), raw_http::exchange(address, raw_http::request("GET " + path, fields))))
      .status();
}

TEST(console_guide, APageOfThisMachine) {
  coracle::runtime on({.loops = 1});
  coracle::server server(on);
  add_page(server);
  ASSERT_TRUE(server.listen("127.0.0.1:0", coracle::insecure()).ok());
  EXPECT_EQ(status_of(on, server, "/console/"), 200);
}

TEST(console_guide, APageThatAsksWhoOneIs) {
  coracle::runtime on({.loops = 1});
  coracle::server server(on);
  add_protected_page(server);
  ASSERT_TRUE(server.listen("0.0.0.0:0", coracle::insecure()).ok());
  EXPECT_EQ(status_of(on, server, "/internal/console/"), 401);
  EXPECT_EQ(status_of(on, server, "/internal/console/", "authorization: Basic eDp5\r\n"), 403);
  EXPECT_EQ(status_of(on, server, "/internal/console/", "authorization: Basic b3BlcmF0b3I6c2VjcmV0\r\n"),
            200);
}

}  // namespace
}  // namespace coracle::console_guide_test
