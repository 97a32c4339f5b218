// recorder: a duplex_sink that records its notifications, and a task that waits for it.
#pragma once

#include "coracle/coro/event.hpp"
#include "coracle/coro/task.hpp"
#include "net/duplex.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace coracle::net {

// Owns its duplex. One loop.
class recorder final : public duplex_sink {
 public:
  explicit recorder(std::unique_ptr<duplex> d) : line(std::move(d)) {
    line->start(*this);
    inside_call_ = false;
  }
  ~recorder() { EXPECT_TRUE(is_closed || !line) << "a test closes its duplexes"; }

  std::unique_ptr<duplex> line;
  std::string text;
  std::vector<std::int64_t> sends;
  std::optional<std::int64_t> end;
  int handshakes = 0;  // that have ended
  bool is_closed = false;
  bool paused = false;
  std::function<void()> on_received = [] {};

  // These fail the test when the sink is called from inside.
  bool send(std::string_view bytes) {
    const flagged in(inside_call_);
    return line->send(as_bytes(bytes));
  }
  void close(bool abort = false) {
    const flagged in(inside_call_);
    line->close(abort);
  }
  void pause() {
    paused = true;
    line->pause_receive();
  }
  void resume() {
    const flagged in(inside_call_);
    paused = false;
    line->resume_receive();
  }

  task<> until(std::function<bool()> condition) {
    while (!condition()) {
      changed_.reset();
      co_await changed_;
    }
  }
  task<> until_size(std::size_t n) {
    return until([this, n] { return text.size() >= n; });
  }
  task<> until_sent(std::size_t n) {
    return until([this, n] { return sends.size() >= n; });
  }
  task<> until_end() {
    return until([this] { return end.has_value(); });
  }
  task<> closed_down(bool abort = false) {
    close(abort);
    co_await until([this] { return is_closed; });
    line.reset();
  }

 private:
  class flagged {
   public:
    explicit flagged(bool& flag) : flag_(flag), before_(std::exchange(flag, true)) {}
    ~flagged() { flag_ = before_; }
    flagged(const flagged&) = delete;
    flagged& operator=(const flagged&) = delete;

   private:
    bool& flag_;
    bool before_;
  };
  void expect_outside() const { EXPECT_FALSE(inside_call_) << "a sink is never called from inside a call"; }

  void handshake_ended() noexcept override {
    expect_outside();
    EXPECT_TRUE(line->established());
    EXPECT_TRUE(text.empty()) << "before the first bytes";
    ++handshakes;
    changed_.set();
  }
  void received(bytes_view bytes) noexcept override {
    expect_outside();
    EXPECT_FALSE(bytes.empty());
    EXPECT_FALSE(paused) << "no bytes between pause and resume";
    EXPECT_FALSE(end) << "no bytes after the end";
    EXPECT_FALSE(is_closed);
    text.append(as_text(bytes));
    on_received();
    changed_.set();
  }
  void receive_ended(std::int64_t result) noexcept override {
    expect_outside();
    EXPECT_FALSE(paused) << "no end between pause and resume";
    EXPECT_FALSE(end) << "one end";
    end = result;
    changed_.set();
  }
  void sent(std::int64_t result) noexcept override {
    expect_outside();
    EXPECT_FALSE(is_closed);
    EXPECT_FALSE(line->sending());
    sends.push_back(result);
    changed_.set();
  }
  void closed() noexcept override {
    expect_outside();
    EXPECT_FALSE(is_closed) << "closed once";
    is_closed = true;
    changed_.set();
  }
  bool inside_call_ = true;
  event<> changed_;
};

}  // namespace coracle::net
