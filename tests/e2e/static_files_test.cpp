// Files of a folder over plain HTTP: what is served, and what never is.
#include "support/echo_fixture.hpp"
#include "support/raw_frames.hpp"
#include "support/raw_http.hpp"

#include "coracle/base/usage_error.hpp"
#include "coracle/services/static_files.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace coracle::static_files_test {
namespace {

using namespace std::string_literals;
using namespace testing_support;
using ::testing::HasSubstr;
using ::testing::StartsWith;
namespace fs = std::filesystem;

constexpr std::time_t in_1994 = 784'111'777;
constexpr const char* date_in_1994 = "Sun, 06 Nov 1994 08:49:37 GMT";

// A folder of its own with a folder "web" in it, removed at the end.
class scratch {
 public:
  scratch() {
    std::string name = (fs::temp_directory_path() / "coracle-files-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    fs::create_directory(web());
  }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  ~scratch() { fs::remove_all(root_); }

  [[nodiscard]] fs::path root() const { return root_; }
  [[nodiscard]] fs::path web() const { return root_ / "web"; }
  // Writes a file below "web", which was changed in 1994.
  void write(const std::string& name, std::string_view content, std::time_t changed = in_1994) const {
    const fs::path path = web() / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
    const timespec times[2] = {{changed, 0}, {changed, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }

 private:
  fs::path root_;
};

class static_files : public echo_fixture {
 protected:
  void SetUp() override {
    if (!world_.get()) GTEST_SKIP() << world_.missing();
    server_.emplace(rt());
    server_->add(served());
  }
  // Serves the folder "web".
  void serve_at(std::string_view path, const static_file_options& options = {}) {
    ASSERT_EQ(add_files(*server_, path, folder_.web().string(), options), status());
    link();
  }
  raw_http::response ask(const std::string& line, const std::string& fields = {}) {
    return raw_http::parse(run(raw_http::exchange(address_, raw_http::request(line, fields))));
  }

  const scratch folder_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, static_files, every_world_over_tcp, echo_fixture::case_name);

TEST_P(static_files, AFileIsSentWithItsTypeAndItsVersion) {
  folder_.write("a/app.js", "let a;");
  serve_at("/static");
  const auto r = ask("GET /static/a/app.js?v=1");
  EXPECT_EQ(r.status(), 200) << r.head;
  EXPECT_EQ(r.body, "let a;");
  EXPECT_EQ(r.field("content-type"), "text/javascript; charset=utf-8");
  EXPECT_EQ(r.field("content-length"), "6");
  EXPECT_EQ(r.field("last-modified"), date_in_1994);
  EXPECT_EQ(r.field("cache-control"), "no-cache");
  EXPECT_EQ(r.field("x-content-type-options"), "nosniff");
  EXPECT_EQ(r.field("accept-ranges"), "bytes");
  EXPECT_EQ(r.field("vary"), "accept-encoding");
  EXPECT_THAT(r.field("etag"), StartsWith("\""));
  EXPECT_NE(r.field("date"), "");
  const auto head = ask("HEAD /static/a/app.js");
  EXPECT_EQ(head.status(), 200);
  EXPECT_EQ(head.field("content-length"), "6");
  EXPECT_EQ(head.field("etag"), r.field("etag"));
  EXPECT_EQ(head.body, "");
  EXPECT_EQ(ask("POST /static/a/app.js").field("allow"), "GET, HEAD, OPTIONS");
  EXPECT_EQ(ask("GET /static/a/other.js").status(), 404);
  EXPECT_EQ(ask("GET /a/app.js").status(), 404);
}

TEST_P(static_files, AFolderIsItsIndexPage) {
  folder_.write("index.html", "top");
  folder_.write("a b/index.html", "below");
  fs::create_directory(folder_.web() / "empty");
  serve_at("/");
  EXPECT_EQ(ask("GET /").body, "top");
  EXPECT_EQ(ask("GET /").field("content-type"), "text/html; charset=utf-8");
  EXPECT_EQ(ask("GET /a%20b/").body, "below");
  const auto r = ask("GET /a%20b?x=1");
  EXPECT_EQ(r.status(), 301);
  EXPECT_EQ(r.field("location"), "/a%20b/?x=1");
  EXPECT_EQ(ask("GET /empty/").status(), 404) << "there are no lists of files";
  EXPECT_EQ(ask("GET /index.html/").status(), 404);
}

TEST_P(static_files, TheFolderOfAPathIsRedirected) {
  folder_.write("index.html", "top");
  serve_at("/static/");
  const auto r = ask("GET /static");
  EXPECT_EQ(r.status(), 301) << r.head;
  EXPECT_EQ(r.field("location"), "/static/");
  EXPECT_EQ(ask("GET /static/").body, "top");
}

TEST_P(static_files, NoPathLeavesTheFolder) {
  std::ofstream(folder_.root() / "secret.txt") << "secret";
  folder_.write("a/a.txt", "a");
  folder_.write(".hidden/a.txt", "secret");
  folder_.write(".hidden.txt", "secret");
  fs::create_symlink(folder_.root() / "secret.txt", folder_.web() / "absolute.txt");
  fs::create_symlink("../secret.txt", folder_.web() / "relative.txt");
  fs::create_symlink("..", folder_.web() / "up");
  fs::create_symlink("/proc/self/environ", folder_.web() / "environ");
  ASSERT_EQ(::mkfifo((folder_.web() / "fifo").c_str(), 0600), 0);
  serve_at("/");
  EXPECT_EQ(ask("GET /a/a.txt").body, "a");
  for (const char* path : {"/../secret.txt", "/a/../../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt",
                           "/a%2fa.txt",     "/..%5csecret.txt",    "/a/../a/a.txt",      "/a/./a.txt",
                           "/a//a.txt",      "//a/a.txt",           "/a/a.txt%00.html",   "/absolute.txt",
                           "/relative.txt",  "/up/secret.txt",      "/up/web/a/a.txt",    "/environ",
                           "/fifo",          "/.hidden/a.txt",      "/.hidden.txt",       "/a/a.txt/",
                           "/a/a.txt/b"}) {
    const auto r = ask("GET "s + path);
    EXPECT_EQ(r.status(), 404) << path << r.head;
    EXPECT_EQ(r.field("location"), "") << path;
    EXPECT_EQ(r.body, "no such page\n") << path;
  }
  EXPECT_EQ(ask("GET /%zz").status(), 400);
  const auto elsewhere = ask("GET //evil.example");
  EXPECT_EQ(elsewhere.status(), 404) << "and no redirection to another host";
}

TEST_P(static_files, ALinkInsideOfTheFolderIsFollowed) {
  folder_.write("v2/a.txt", "a");
  fs::create_symlink("v2", folder_.web() / "current");
  serve_at("/");
  EXPECT_EQ(ask("GET /current/a.txt").body, "a");
}

TEST_P(static_files, AFileThatHasNotChangedIsNotSentAgain) {
  folder_.write("a.txt", "one");
  serve_at("/");
  const std::string etag = ask("GET /a.txt").field("etag");
  const auto same = ask("GET /a.txt", "if-none-match: " + etag + "\r\n");
  EXPECT_EQ(same.status(), 304);
  EXPECT_EQ(same.field("etag"), etag);
  EXPECT_EQ(same.field("cache-control"), "no-cache");
  EXPECT_EQ(same.field("vary"), "accept-encoding");
  EXPECT_EQ(same.body, "");
  const std::string since = "if-modified-since: "s + date_in_1994 + "\r\n";
  EXPECT_EQ(ask("GET /a.txt", since).status(), 304);
  EXPECT_EQ(ask("HEAD /a.txt", since).status(), 304);
  EXPECT_EQ(ask("GET /a.txt", since + "if-none-match: \"other\"\r\n").status(), 200);
  EXPECT_EQ(ask("GET /a.txt", "if-match: \"other\"\r\n").status(), 412);
  folder_.write("a.txt", "two", in_1994 + 1);
  EXPECT_EQ(ask("GET /a.txt", "if-none-match: " + etag + "\r\n").body, "two");
  EXPECT_EQ(ask("GET /a.txt", since).body, "two");
}

TEST_P(static_files, ARangeIsAPart) {
  folder_.write("a.bin", "0123456789");
  serve_at("/");
  const auto part = ask("GET /a.bin", "range: bytes=2-4\r\n");
  EXPECT_EQ(part.status(), 206);
  EXPECT_EQ(part.body, "234");
  EXPECT_EQ(part.field("content-range"), "bytes 2-4/10");
  EXPECT_EQ(part.field("content-length"), "3");
  EXPECT_EQ(part.field("content-type"), "application/octet-stream");
  EXPECT_EQ(ask("GET /a.bin", "range: bytes=-3\r\n").body, "789");
  const auto none = ask("GET /a.bin", "range: bytes=10-\r\n");
  EXPECT_EQ(none.status(), 416);
  EXPECT_EQ(none.field("content-range"), "bytes */10");
  EXPECT_EQ(ask("GET /a.bin", "range: bytes=0-1,4-5\r\n").body, "0123456789") << "several";
  const auto head = ask("HEAD /a.bin", "range: bytes=2-4\r\n");
  EXPECT_EQ(head.status(), 200) << "RFC 9110 14.2: of GET alone";
  EXPECT_EQ(head.field("content-length"), "10");
  const std::string range = "range: bytes=2-4\r\nif-range: ";
  EXPECT_EQ(ask("GET /a.bin", range + part.field("etag") + "\r\n").body, "234");
  EXPECT_EQ(ask("GET /a.bin", range + date_in_1994 + "\r\n").body, "234");
  EXPECT_EQ(ask("GET /a.bin", range + "\"other\"\r\n").body, "0123456789");
}

TEST_P(static_files, ALargeFileIsSentInPieces) {
  std::string content;
  for (int i = 0; content.size() < 1'000'000; ++i) content.append(std::to_string(i)).append("\n");
  folder_.write("a.bin", content);
  folder_.write("empty.bin", "");
  serve_at("/");
  const auto r = ask("GET /a.bin");
  EXPECT_EQ(r.field("content-length"), std::to_string(content.size()));
  EXPECT_TRUE(r.body == content) << r.body.size() << " bytes";
  EXPECT_EQ(ask("HEAD /a.bin").field("content-length"), std::to_string(content.size()));
  const auto part = ask("GET /a.bin", "range: bytes=100000-499999\r\n");
  EXPECT_EQ(part.status(), 206);
  EXPECT_TRUE(part.body == content.substr(100'000, 400'000)) << part.body.size() << " bytes";
  const auto empty = ask("GET /empty.bin");
  EXPECT_EQ(empty.status(), 200);
  EXPECT_EQ(empty.field("content-length"), "0");
}

TEST_P(static_files, TextIsCompressedForThoseWhoTakeIt) {
  folder_.write("a.css", std::string(5'000, ' '));
  folder_.write("small.css", std::string(500, ' '));
  folder_.write("a.png", std::string(5'000, ' '));
  serve_at("/");
  const std::string gzip = "accept-encoding: br, gzip\r\n";
  const auto r = ask("GET /a.css", gzip);
  EXPECT_EQ(r.field("content-encoding"), "gzip");
  EXPECT_EQ(r.field("vary"), "accept-encoding");
  EXPECT_LT(r.body.size(), std::size_t{200});
  EXPECT_THAT(r.body, StartsWith("\x1f\x8b"));
  EXPECT_EQ(r.body.substr(r.body.size() - 4), "\x88\x13\0\0"s) << "the size before";  // RFC 1952 2.3.1
  EXPECT_THAT(r.field("etag"), StartsWith("W/\""));
  EXPECT_EQ(ask("GET /a.css", gzip + "if-none-match: " + r.field("etag") + "\r\n").status(), 304);
  EXPECT_EQ(ask("HEAD /a.css", gzip).field("content-length"), std::to_string(r.body.size()));
  for (const char* without : {"", "accept-encoding: gzip;q=0\r\n", "accept-encoding: br\r\n"}) {
    const auto plain = ask("GET /a.css", without);
    EXPECT_EQ(plain.body.size(), std::size_t{5'000}) << without;
    EXPECT_EQ(plain.field("content-encoding"), "");
    EXPECT_NE(plain.field("etag"), r.field("etag"));
  }
  EXPECT_EQ(ask("GET /a.css", gzip + "range: bytes=0-9\r\n").body, std::string(10, ' '));
  EXPECT_EQ(ask("GET /small.css", gzip).body.size(), std::size_t{500});
  const auto image = ask("GET /a.png", gzip);
  EXPECT_EQ(image.body.size(), std::size_t{5'000});
  EXPECT_EQ(image.field("vary"), "");
}

TEST_P(static_files, ACompressedFileBesideItIsPreferred) {
  folder_.write("a.js", "plain");
  folder_.write("a.js.br", "as br");
  folder_.write("a.js.gz", "as gzip");
  folder_.write("b.js", "plain", in_1994 + 1);
  folder_.write("b.js.gz", "outdated");
  serve_at("/");
  const auto br = ask("GET /a.js", "accept-encoding: gzip, br\r\n");
  EXPECT_EQ(br.body, "as br");
  EXPECT_EQ(br.field("content-encoding"), "br");
  EXPECT_EQ(br.field("content-type"), "text/javascript; charset=utf-8");
  const auto gzip = ask("GET /a.js", "accept-encoding: gzip\r\n");
  EXPECT_EQ(gzip.body, "as gzip");
  EXPECT_NE(gzip.field("etag"), br.field("etag"));
  EXPECT_EQ(ask("GET /a.js", "accept-encoding: gzip\r\nrange: bytes=0-1\r\n").body, "as");
  EXPECT_EQ(ask("GET /a.js").body, "plain");
  EXPECT_EQ(ask("GET /b.js", "accept-encoding: gzip\r\n").body, "plain");
  const auto itself = ask("GET /a.js.gz", "accept-encoding: gzip\r\n");
  EXPECT_EQ(itself.field("content-type"), "application/gzip");
  EXPECT_EQ(itself.field("content-encoding"), "");
}

TEST_P(static_files, TheMostSpecificRouteAnswers) {
  folder_.write("a.txt", "a file");
  static_file_options options;
  options.cache_control = "public, max-age=31536000, immutable";
  server_->add_http("GET", "/a.txt",
                    [](http_request) -> task<http_response> { co_return http_response::text("a handler"); });
  folder_.write("b.txt", "b");
  serve_at("/", options);
  EXPECT_EQ(ask("GET /a.txt").body, "a handler");
  EXPECT_EQ(ask("GET /b.txt").field("cache-control"), "public, max-age=31536000, immutable");
}

TEST_P(static_files, FilesAreSentOverHttp2) {
  folder_.write("a.txt", "the contents");
  serve_at("/");
  const auto go = [](std::string address) -> task<std::string> {
    using raw_frames::literal;
    net::stream s = co_await raw_http::connect(address);
    co_await raw_http::send(
        s, raw_frames::greeting() +
               raw_frames::frame(raw_frames::headers, raw_frames::end_headers | raw_frames::end_stream, 1,
                                 literal(":method", "GET") + literal(":scheme", "http") +
                                     literal(":path", "/a.txt") + literal(":authority", "h")));
    std::string all;
    co_await raw_http::receive_until(s, all, "the contents");
    co_return all;
  };
  EXPECT_THAT(run(go(address_)), HasSubstr("the contents"));
}

TEST_P(static_files, CallsOfUnknownMethodsAreAnsweredAsWithoutFiles) {
  folder_.write("index.html", "index");
  serve_at("/");
  // Without the codec, this is no content-type of the port.
  EXPECT_EQ(ask("POST /no.Such/M", "content-length: 0\r\ncontent-type: application/json\r\n").status(), 415);
  server_options options;
  options.codecs = {&json_codec()};
  server_.emplace(rt(), options);
  server_->add(served());
  serve_at("/");
  for (const char* type : {"application/proto", "application/json", "application/json; charset=utf-8",
                           "application/connect+proto", "APPLICATION/PROTO"}) {
    const auto r = ask("POST /no.Such/M", "content-length: 0\r\ncontent-type: "s + type + "\r\n");
    EXPECT_EQ(r.status(), 404) << type << ": " << r.head;
  }
  const auto web = ask("POST /no.Such/M", "content-length: 0\r\ncontent-type: application/grpc-web\r\n");
  EXPECT_THAT(web.body, HasSubstr("grpc-status: 12"));
  const auto grpc = ask("POST /no.Such/M", "content-length: 0\r\ncontent-type: application/grpc+x\r\n");
  EXPECT_EQ(grpc.status(), 415) << grpc.head;
  EXPECT_EQ(ask("POST /echo.Echo/Say", "content-length: 0\r\ncontent-type: application/proto\r\n").status(),
            200);
  // What is no call is answered by the route.
  const auto form = ask("POST /index.html", "content-length: 0\r\ncontent-type: text/plain\r\n");
  EXPECT_EQ(form.status(), 405);
  EXPECT_EQ(form.field("allow"), "GET, HEAD, OPTIONS");
  EXPECT_EQ(ask("GET /no.Such/M").status(), 404);
}

TEST_P(static_files, MistakesAreErrors) {
  EXPECT_EQ(add_files(*server_, "/", (folder_.root() / "absent").string()).code(), status_code::not_found);
  std::ofstream(folder_.root() / "file") << "x";
  EXPECT_EQ(add_files(*server_, "/", (folder_.root() / "file").string()).code(), status_code::not_found);
  for (const char* path : {"", "static", "/{a}", "/*", "/a?b"})
    EXPECT_THROW((void)add_files(*server_, path, folder_.web().string()), usage_error) << path;
  EXPECT_EQ(add_files(*server_, "/a", folder_.web().string()), status());
  EXPECT_THROW((void)add_files(*server_, "/a/", folder_.web().string()), usage_error) << "twice";
}

}  // namespace
}  // namespace coracle::static_files_test
