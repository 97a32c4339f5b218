// What programs over asio-grpc get with a single header: register_awaitable_rpc_handler.hpp has an alarm, and
// an alarm has the token of senders.

#include <agrpc/register_awaitable_rpc_handler.hpp>

#include <gtest/gtest.h>

#include <chrono>

namespace agrpc_tests::alone_test {

struct receiver {
  int* values;
  void set_value() const noexcept { ++*values; }
  void set_done() const noexcept {}
};

TEST(OneHeader, HasAlarmsAndSenders) {
  agrpc::GrpcContext context;
  agrpc::Alarm alarm(context);
  int values = 0;
  auto wait = alarm.wait(std::chrono::system_clock::now(), agrpc::use_sender).connect(receiver{&values});
  wait.start();
  auto scheduled = context.get_executor().schedule().connect(receiver{&values});
  scheduled.start();
  context.run();
  EXPECT_EQ(values, 2);
}

}  // namespace agrpc_tests::alone_test
