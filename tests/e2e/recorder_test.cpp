// The recorder: what it tells about calls over real connections.
#include "support/echo_fixture.hpp"

#include "coracle/coro/sleep.hpp"
#include "coracle/rpc/recorder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace coracle::testing_support::recorder_test {
namespace {

using namespace std::chrono_literals;

std::vector<recorded_call> calls_of(const recording& r, std::string_view method, bool client) {
  std::vector<recorded_call> calls = r.calls();
  std::erase_if(calls, [&](const recorded_call& c) { return c.method != method || c.client != client; });
  return calls;
}

task<status> call_once(echo_stub s) {
  const echo::Text request = make_text("hello");
  const auto reply = co_await s.Say(request);
  co_return reply.status();
}

std::size_t frames_of(const recording& r, const recorded_call& c) {
  return static_cast<std::size_t>(std::count_if(c.events.begin(), c.events.end(), [&](std::size_t i) {
    return r.events()[i].kind == recorded_kind::frame;
  }));
}

class temporary_file {
 public:
  temporary_file() : path_(::testing::TempDir() + "coracle-recording-" + std::to_string(getpid())) {}
  ~temporary_file() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class recorder : public echo_fixture {};
INSTANTIATE_TEST_SUITE_P(Everywhere, recorder, every_world_over_tcp, echo_fixture::case_name);

TEST_P(recorder, TellsTheCallsOfBothSidesWithTheirFrames) {
  struct program {
    static task<recording> call(echo_stub s, runtime& rt) {
      const echo::Text request = text("hello");
      for (int i = 0; i < 3; ++i) EXPECT_TRUE((co_await s.Say(request)).ok());
      co_return co_await take_recording(rt);
    }
  };
  const recording r = run(program::call(stub(), rt()));
  for (const bool client : {false, true}) {
    const auto calls = calls_of(r, "/echo.Echo/Say", client);
    ASSERT_EQ(calls.size(), 3u) << client;
    for (const recorded_call& c : calls) {
      EXPECT_TRUE(c.ended);
      EXPECT_EQ(c.status, status_code::ok);
      EXPECT_NE(c.connection, 0u);
      EXPECT_EQ(frames_of(r, c), 5u);  // HEADERS and DATA; HEADERS, DATA and trailers
    }
    EXPECT_NE(calls[0].stream, calls[1].stream);
  }
}

TEST_P(recorder, TellsHowCallsFailed) {
  struct program {
    static task<recording> call(echo_stub s, runtime& rt) {
      const echo::Text fails = text("status");
      const echo::Text hangs = text("hang");
      call_options in_time;
      in_time.timeout = 20ms;
      EXPECT_EQ((co_await s.Misbehave(fails)).status().code(), status_code::not_found);
      EXPECT_EQ((co_await s.Misbehave(hangs, in_time)).status().code(), status_code::deadline_exceeded);
      co_return co_await take_recording(rt);
    }
  };
  const recording r = run(program::call(stub(), rt()));
  const auto of_client = calls_of(r, "/echo.Echo/Misbehave", true);
  ASSERT_EQ(of_client.size(), 2u);
  EXPECT_EQ(of_client[0].status, status_code::not_found);
  EXPECT_EQ(of_client[1].status, status_code::deadline_exceeded);
  EXPECT_GE(of_client[1].took, 19ms);
  const auto of_server = calls_of(r, "/echo.Echo/Misbehave", false);
  ASSERT_EQ(of_server.size(), 2u);
  EXPECT_EQ(of_server[0].status, status_code::not_found);
  const auto begun = std::find_if(of_server[1].events.begin(), of_server[1].events.end(), [&](std::size_t i) {
    return r.events()[i].kind == recorded_kind::call_began;
  });
  ASSERT_NE(begun, of_server[1].events.end());
  EXPECT_GT(r.events()[*begun].time, 0ms);
  EXPECT_LE(r.events()[*begun].time, 20ms);
}

TEST_P(recorder, TellsTheSizesOfTheMessagesOfStreams) {
  struct program {
    static task<recording> call(echo_stub s, runtime& rt) {
      auto chat = s.Chat();
      for (const char* word : {"a", "bcd"}) EXPECT_EQ(co_await chat.write(text(word)), status());
      co_await chat.writes_done();
      for (echo::Text one; more(co_await chat.read(one));) continue;
      EXPECT_EQ(co_await chat.finish(), status());
      co_return co_await take_recording(rt);
    }
  };
  const recording r = run(program::call(stub(), rt()));
  for (const bool client : {false, true}) {
    const auto calls = calls_of(r, "/echo.Echo/Chat", client);
    ASSERT_EQ(calls.size(), 1u);
    std::vector<std::uint32_t> sent, received;
    for (const std::size_t i : calls[0].events)
      if (const recorded_event& e = r.events()[i]; e.kind == recorded_kind::message)
        (e.sent ? sent : received).push_back(e.length);
    EXPECT_EQ(sent, (std::vector<std::uint32_t>{3, 5}));
    EXPECT_EQ(received, (std::vector<std::uint32_t>{3, 5}));
  }
}

TEST_P(recorder, TellsWhyAConnectionHasEnded) {
  EXPECT_EQ(run(call_once(stub())).code(), status_code::ok);
  channel_.reset();
  struct program {
    static task<recording> wait(runtime& rt) {
      for (int i = 0; i < 500; ++i) {
        recording r = co_await take_recording(rt);
        const auto closed = std::count_if(r.events().begin(), r.events().end(), [](const recorded_event& e) {
          return e.kind == recorded_kind::connection_closed && !e.text.empty();
        });
        if (closed >= 2) co_return r;
        co_await sleep_for(10ms);
      }
      throw std::runtime_error("the connection did not end");
    }
  };
  const recording r = run(program::wait(rt()));
  const auto opened = std::find_if(r.events().begin(), r.events().end(), [](const recorded_event& e) {
    return e.kind == recorded_kind::connection_opened && !e.client;
  });
  ASSERT_NE(opened, r.events().end());
  EXPECT_TRUE(opened->text.starts_with(address_)) << opened->text;
}

TEST_P(recorder, WritesAFileThatOnlyItsOwnerReads) {
  EXPECT_EQ(run(call_once(stub())).code(), status_code::ok);
  const temporary_file file;
  ASSERT_EQ(write_recording(rt(), file.path()), status());
  struct stat of{};
  ASSERT_EQ(::stat(file.path().c_str(), &of), 0);
  EXPECT_EQ(of.st_mode & 0777, 0600u);
  const auto r = recording::read(file.path());
  ASSERT_TRUE(r.ok()) << r.status().message();
  EXPECT_EQ(calls_of(*r, "/echo.Echo/Say", false).size(), 1u);
  EXPECT_EQ(write_recording(rt(), "/no/such/folder/file").code(), status_code::unavailable);
  EXPECT_EQ(recording::read("/no/such/file").status().code(), status_code::not_found);
}

TEST(Recorder, ReadsABlockedLoopFromOutside) {
  std::atomic<bool> blocked{false};
  std::atomic<bool> released{false};
  runtime rt({.loops = 2});  // joins its threads before what the loop reads ends
  struct program {
    static task<> block(std::atomic<bool>& begun, std::atomic<bool>& until) {
      begun = true;
      while (!until) std::this_thread::yield();
      co_return;
    }
  };
  rt.start();
  rt.spawn_on(rt.at(1), program::block(blocked, released));
  while (!blocked) std::this_thread::yield();
  const temporary_file file;
  EXPECT_EQ(write_recording(rt, file.path()), status());
  const recording r = sync_wait(rt, rt.at(0), take_recording(rt));
  released = true;
  EXPECT_TRUE(recording::read(file.path()).ok());
  EXPECT_FALSE(r.bytes().empty());
}

TEST(Recorder, RefusesNamesOfFilesThatItCannotUse) {
  EXPECT_EQ(record_crashes("").code(), status_code::invalid_argument);
  EXPECT_EQ(record_crashes(std::string(1001, 'x')).code(), status_code::invalid_argument);
}

}  // namespace
}  // namespace coracle::testing_support::recorder_test
