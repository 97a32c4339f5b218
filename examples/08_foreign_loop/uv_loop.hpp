// uv_loop: libuv's event loop, and uv_driver, which runs a runtime in it.
#pragma once

#include "foreign_loop.hpp"

#include <uv.h>

#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

inline void check_uv(int result) {
  if (result < 0) throw std::runtime_error(uv_strerror(result));
}

// --8<-- [start:driver]
// Runs loop 0 of a runtime in a uv_loop_t. It is made and destroyed on the thread of that loop, outside tasks. The runtime
// must outlive it; libuv frees the handles in a later iteration, so run the loop once more before uv_loop_close().
class uv_driver {
 public:
  uv_driver(uv_loop_t* host, coracle::runtime& guest) : guest_(guest) {
    check_uv(uv_poll_init(host, readable_, guest.pollable()));
    check_uv(uv_prepare_init(host, before_wait_));
    readable_->data = before_wait_->data = this;
    uv_poll_start(readable_, UV_READABLE, [](uv_poll_t* h, int, int) { of(h).poll(); });
    // Before each wait: this submits what the guest has queued, and arms its next deadline.
    uv_prepare_start(before_wait_, [](uv_prepare_t* h) { static_cast<void>(of(h).guest_.pollable()); });
  }
  uv_driver(const uv_driver&) = delete;
  uv_driver& operator=(const uv_driver&) = delete;
  ~uv_driver() {
    close(readable_);
    close(before_wait_);
    guest_.release_loop();
  }
  // After uv_run(): rethrows what left a root task. An exception must not pass through libuv, which is C.
  void rethrow() {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  template <class Handle>
  static uv_driver& of(Handle* h) {
    return *static_cast<uv_driver*>(h->data);
  }
  template <class Handle>
  static void close(Handle* h) {
    uv_close(reinterpret_cast<uv_handle_t*>(h),
             [](uv_handle_t* closed) { delete reinterpret_cast<Handle*>(closed); });
  }
  void poll() {
    try {
      guest_.poll();
    } catch (...) {
      error_ = std::current_exception();
      uv_stop(readable_->loop);
    }
  }

  coracle::runtime& guest_;
  uv_poll_t* readable_ = new uv_poll_t;
  uv_prepare_t* before_wait_ = new uv_prepare_t;
  std::exception_ptr error_;
};
// --8<-- [end:driver]

class uv_loop final : public foreign_loop {
 public:
  uv_loop() {
    check_uv(uv_loop_init(&loop_));
    uv_check_init(&loop_, &woken_);
    woken_.data = nullptr;
    uv_check_start(&woken_, [](uv_check_t* h) { ++static_cast<uv_loop*>(h->loop->data)->wakeups_; });
    loop_.data = this;
  }
  ~uv_loop() override {
    release();
    uv_walk(&loop_, [](uv_handle_t* h, void*) { close(h); }, nullptr);
    uv_run(&loop_, UV_RUN_DEFAULT);
    uv_loop_close(&loop_);
  }

  void drive(coracle::runtime& guest) override {
    drivers_.push_back(std::make_unique<uv_driver>(&loop_, guest));
  }
  void release() override { drivers_.clear(); }
  void after(std::chrono::milliseconds delay, std::function<void()> due) override {
    auto* const t = new called<uv_timer_t>(std::move(due));
    uv_timer_init(&loop_, &t->handle);
    uv_timer_start(
        &t->handle,
        [](uv_timer_t* h) {
          static_cast<callback*>(h->data)->call();
          close(reinterpret_cast<uv_handle_t*>(h));
        },
        static_cast<std::uint64_t>(delay.count()), 0);
  }
  void watch(int descriptor, std::function<void()> readable) override {
    auto* const w = new called<uv_poll_t>(std::move(readable));
    check_uv(uv_poll_init(&loop_, &w->handle, descriptor));
    uv_poll_start(&w->handle, UV_READABLE,
                  [](uv_poll_t* h, int, int) { static_cast<callback*>(h->data)->call(); });
  }
  void run() override {
    uv_run(&loop_, UV_RUN_DEFAULT);
    for (const auto& driver : drivers_) driver->rethrow();
  }
  void stop() override { uv_stop(&loop_); }
  [[nodiscard]] std::uint64_t wakeups() const noexcept override { return wakeups_; }

 private:
  // What a handle calls; the handle refers to it, and frees it when it is closed.
  struct callback {
    explicit callback(std::function<void()> f) : call(std::move(f)) {}
    virtual ~callback() = default;
    const std::function<void()> call;
  };
  template <class Handle>
  struct called final : callback {
    explicit called(std::function<void()> f) : callback(std::move(f)) {
      handle.data = static_cast<callback*>(this);
    }
    Handle handle{};
  };
  static void close(uv_handle_t* h) {
    if (!uv_is_closing(h))
      uv_close(h, [](uv_handle_t* closed) { delete static_cast<callback*>(closed->data); });
  }

  uv_loop_t loop_{};
  uv_check_t woken_{};
  std::vector<std::unique_ptr<uv_driver>> drivers_;
  std::uint64_t wakeups_ = 0;
};
