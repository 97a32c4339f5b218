// backend_under_test: a kernel backend that a test turns by hand, in each of its variants.
#pragma once

#include "runtime/backend.hpp"
#include "runtime/epoll/epoll_loop.hpp"
#include "runtime/uring/uring_backend.hpp"

#include "coracle/base/log.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::test {

class quiet_logger final : public logger {
 public:
  void record(log_level, std::string_view message) noexcept override { lines.emplace_back(message); }
  std::vector<std::string> lines;
};

enum class shape {
  io_uring,
  not_deferred,
  tiny_queue,
  without_buffer_ring,
  without_multishot,
  short_sends,
  epoll
};

inline void PrintTo(shape s, std::ostream* out) {
  constexpr const char* names[] = {"io_uring",          "not_deferred", "tiny_queue", "without_buffer_ring",
                                   "without_multishot", "short_sends",  "epoll"};
  *out << names[static_cast<int>(s)];
}

inline std::unique_ptr<runtime_internal::backend> make_epoll(logger& log, std::string& reason) {
  int error = 0;
  auto made = runtime_internal::make_epoll_backend(log, error);
  if (!made) reason = "epoll: errno " + std::to_string(error);
  return made;
}

inline std::unique_ptr<runtime_internal::backend> make_shape(shape s, logger& log, std::string& reason) {
  runtime_internal::uring_faults faults = runtime_internal::injected_faults();
  switch (s) {
    case shape::epoll: return make_epoll(log, reason);
    case shape::io_uring: break;
    case shape::not_deferred: faults.no_deferred_work = true; break;
    case shape::tiny_queue: faults.submission_entries = 2; break;
    case shape::without_buffer_ring: faults.no_buffer_ring = true; break;
    case shape::without_multishot: faults.no_multishot_receive = faults.no_multishot_accept = true; break;
    case shape::short_sends: faults.short_sends = true; break;
  }
  return runtime_internal::make_uring_backend(log, reason, faults);
}

// Turns `b` until `done`; fails the test after ten seconds.
inline void turn_until(runtime_internal::backend& b, const std::function<bool()>& done) {
  const time_point give_up = b.now() + std::chrono::seconds(10);
  while (!done()) {
    ASSERT_LT(b.now(), give_up) << "nothing happened for ten seconds";
    b.turn(b.now() + std::chrono::seconds(1));
  }
}
// A few turns that do not wait, for events that must not happen.
inline void turn_idly(runtime_internal::backend& b) {
  for (int i = 0; i < 5; ++i) b.turn(time_point::min());
}

struct operation_under_test : runtime_internal::operation {
  operation_under_test(kind k, runtime_internal::handle h) {
    type = k;
    on = h;
    complete = [](runtime_internal::operation& op, std::int64_t r) noexcept {
      auto& self = static_cast<operation_under_test&>(op);
      EXPECT_FALSE(self.result) << "completed twice";
      self.result = r;
    };
  }
  std::optional<std::int64_t> result;
};

struct receiver_under_test final : runtime_internal::receive_source {
  void received(bytes_view bytes) noexcept override {
    EXPECT_FALSE(end) << "bytes behind the end";
    EXPECT_FALSE(paused) << "bytes in a pause";
    text.append(as_text(bytes));
    ++chunks;
    if (on_received) on_received();
  }
  void ended(std::int64_t result) noexcept override {
    EXPECT_FALSE(end) << "ended twice";
    EXPECT_TRUE(!paused || result == -ECANCELED) << "ended in a pause";
    end = result;
  }
  void held_changed() noexcept override { ++held_changes; }
  void hung_up() noexcept override {
    EXPECT_TRUE(watches_hangup);
    EXPECT_TRUE(paused);
    ++hangups;
  }
  std::string text;
  int chunks = 0;
  int held_changes = 0;
  int hangups = 0;
  bool paused = false;
  std::optional<std::int64_t> end;
  std::function<void()> on_received;
};

struct acceptor_under_test final : runtime_internal::accept_source {
  void accepted(runtime_internal::handle h) noexcept override {
    connections.push_back(h);
    if (on_accepted) on_accepted();
  }
  void ended(std::int64_t result) noexcept override { end = result; }
  std::vector<runtime_internal::handle> connections;
  std::optional<std::int64_t> end;
  std::function<void()> on_accepted;
};

class backend_test : public testing::TestWithParam<shape> {
 protected:
  backend_test() : backend_(make_shape(GetParam(), log_, why_)) {}
  void SetUp() override {
    if (!backend_) GTEST_SKIP() << why_;
  }
  void TearDown() override {
    if (backend_) backend_->release_thread();
  }
  runtime_internal::backend& b() { return *backend_; }
  // A connected pair: [0] for the backend, [1] for the test, which blocks.
  std::array<int, 2> pair(int extra = SOCK_NONBLOCK) {
    std::array<int, 2> s{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | extra, 0, s.data()), 0);
    return s;
  }
  void until(const std::function<bool()>& done) { turn_until(b(), done); }

  quiet_logger log_;
  std::string why_;
  std::unique_ptr<runtime_internal::backend> backend_;
};

inline const auto every_shape =
    testing::Values(shape::io_uring, shape::not_deferred, shape::tiny_queue, shape::without_buffer_ring,
                    shape::without_multishot, shape::short_sends, shape::epoll);
inline std::string shape_name(const testing::TestParamInfo<shape>& info) {
  return testing::PrintToString(info.param);
}

}  // namespace coracle::test
