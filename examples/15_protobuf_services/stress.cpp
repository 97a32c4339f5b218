// protobuf_echo_stress: many coroutines call Echo over one connection.
#include "../command_line.hpp"
#include "echo.pb.h"

#include <coracle/client.hpp>
#include <coracle/protobuf_services.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace {

using namespace std::chrono_literals;

struct counts {
  std::uint64_t answered = 0;
  std::uint64_t failed = 0;
};

coracle::task<> call_until(coracle::time_point end, echo::EchoService_Stub* stub, std::string msg,
                           counts* into) {
  echo::EchoRequest request;
  request.set_msg(msg);
  echo::EchoResponse response;
  coracle::protobuf_controller controller(coracle::within(5s));
  while (coracle::coro::this_executor().now() < end) {
    controller.Reset();
    stub->Echo(&controller, &request, &response, nullptr);
    co_await controller;
    const bool right = !controller.Failed() && response.msg() == " Echo >>>>>>> " + msg;
    ++(right ? into->answered : into->failed);
  }
}

coracle::task<counts> stress(coracle::channel to, std::uint64_t callers, std::chrono::milliseconds how_long) {
  coracle::protobuf_channel channel(to);
  echo::EchoService_Stub stub(&channel);
  counts total;
  const coracle::time_point end = coracle::coro::this_executor().now() + how_long;
  coracle::scope work(co_await coracle::coro::this_environment());
  for (std::uint64_t i = 0; i < callers; ++i)
    work.spawn(call_until(end, &stub, "caller " + std::to_string(i), &total));
  co_await work.join();
  co_return total;
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run("protobuf_echo_stress", [&] {
    const examples::command_line line(argc, argv, "ADDRESS [--callers=NUMBER] [--seconds=NUMBER]");
    const auto callers = std::stoull(line.option("callers").value_or("100"));
    const double seconds = std::stod(line.option("seconds").value_or("5"));
    coracle::runtime runtime;
    coracle::channel channel(runtime, line.words().front(), coracle::insecure());
    const std::chrono::milliseconds how_long(static_cast<std::int64_t>(seconds * 1000));
    const counts total = coracle::sync_wait(runtime, stress(channel, callers, how_long));
    std::printf("%llu calls of %llu callers in %.1f s, %.0f a second, %llu failed\n",
                static_cast<unsigned long long>(total.answered), static_cast<unsigned long long>(callers),
                seconds, static_cast<double>(total.answered) / seconds,
                static_cast<unsigned long long>(total.failed));
    return total.failed == 0 && total.answered > 0 ? 0 : 1;
  });
}
