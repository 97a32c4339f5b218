// Primitives between tasks of one loop.
#include "micro/micro_benchmark.hpp"
#include "micro/samples.hpp"

#include <array>

namespace bench {

namespace {

using messages = coracle::queue<std::uint64_t>;
constexpr std::size_t capacity = 16;

coracle::task<> mutex(std::uint64_t times) {
  coracle::mutex free;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < times; ++i) {
    const coracle::mutex::guard held = co_await free.lock();
    ++sum;
    keep(sum);
  }
}

// One send and one receive.
coracle::task<> channel_one_task(std::uint64_t times) {
  messages through(capacity);
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < times; ++i) {
    co_await through.send(i);
    const auto message = co_await through.receive();
    sum += *message;
  }
  keep(sum);
}

coracle::task<> produce(messages& into, std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) co_await into.send(i);
  into.close();
}

coracle::task<> channel_two_tasks(std::uint64_t times) {
  messages through(capacity);
  std::uint64_t sum = 0;
  coracle::scope producer(co_await coracle::coro::this_environment());
  producer.spawn(produce(through, times));
  while (const auto message = co_await through.receive()) sum += *message;
  co_await producer.join();
  keep(sum);
}

constexpr std::array all{
    micro_benchmark{"mutex", mutex},
    micro_benchmark{"channel_one_task", channel_one_task},
    micro_benchmark{"channel_two_tasks", channel_two_tasks},
};

}  // namespace

std::span<const micro_benchmark> sync_benchmarks() noexcept { return all; }

}  // namespace bench
