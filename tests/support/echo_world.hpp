// echo_world: a world with a server of an echo service and a channel to it, for fixtures that decide how the
// two are connected.
#pragma once

#include "support/echo_service.hpp"
#include "support/every_backend.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

namespace coracle::testing_support {

inline echo::Text make_text(std::string text, int count = 0) {
  echo::Text t;
  t.set_text(std::move(text));
  t.set_count(count);
  return t;
}

// Whether a message was read.
inline bool more(const result<bool>& read) { return read.ok() && *read; }

// Part of a fixture, which calls close() in TearDown(), because a server must not outlive its services.
class echo_world {
 protected:
  explicit echo_world(world_kind kind) : world_(kind) {}
  ~echo_world() = default;
  void close() {
    channel_.reset();
    server_.reset();
  }

  [[nodiscard]] runtime& rt() noexcept { return *world_.get(); }
  [[nodiscard]] sim::world* sim_world() noexcept { return world_.simulated(); }
  [[nodiscard]] echo_stub stub() noexcept { return echo_stub(*channel_); }
  // Of a server that listens on TCP.
  [[nodiscard]] std::string tcp_address() const { return "127.0.0.1:" + std::to_string(server_->port()); }
  template <class T>
  T run(task<T> t) {
    return sync_wait(rt(), rt().at(0), std::move(t));
  }
  static echo::Text text(std::string text, int count = 0) { return make_text(std::move(text), count); }

  any_world world_;
  std::optional<server> server_;
  std::optional<channel> channel_;
};

// A stream of each kind. The last one is half duplex, as HTTP/1.1 requires of peers in general.
inline task<> expect_streams_of_all_kinds(const echo_stub s) {
  auto repeated = s.Repeat(make_text("again", 3));
  int n = 0;
  for (echo::Text one; more(co_await repeated.read(one));) EXPECT_EQ(one.count(), n++);
  EXPECT_EQ(n, 3);
  EXPECT_EQ(co_await repeated.finish(), status());
  auto collected = s.Collect();
  for (const char* word : {"a", "b", "c"}) EXPECT_EQ(co_await collected.write(make_text(word)), status());
  const auto all = co_await collected.finish();
  EXPECT_EQ(all.status(), status());
  EXPECT_TRUE(all.ok() && all->text() == "abc");
  auto chat = s.Chat();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(co_await chat.write(make_text("x", i)), status());
  co_await chat.writes_done();
  n = 0;
  for (echo::Text one; more(co_await chat.read(one));) EXPECT_EQ(one.count(), n++);
  EXPECT_EQ(n, 3);
  EXPECT_EQ(co_await chat.finish(), status());
}

inline task<> expect_a_failure_after_replies(const echo_stub s) {
  auto stream = s.Repeat(make_text("fail", 2));
  int n = 0;
  for (echo::Text one; more(co_await stream.read(one));) ++n;
  EXPECT_EQ(n, 2);
  const status end = co_await stream.finish();
  EXPECT_EQ(end.code(), status_code::not_found);
  EXPECT_EQ(end.message(), "after the replies");
}

}  // namespace coracle::testing_support
