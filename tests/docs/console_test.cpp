// The code of docs/guides/console.md.
// --8<-- [start:includes]
#include <coracle/console/console.hpp>
#include <coracle/server.hpp>
// --8<-- [end:includes]

#include "support/raw_http.hpp"

#include <coracle/runtime/sync_wait.hpp>

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace coracle::console_guide_test {
namespace {

namespace raw_http = testing_support::raw_http;
using ::testing::HasSubstr;

void add_local_page(coracle::server& server) {
  // --8<-- [start:local]
  coracle::with_console(server);
  // --8<-- [end:local]
}

void add_page(coracle::server& server, const std::string& name_and_password) {
  // --8<-- [start:authorize]
  coracle::console_options console;
  // HTTP's Basic authentication: "name:password" in base64.
  console.authorize = [expected = "Basic " + name_and_password](const coracle::http_request& request) {
    if (request.header("authorization").value_or("") == expected) return coracle::status();
    return coracle::status::unauthenticated("a name and a password are needed");
  };
  coracle::with_console(server, console);
  // --8<-- [end:authorize]
}

// --8<-- [start:comments]
void add_page_with_comments(coracle::server& server, const std::string& protoset_path) {
  std::ifstream file(protoset_path, std::ios::binary);
  coracle::console_options console;
  console.descriptor_set.assign(std::istreambuf_iterator<char>(file), {});
  coracle::with_console(server, console);
}
// --8<-- [end:comments]

class ConsoleGuide : public ::testing::Test {
 protected:
  ConsoleGuide() : rt_(coracle::runtime_options{.loops = 1}), server_(rt_) { rt_.start(); }

  raw_http::response ask(const std::string& fields = {}) {
    const std::string address = "127.0.0.1:" + std::to_string(server_.port());
    return raw_http::parse(
        coracle::sync_wait(rt_, raw_http::exchange(address, raw_http::request("GET /console/", fields))));
  }

  coracle::runtime rt_;
  coracle::server server_;
};

TEST_F(ConsoleGuide, ItsLocalPageAnswersOnThisMachine) {
  add_local_page(server_);
  EXPECT_FALSE(server_.listen("0.0.0.0:0", coracle::insecure()).ok());
  ASSERT_EQ(server_.listen("127.0.0.1:0", coracle::insecure()), coracle::status());
  EXPECT_THAT(ask().body, HasSubstr("<title>Coracle console</title>"));
}

TEST_F(ConsoleGuide, ItsProtectedPageAsksForAPassword) {
  add_page(server_, "bWU6aHVzaA==");  // me:hush
  ASSERT_EQ(server_.listen("0.0.0.0:0", coracle::insecure()), coracle::status());
  EXPECT_EQ(ask().status(), 401);
  EXPECT_EQ(ask("authorization: Basic bWU6d3Jvbmc=\r\n").status(), 401);
  EXPECT_THAT(ask("authorization: Basic bWU6aHVzaA==\r\n").body, HasSubstr("<title>Coracle console</title>"));
}

TEST_F(ConsoleGuide, ItsPageTakesTheCommentsOfAFile) {
  ASSERT_TRUE(std::filesystem::exists(CORACLE_MOVIE_PROTOSET));
  add_page_with_comments(server_, CORACLE_MOVIE_PROTOSET);
  ASSERT_EQ(server_.listen("127.0.0.1:0", coracle::insecure()), coracle::status());
  EXPECT_THAT(ask().body, HasSubstr("<title>Coracle console</title>"));
}

}  // namespace
}  // namespace coracle::console_guide_test
