// A server whose address space is limited gets a request that exceeds it: the call fails, and the server
// serves the next one.
#include "support/echo_service.hpp"
#include "support/limited_process.hpp"

#include "coracle/compress/compression.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/runtime/sync_wait.hpp"

#include <gtest/gtest.h>

#include <malloc.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>
#include <utility>

namespace coracle::test {
namespace {

using testing_support::echo_stub;

constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr std::uint32_t message_bytes_max = 256u << 20;

echo::Text text(std::string text, int count = 0) {
  echo::Text t;
  t.set_text(std::move(text));
  t.set_count(count);
  return t;
}

std::size_t address_space_bytes() {
  std::FILE* const f = std::fopen("/proc/self/statm", "r");
  unsigned long pages = 0;
  if (!f || std::fscanf(f, "%lu", &pages) != 1) ::_exit(3);
  std::fclose(f);
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// Replies with as many bytes as the request's count says, or not before the call is cancelled.
class growing_service final : public testing_support::echo_service {
 public:
  reply<echo::Text> Misbehave(server_context&, const echo::Text& request) override {
    co_await sleep_for(std::chrono::hours(1));
    co_return request;
  }
  // From now on the process may use the given number of MiB in addition.
  reply<echo::Text> SayAtOnce(server_context&, const echo::Text& request) override {
    ::malloc_trim(0);
    testing_support::limit(RLIMIT_AS,
                           address_space_bytes() + static_cast<std::size_t>(request.count()) * mebibyte);
    return request;
  }
  reply<echo::Text> Say(server_context&, const echo::Text& request) override {
    echo::Text reply;
    reply.mutable_text()->resize(static_cast<std::size_t>(request.count()), 'x');
    co_return reply;
  }
};

// Runs in a child process. Serves until SIGTERM.
[[noreturn]] void serve(int port_to) {
  {
    runtime rt(1);
    server_options options;
    options.max_receive_bytes = message_bytes_max;
    options.memory = memory_quota(1u << 30);
    growing_service service;
    server srv(rt, options);
    srv.add(service);
    if (!srv.listen("127.0.0.1:0", insecure()).ok()) ::_exit(3);
    const std::uint16_t port = srv.port();
    if (::write(port_to, &port, sizeof port) != sizeof port) ::_exit(3);
    srv.run();
    testing_support::limit(RLIMIT_AS, RLIM_INFINITY);  // ending a server takes a thread, and that its stack
  }
  ::_exit(0);
}

class a_server_of_little_memory : public testing::Test {
 protected:
  void start(int room_mebibytes) {
    // A child must not find room in memory that its parent has freed, or in the arena that glibc has reserved
    // for a thread there.
    ::mallopt(M_MMAP_THRESHOLD, 32 << 10);
    ::mallopt(M_ARENA_MAX, 1);
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    child_ = ::fork();
    ASSERT_GE(child_, 0);
    if (child_ == 0) serve(ends[1]);
    ::close(ends[1]);
    std::uint16_t port = 0;
    ASSERT_EQ(::read(ends[0], &port, sizeof port), static_cast<ssize_t>(sizeof port));
    ::close(ends[0]);
    call_options large;
    large.max_receive_bytes = message_bytes_max;
    channel_options options;
    options.calls = large;
    channel_.emplace("127.0.0.1:" + std::to_string(port), insecure(), options);
    const auto limited = sync_wait(stub().SayAtOnce(text("", room_mebibytes)));
    ASSERT_EQ(limited.status(), status());
  }
  void TearDown() override {
    if (!channel_) return;
    const auto reply = sync_wait(stub().Say(text("", 10)));
    EXPECT_EQ(reply.status(), status()) << "the server has to serve the next call";
    channel_.reset();
    int ended = 0;
    ::kill(child_, SIGTERM);
    ASSERT_EQ(::waitpid(child_, &ended, 0), child_);
    EXPECT_TRUE(WIFEXITED(ended)) << "it ended by signal " << WTERMSIG(ended);
    EXPECT_EQ(WEXITSTATUS(ended), 0);
  }
  [[nodiscard]] echo_stub stub() { return echo_stub(*channel_); }
  [[nodiscard]] channel& to_server() { return *channel_; }

 private:
  pid_t child_ = -1;
  std::optional<channel> channel_;
};

struct program {
  static task<status> one_message(echo_stub s, std::size_t bytes) {
    auto collecting = s.Collect();
    const echo::Text large = text(std::string(bytes, 'x'));
    co_await collecting.write(large);
    const auto reply = co_await collecting.finish();
    co_return reply.status();
  }
  struct held {
    int left;
    int refused = 0;
    int wrong = 0;
    event<> enough{};  // one was refused, or all have ended
  };
  static task<> held_call(echo_stub s, held& h) {
    const echo::Text large = text(std::string(64'000, 'x'));
    const call_options limit = within(std::chrono::seconds(20));
    const auto reply = co_await s.Misbehave(large, limit);
    const status_code code = reply.status().code();
    const bool refused = code == status_code::resource_exhausted || code == status_code::unavailable;
    h.refused += refused;
    h.wrong += !refused && code != status_code::cancelled;
    if ((refused || h.left == 1) && !h.enough.is_set()) h.enough.set();
    --h.left;
  }
  static task<std::pair<int, int>> held_calls(echo_stub s, int n) {
    held h{n};
    const coro::environment& here = co_await coro::this_environment();
    scope calls(here);
    for (int i = 0; i < n; ++i) calls.spawn(held_call(s, h));
    co_await h.enough;
    calls.request_stop();
    co_await calls.join();
    co_return std::pair(h.refused, h.wrong);
  }
};

TEST_F(a_server_of_little_memory, EndsTheCallWhoseCompressedRequestDoesNotFit) {
  start(32);
  call_options packed;
  packed.compression = encoding::gzip;
  const auto reply = sync_wait(stub().Say(text(std::string(60 * mebibyte, 'x')), packed));
  EXPECT_EQ(reply.status().code(), status_code::resource_exhausted) << reply.status();
}

TEST_F(a_server_of_little_memory, EndsTheCallWhoseReplyDoesNotFit) {
  start(48);
  for (const std::size_t mebibytes : {20, 30, 40, 60}) {
    const auto reply = sync_wait(stub().Say(text("", static_cast<int>(mebibytes * mebibyte))));
    if (reply.status().ok()) continue;
    EXPECT_EQ(reply.status().code(), status_code::resource_exhausted) << reply.status();
  }
  const auto largest = sync_wait(stub().Say(text("", static_cast<int>(100 * mebibyte))));
  EXPECT_EQ(largest.status().code(), status_code::resource_exhausted) << largest.status();
}

TEST_F(a_server_of_little_memory, EndsTheCallWhoseMessageInPiecesDoesNotFit) {
  start(32);
  const status outcome = sync_wait(to_server().owner(), program::one_message(stub(), 60 * mebibyte));
  EXPECT_EQ(outcome.code(), status_code::resource_exhausted) << outcome;
}

TEST_F(a_server_of_little_memory, RefusesTheCallsForWhichThereIsNoMemory) {
  start(6);
  const auto [refused, wrong] = sync_wait(to_server().owner(), program::held_calls(stub(), 900));
  EXPECT_GT(refused, 0);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace coracle::test
