// soak_client: repeats cases of gRPC's interop description for a long time, several at once on one channel.
#include "interop_cases.hpp"

#include "../../../examples/command_line.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <string>

namespace {

using namespace std::chrono_literals;

struct repeated_case {
  coracle::task<> (*run)(interop::session& at);
  bool is_answered = true;  // it cannot succeed without the server
};

constexpr repeated_case cases[] = {
    {interop::empty_unary},
    {interop::large_unary},
    {interop::client_streaming},
    {interop::server_streaming},
    {interop::ping_pong},
    {interop::empty_stream},
    {interop::timeout_on_sleeping_server, false},
    {interop::cancel_after_begin, false},
    {interop::cancel_after_first_response},
    {interop::status_code_and_message},
    {interop::custom_metadata},
    {interop::unimplemented_method},
    {interop::client_compressed_unary},
    {interop::server_compressed_unary},
    {interop::client_compressed_streaming},
    {interop::server_compressed_streaming},
};

constexpr auto pause = 10ms;
constexpr auto report_interval = 10s;
constexpr std::size_t reason_chars = 80;

struct tally {
  std::uint64_t done = 0;
  std::map<std::string, std::uint64_t> failed;  // by the beginnings of their reasons
};

coracle::task<> repeat_cases(interop::session& at, std::size_t first, coracle::time_point end, tally& all) {
  for (std::size_t i = first; coracle::coro::this_executor().now() < end; ++i) {
    try {
      const repeated_case& one = cases[i % std::size(cases)];
      co_await one.run(at);
      all.done += one.is_answered;
    } catch (const std::exception& failure) {
      ++all.failed[examples::printable(failure.what()).substr(0, reason_chars)];
    }
    co_await coracle::sleep_for(pause);  // sleeps on purpose: a soak is long, not heavy
  }
}

void print(tally& all) {
  std::printf("done %llu\n", static_cast<unsigned long long>(all.done));
  for (const auto& [reason, times] : all.failed)
    std::printf("failed %llu %s\n", static_cast<unsigned long long>(times), reason.c_str());
  std::fflush(stdout);
  all = {};
}

coracle::task<> report(coracle::time_point end, tally& all) {
  for (auto next = coracle::coro::this_executor().now(); next < end;) {
    next += report_interval;
    co_await coracle::sleep_until(std::min(next, end));
    print(all);
  }
}

coracle::task<> soak(interop::session& at, int tasks, std::chrono::seconds time) {
  const auto end = coracle::coro::this_executor().now() + time;
  tally all;
  coracle::scope running(co_await coracle::coro::this_environment());
  for (int i = 0; i < tasks; ++i) running.spawn(repeat_cases(at, static_cast<std::size_t>(i), end, all));
  running.spawn(report(end, all));
  co_await running.join();
  print(all);  // of those that have ended later
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run("soak_client", [&] {
    const examples::command_line line(argc, argv, "--server_port=PORT --seconds=N --tasks=N");
    const int seconds = std::stoi(line.required("seconds"));
    const int tasks = std::stoi(line.required("tasks"));
    coracle::runtime runtime;
    interop::session at(runtime, "127.0.0.1:" + std::to_string(line.port("server_port")), coracle::insecure(),
                        {});
    coracle::sync_wait(runtime, soak(at, tasks, std::chrono::seconds(seconds)));
    return 0;
  });
}
