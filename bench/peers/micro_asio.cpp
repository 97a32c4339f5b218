// bench_micro_asio [NAME...]: the measurements of bench_micro with asio's coroutines, as far as asio supports
// them.
#include "micro/samples.hpp"

#include <asio.hpp>
#include <asio/experimental/channel.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace {

using clock_type = std::chrono::steady_clock;

[[gnu::noinline]] asio::awaitable<std::uint64_t> child(std::uint64_t n) { co_return n + 1; }

asio::awaitable<void> await_child(std::uint64_t times) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < times; ++i) sum += co_await child(i);
  bench::keep(sum);
}

asio::awaitable<void> spawn_join(std::uint64_t times) {
  const auto here = co_await asio::this_coro::executor;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < times; ++i)
    sum += co_await asio::co_spawn(here, child(i), asio::use_awaitable);
  bench::keep(sum);
}

using messages = asio::experimental::channel<void(asio::error_code, std::uint64_t)>;

asio::awaitable<void> channel_one_task(std::uint64_t times) {
  messages through(co_await asio::this_coro::executor, 16);
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < times; ++i) {
    co_await through.async_send(asio::error_code(), i, asio::use_awaitable);
    sum += co_await through.async_receive(asio::use_awaitable);
  }
  bench::keep(sum);
}

asio::awaitable<void> produce(messages& into, std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i)
    co_await into.async_send(asio::error_code(), i, asio::use_awaitable);
}

asio::awaitable<void> channel_two_tasks(std::uint64_t times) {
  const auto here = co_await asio::this_coro::executor;
  messages through(here, 16);
  std::uint64_t sum = 0;
  asio::co_spawn(here, produce(through, times), asio::detached);
  for (std::uint64_t i = 0; i < times; ++i) sum += co_await through.async_receive(asio::use_awaitable);
  bench::keep(sum);
}

struct benchmark {
  const char* name;
  asio::awaitable<void> (*repeat)(std::uint64_t times);
};
constexpr std::array all{benchmark{"child", await_child}, benchmark{"spawn_join", spawn_join},
                         benchmark{"channel_one_task", channel_one_task},
                         benchmark{"channel_two_tasks", channel_two_tasks}};

asio::awaitable<void> measure(benchmark measured) {
  bench::samples taken;
  std::uint64_t times = 16;
  while (!taken.full()) {
    const clock_type::time_point start = clock_type::now();
    co_await measured.repeat(times);
    const clock_type::duration all_of_it = clock_type::now() - start;
    if (all_of_it < bench::samples::at_least) times *= 2;
    else taken.add(all_of_it, times);
  }
  taken.print(measured.name);
}

bool wanted(std::string_view name, int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (name == argv[i]) return true;
  return argc == 1;
}

}  // namespace

int main(int argc, char** argv) {
  for (const benchmark& one : all) {
    if (!wanted(one.name, argc, argv)) continue;
    asio::io_context context(1);
    asio::co_spawn(context, measure(one), asio::detached);
    context.run();
  }
}
