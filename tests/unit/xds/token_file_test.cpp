// Tokens of files for control planes (gRFC A97).
#include "xds/security/token_file.hpp"

#include "coracle/base/impl/base64.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/spawn.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "xds/limits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace coracle::xds::token_file_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;
using wall_time = std::chrono::system_clock::time_point;

std::string jwt(const std::string& claims) {
  std::string text = base::padded_base64(claims);
  while (text.ends_with('=')) text.pop_back();
  return "eyJhbGciOiJub25lIn0." + text + ".c2ln";
}

std::string jwt_until(wall_time end, const std::string& more = "") {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(end.time_since_epoch()).count();
  return jwt(R"({"exp":)" + std::to_string(seconds) + more + "}");
}

std::string outcome(const std::string& text) {
  const auto read = read_token(text, wall_time(1000s));
  if (!read) return std::string(name_of(read.status().code())) + ": " + std::string(read.status().message());
  return std::to_string(
      std::chrono::duration_cast<std::chrono::seconds>(read->expires.time_since_epoch()).count());
}

TEST(XdsToken, HasTheTimeAtWhichItExpires) {
  EXPECT_EQ(outcome(jwt(R"({"exp":2000})")), "2000");
  EXPECT_EQ(outcome(jwt(R"({"iss":"a","exp":2000.75})") + "\n"), "2000");
  EXPECT_EQ(outcome(jwt(R"({"exp":1e300})")), "9000000000");
  // "-" and "_" of base64url
  EXPECT_EQ(outcome("e30.eyJleHAiOjIwMDAsImEiOiI_Pj8-In0.e30"), "2000");
}

TEST(XdsToken, IsNotEveryText) {
  EXPECT_EQ(outcome(" \n"), "UNAUTHENTICATED: has no token");
  for (const char* const text : {"abc", "a.b", "a.b.c.d", "a.*.c", "a.e30=\x01.c"})
    EXPECT_THAT(outcome(text), HasSubstr("UNAUTHENTICATED: has no JWT")) << text;
  EXPECT_THAT(outcome(jwt(R"({"exp":2000})") + "\r\nx: y"), HasSubstr("has no JWT"));
  for (const char* const claims : {"", "[]", "{}", R"({"exp":"2000"})", R"({"exp":0})", R"({"exp":-1})", "{"})
    EXPECT_THAT(outcome(jwt(claims)), HasSubstr("without a time at which it expires")) << claims;
  EXPECT_EQ(outcome(jwt(R"({"exp":1000})")), "UNAUTHENTICATED: has a token that has expired");
}

class XdsTokenFile : public testing::Test {
 public:
  ~XdsTokenFile() override { std::remove(path_.c_str()); }

  void write(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }
  static task<std::string> ask(token_file& of) {
    const credentials_request call("plane:443", "/a.A/B");
    task<result<metadata>> asking = of.metadata_for(call);
    const auto got = co_await std::move(asking);
    if (!got)
      co_return std::string(name_of(got.status().code())) + ": " + std::string(got.status().message());
    co_return std::string(got->find("authorization").value_or("none"));
  }
  static wall_time in(duration d) {
    return loop::current()->wall_now() + std::chrono::duration_cast<wall_time::duration>(d);
  }
  void play(task<> steps) { sync_wait(runtime_, runtime_.at(0), std::move(steps)); }

  sim::world world_{1};
  runtime& runtime_ = world_.host("host", 1);
  const std::string path_ =
      (std::filesystem::temp_directory_path() / ("coracle-token-" + std::to_string(::getpid()))).string();
};

TEST_F(XdsTokenFile, IsReadAgainShortlyBeforeItsTokenExpires) {
  struct steps {
    static task<> all(XdsTokenFile& t) {
      token_file file(t.path_);
      const std::string first = jwt_until(in(10min), R"(,"n":1)");
      const std::string second = jwt_until(in(20min), R"(,"n":2)");
      t.write(first);
      const std::string a1 = co_await ask(file);
      EXPECT_EQ(a1, "Bearer " + first);
      t.write(second);
      co_await sleep_for(8min);
      const std::string a2 = co_await ask(file);
      EXPECT_EQ(a2, "Bearer " + first);
      co_await sleep_for(1min);
      const std::string a3 = co_await ask(file);
      EXPECT_EQ(a3, "Bearer " + second);
    }
  };
  play(steps::all(*this));
}

TEST_F(XdsTokenFile, KeepsItsTokenForAWhileIfTheNextOneIsMissing) {
  struct steps {
    static task<> all(XdsTokenFile& t) {
      token_file file(t.path_);
      const std::string first = jwt_until(in(10min));
      t.write(first);
      const std::string a4 = co_await ask(file);
      EXPECT_EQ(a4, "Bearer " + first);
      std::remove(t.path_.c_str());
      co_await sleep_for(9min);
      const std::string a5 = co_await ask(file);
      EXPECT_EQ(a5, "Bearer " + first);
      co_await sleep_for(31s);
      const std::string a6 = co_await ask(file);
      EXPECT_THAT(a6, StartsWith("UNAVAILABLE: the file of the token, "));
    }
  };
  play(steps::all(*this));
}

TEST_F(XdsTokenFile, IsTriedAgainAfterAPause) {
  struct steps {
    static task<> all(XdsTokenFile& t) {
      token_file file(t.path_);
      const std::string a7 = co_await ask(file);
      EXPECT_THAT(a7, HasSubstr("cannot be read"));
      t.write("nothing good");
      const std::string a8 = co_await ask(file);
      EXPECT_THAT(a8, HasSubstr("cannot be read"));
      co_await sleep_for(2s);
      const std::string a9 = co_await ask(file);
      EXPECT_THAT(a9, StartsWith("UNAUTHENTICATED: the file of the token, "));
      const std::string good = jwt_until(in(10min));
      t.write(good);
      co_await sleep_for(3s);
      const std::string a10 = co_await ask(file);
      EXPECT_EQ(a10, "Bearer " + good);
    }
  };
  play(steps::all(*this));
}

// The clock of the wall may be set while a pause lasts.
TEST_F(XdsTokenFile, PausesByTheMonotonicClock) {
  struct steps {
    static task<> all(XdsTokenFile& t) {
      token_file file(t.path_);
      const std::string a12 = co_await ask(file);
      EXPECT_THAT(a12, HasSubstr("cannot be read"));
      t.world_.jump_wall_clock("host", -1h);
      const std::string good = jwt_until(in(10min));
      t.write(good);
      co_await sleep_for(2s);
      const std::string a13 = co_await ask(file);
      EXPECT_EQ(a13, "Bearer " + good);
    }
  };
  play(steps::all(*this));
}

// In a simulation, what runs off the loop takes virtual time.
TEST_F(XdsTokenFile, IsReadOffTheLoop) {
  struct steps {
    static task<> watch(bool& asked, bool& was_free) {
      co_await sleep_for(1ns);
      was_free = !asked;
    }
    static task<> all(XdsTokenFile& t) {
      token_file file(t.path_);
      t.write(jwt_until(in(10min)));
      bool asked = false;
      bool was_free = false;
      spawn(watch(asked, was_free));
      const std::string a14 = co_await ask(file);
      asked = true;
      EXPECT_THAT(a14, StartsWith("Bearer "));
      EXPECT_TRUE(was_free) << "the loop runs other tasks meanwhile";
    }
  };
  play(steps::all(*this));
}

TEST_F(XdsTokenFile, HasALimit) {
  write(std::string(limits::token_bytes_max + 1, 'a'));
  struct steps {
    static task<> all(XdsTokenFile& t) {
      token_file file(t.path_);
      const std::string a11 = co_await ask(file);
      EXPECT_THAT(a11, HasSubstr("has more than 16384 bytes"));
    }
  };
  play(steps::all(*this));
}

}  // namespace
}  // namespace coracle::xds::token_file_test
