// poll_loop: an event loop over poll(2), as many programs have one.
#pragma once

#include "foreign_loop.hpp"

#include <poll.h>

#include <algorithm>
#include <cstddef>
#include <list>
#include <map>
#include <utility>
#include <vector>

class poll_loop final : public foreign_loop {
 public:
  ~poll_loop() override { release(); }

  void drive(coracle::runtime& guest) override {
    static_cast<void>(guest.pollable());  // from here on the guest's loop belongs to this thread
    guests_.push_back(&guest);
  }
  void release() override {
    for (coracle::runtime* guest : std::exchange(guests_, {})) guest->release_loop();
  }
  void after(std::chrono::milliseconds delay, std::function<void()> due) override {
    timers_.emplace(clock::now() + delay, std::move(due));
  }
  void watch(int descriptor, std::function<void()> readable) override {
    watches_.push_back({descriptor, std::move(readable)});
  }

  // --8<-- [start:run]
  void run() override {
    going_ = true;
    while (going_) {
      watched_.clear();
      // Before each wait: this submits what the guest has queued, and arms its next deadline.
      for (coracle::runtime* guest : guests_) watched_.push_back({guest->pollable(), POLLIN, 0});
      for (const watch_of& w : watches_) watched_.push_back({w.descriptor, POLLIN, 0});
      ::poll(watched_.data(), watched_.size(), timeout_ms());
      ++wakeups_;
      auto one = watched_.begin();
      for (coracle::runtime* guest : guests_)
        if ((one++)->revents != 0) guest->poll();
      // ... then what the loop has of its own: descriptors and timers.
      // --8<-- [end:run]
      for (auto w = watches_.begin(); one != watched_.end(); ++w, ++one)
        if (one->revents != 0) w->readable();
      while (!timers_.empty() && timers_.begin()->first <= clock::now()) {
        const std::function<void()> due = std::move(timers_.begin()->second);
        timers_.erase(timers_.begin());
        due();
      }
    }
  }
  void stop() override { going_ = false; }
  [[nodiscard]] std::uint64_t wakeups() const noexcept override { return wakeups_; }

 private:
  using clock = std::chrono::steady_clock;
  struct watch_of {
    int descriptor;
    std::function<void()> readable;
  };
  [[nodiscard]] int timeout_ms() const {
    if (timers_.empty()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(timers_.begin()->first - clock::now());
    return std::max(0, static_cast<int>(left.count()));
  }

  std::vector<coracle::runtime*> guests_;
  std::list<watch_of> watches_;
  std::multimap<clock::time_point, std::function<void()>> timers_;
  std::vector<pollfd> watched_;
  bool going_ = false;
  std::uint64_t wakeups_ = 0;
};
