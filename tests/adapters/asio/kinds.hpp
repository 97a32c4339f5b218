// kinds: every kind of wait as an operation that takes a completion token.
#pragma once

#include "asio_fixture.hpp"

#include <chrono>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace coracle::testing_support::asio_tests {

// An asio_fixture with a stream in progress.
class kinds_fixture : public asio_fixture {
 public:
  std::optional<bidi_call<echo::Text, echo::Text>> chat;
  std::optional<client_streaming_call<echo::Text, echo::Text>> upload;

  // Begins both streams and sends a message through the first, which the server sends back.
  void begin_streams() {
    chat.emplace(stub().Chat());
    upload.emplace(stub().Collect());
    bool sent = false;
    async_wait(chat->write(text("echo")), [&](const status& s) { sent = s.ok(); });
    run_until([&] { return sent; });
  }
  void TearDown() override {
    chat.reset();
    upload.reset();
    asio_fixture::TearDown();
  }
};

struct unary_kind {
  static constexpr const char* name = "unary";
  using value = result<echo::Text>;
  template <class Token>
  static auto start(kinds_fixture& w, Token&& token) {
    return async_wait(w.stub().Say(text("hello")), std::forward<Token>(token));
  }
  static void check(const value& v) {
    ASSERT_TRUE(v.ok()) << v.status();
    EXPECT_EQ(v->text(), "hello");
  }
};
struct write_kind {
  static constexpr const char* name = "write";
  using value = status;
  template <class Token>
  static auto start(kinds_fixture& w, Token&& token) {
    return async_wait(w.chat->write(text("again")), std::forward<Token>(token));
  }
  static void check(const value& v) { EXPECT_EQ(v, status()); }
};
struct read_kind {
  static constexpr const char* name = "read";
  using value = result<std::optional<echo::Text>>;
  template <class Token>
  static auto start(kinds_fixture& w, Token&& token) {
    return async_wait(w.chat->next(), std::forward<Token>(token));
  }
  static void check(const value& v) {
    ASSERT_TRUE(v.ok()) << v.status();
    ASSERT_TRUE(v.value());
    EXPECT_EQ(v.value()->text(), "echo");
  }
};
struct half_close_kind {
  static constexpr const char* name = "half-close";
  using value = void;
  template <class Token>
  static auto start(kinds_fixture& w, Token&& token) {
    return async_wait(w.chat->writes_done(), std::forward<Token>(token));
  }
};
struct reply_kind {
  static constexpr const char* name = "reply of a client stream";
  using value = result<echo::Text>;
  template <class Token>
  static auto start(kinds_fixture& w, Token&& token) {
    return async_wait(w.upload->finish(), std::forward<Token>(token));
  }
  static void check(const value& v) { EXPECT_EQ(v.status(), status()); }
};
struct timer_kind {
  static constexpr const char* name = "timer";
  using value = void;
  template <class Token>
  static auto start(kinds_fixture& w, Token&& token) {
    return async_wait(w.here(), sleep_until(w.rt().now() + std::chrono::milliseconds(1)),
                      std::forward<Token>(token));
  }
};
struct channel_state_kind {
  static constexpr const char* name = "channel state";
  using value = bool;
  template <class Token>
  static auto start(kinds_fixture& w, Token&& token) {
    return async_wait(w.here(), w.to->wait_for_state_change(connectivity::idle), std::forward<Token>(token));
  }
  static void check(value v) { EXPECT_TRUE(v); }
};

// Counts the cells that have ended, and checks their results. A completion may have an error in front.
class ended {
 public:
  [[nodiscard]] int count() const noexcept { return count_; }
  template <class Kind>
  void with() {
    static_assert(std::is_void_v<typename Kind::value>);
    ++count_;
  }
  template <class Kind, class T>
  void with(T&& v) {
    if constexpr (std::is_same_v<std::decay_t<T>, error_code>) {
      EXPECT_FALSE(v) << v.message();
      with<Kind>();
    } else if constexpr (std::is_same_v<std::decay_t<T>, std::exception_ptr>) {
      EXPECT_FALSE(v);
      with<Kind>();
    } else {
      Kind::check(v);
      ++count_;
    }
  }
  template <class Kind, class T>
  void with(const std::exception_ptr& error, T&& v) {
    EXPECT_FALSE(error);
    with<Kind>(std::forward<T>(v));
  }

 private:
  int count_ = 0;
};

// Calls `cell.operator()<Kind>()` for each kind, with streams of its own, and runs the io_context until the
// cell has ended.
template <class Cell>
void for_each_kind(kinds_fixture& w, const ended& done, Cell cell) {
  const auto run = [&]<class Kind>(Kind) {
    SCOPED_TRACE(Kind::name);
    w.begin_streams();
    const int before = done.count();
    cell.template operator()<Kind>();
    EXPECT_EQ(done.count(), before) << "a completion handler was called inside the initiating function";
    w.run_until([&] { return done.count() > before; });
    EXPECT_EQ(done.count(), before + 1);
  };
  run(unary_kind());
  run(write_kind());
  run(read_kind());
  run(half_close_kind());
  run(reply_kind());
  run(timer_kind());
  run(channel_state_kind());
}

}  // namespace coracle::testing_support::asio_tests
