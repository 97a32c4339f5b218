// Tasks, scopes, generators and their frames.
#include "micro/micro_benchmark.hpp"
#include "micro/samples.hpp"

#include <array>

namespace bench {

namespace {

// Not inline: it represents a child that is compiled elsewhere.
[[gnu::noinline]] coracle::task<std::uint64_t> child(std::uint64_t n) { co_return n + 1; }

coracle::task<> await_child(std::uint64_t times) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < times; ++i) sum += co_await child(i);
  keep(sum);
}

[[gnu::noinline]] coracle::task<> add_one(std::uint64_t& to) {
  ++to;
  co_return;
}

coracle::task<> spawn_and_join(std::uint64_t times) {
  std::uint64_t sum = 0;
  coracle::scope children(co_await coracle::coro::this_environment());
  for (std::uint64_t i = 0; i < times; ++i) {
    children.spawn(add_one(sum));
    co_await children.join();
  }
  keep(sum);
}

// Queues the task after the work that is queued already.
class give_way : coracle::coro::runnable {
 public:
  give_way() noexcept {
    run = [](coracle::coro::runnable& w) noexcept { static_cast<give_way&>(w).task_.resume(); };
  }
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) noexcept {
    task_ = h;
    coracle::coro::this_executor().post(*this);
  }
  void await_resume() const noexcept {}

 private:
  std::coroutine_handle<> task_;
};

[[gnu::noinline]] coracle::task<> add_one_later(std::uint64_t& to) {
  give_way later;
  co_await later;
  ++to;
}

// The child passes the loop's queue once, and the parent really waits, as with the spawn of other runtimes.
coracle::task<> spawn_through_the_queue(std::uint64_t times) {
  std::uint64_t sum = 0;
  coracle::scope children(co_await coracle::coro::this_environment());
  for (std::uint64_t i = 0; i < times; ++i) {
    children.spawn(add_one_later(sum));
    co_await children.join();
  }
  keep(sum);
}

[[gnu::noinline]] coracle::generator<std::uint64_t> count(std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) co_yield i;
}
coracle::task<> generator_step(std::uint64_t times) {
  std::uint64_t sum = 0;
  for (const std::uint64_t i : count(times)) sum += i;
  keep(sum);
  co_return;
}

[[gnu::noinline]] coracle::async_generator<std::uint64_t> count_async(std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) co_yield i;
}
coracle::task<> async_generator_step(std::uint64_t times) {
  std::uint64_t sum = 0;
  coracle::async_generator<std::uint64_t> numbers = count_async(times);
  while (const auto i = co_await numbers.next()) sum += *i;
  keep(sum);
}

coracle::task<> frame(std::uint64_t times) {
  constexpr std::size_t bytes = 200;
  for (std::uint64_t i = 0; i < times; ++i) {
    void* p = coracle::coro::frame_pool::allocate_frame(bytes);
    keep(p);
    coracle::coro::frame_pool::deallocate(p, bytes);
  }
  co_return;
}

constexpr std::array all{
    micro_benchmark{"child", await_child},
    micro_benchmark{"spawn_join", spawn_and_join},
    micro_benchmark{"spawn_join_queued", spawn_through_the_queue},
    micro_benchmark{"generator_step", generator_step},
    micro_benchmark{"async_generator_step", async_generator_step},
    micro_benchmark{"frame", frame},
};

}  // namespace

std::span<const micro_benchmark> task_benchmarks() noexcept { return all; }

}  // namespace bench
