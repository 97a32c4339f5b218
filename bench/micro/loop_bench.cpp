// The loop: its queue, its timers, and the way to another loop.
#include "micro/micro_benchmark.hpp"
#include "micro/samples.hpp"

#include <array>
#include <chrono>

namespace bench {

namespace {

// Posts itself until it has run often enough.
class again : coracle::coro::runnable {
 public:
  explicit again(std::uint64_t times) noexcept : left_(times) {
    run = [](coracle::coro::runnable& w) noexcept { static_cast<again&>(w).step(); };
  }
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) noexcept {
    task_ = h;
    coracle::coro::this_executor().post(*this);
  }
  void await_resume() const noexcept {}

 private:
  void step() noexcept {
    if (--left_ == 0) task_.resume();
    else coracle::coro::this_executor().post(*this);
  }
  std::uint64_t left_;
  std::coroutine_handle<> task_;
};

coracle::task<> post_and_run(std::uint64_t times) {
  again and_again(times);
  co_await and_again;
}

coracle::task<> arm_and_disarm(std::uint64_t times) {
  coracle::coro::executor& here = coracle::coro::this_executor();
  coracle::coro::timer t;
  const coracle::time_point when = here.now() + std::chrono::seconds(1);
  for (std::uint64_t i = 0; i < times; ++i) {
    here.arm(t, when);
    keep(t);
    here.disarm(t);
  }
  co_return;
}

// Continues on the given loop.
class hop : coracle::coro::runnable {
 public:
  explicit hop(coracle::loop& to) noexcept : to_(to) {
    run = [](coracle::coro::runnable& w) noexcept { static_cast<hop&>(w).task_.resume(); };
  }
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) noexcept {
    task_ = h;
    to_.post(*this);
  }
  void await_resume() const noexcept {}

 private:
  coracle::loop& to_;
  std::coroutine_handle<> task_;
};

// To the other loop and back, while both are otherwise idle.
coracle::task<> cross_loop(std::uint64_t times) {
  coracle::loop& owner_loop = *coracle::loop::current();
  coracle::loop& other = owner_loop.owner().at(1);
  for (std::uint64_t i = 0; i < times; ++i) {
    hop there(other);
    co_await there;
    hop back(owner_loop);
    co_await back;
  }
}

constexpr std::array all{
    micro_benchmark{"post_run", post_and_run},
    micro_benchmark{"timer", arm_and_disarm},
    micro_benchmark{"cross_loop", cross_loop},
};

}  // namespace

std::span<const micro_benchmark> loop_benchmarks() noexcept { return all; }

}  // namespace bench
