// callback_method: where the callbacks of one method of a server run.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace grpc::internal {

// The calls of the callback API that a server has, which Shutdown() waits for: they may outlast what the
// client sees. Any thread.
class callback_calls {
 public:
  void begin() noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
  void end() noexcept {
    if (count_.fetch_sub(1, std::memory_order_acq_rel) == 1) count_.notify_all();
  }
  void wait() const noexcept {
    while (const int n = count_.load(std::memory_order_acquire)) count_.wait(n);
  }

 private:
  std::atomic<int> count_{0};
};

// A callback on the loop costs nothing, but one that blocks there delays all calls of the loop, and never
// returns if it waits for one of them. So the first callbacks of a method run on threads, and the system tells
// whether they block. If not, later calls have theirs on the loop. A callback that blocks there after all, for
// long or in a synchronous call, moves the calls that come after it to threads, for good.
//
// Any thread.
class callback_method {
 public:
  // always_on_threads: the program wants it so.
  callback_method(const char* name, bool always_on_threads, std::shared_ptr<callback_calls> calls)
      : name_(name), calls_(std::move(calls)), where_(always_on_threads ? place::threads : place::on_trial) {}

  // For a call that begins.
  [[nodiscard]] bool on_loop() const noexcept {
    return where_.load(std::memory_order_relaxed) == place::loop;
  }
  [[nodiscard]] callback_calls& calls() noexcept { return *calls_; }
  // Runs callbacks of the method, here. They may destroy the call.
  template <class Function>
  void run(Function&& callback) {
    const watch watched(*this);
    callback();
  }

  // Before the thread blocks in a function of this API. Throws usage_error on a loop, unless a callback does
  // it: programs do, and the loop of the clients does not wait for that of a server.
  static void before_blocking();

 private:
  enum class place : unsigned char { on_trial, loop, threads };
  // From the start to the end of a callback, on its thread.
  class watch {
   public:
    explicit watch(callback_method& of) noexcept;
    watch(const watch&) = delete;
    watch& operator=(const watch&) = delete;
    ~watch();

   private:
    callback_method& of_;
    callback_method* const outer_;
    const bool on_loop_;
    const bool on_trial_;
    std::chrono::steady_clock::time_point began_;
    long waits_ = 0;
  };
  void tried(bool blocked) noexcept;
  void move_to_threads(const std::string& why) noexcept;

  const std::string name_;
  const std::shared_ptr<callback_calls> calls_;
  std::atomic<place> where_;
  std::atomic<int> tried_{0};
  std::atomic<int> blocked_{0};
};

}  // namespace grpc::internal
