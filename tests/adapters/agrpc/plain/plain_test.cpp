// A program without a library of senders, whose Asio is compiled without the executors of the Networking TS.
//
// Only these headers: each brings what programs over asio-grpc get along with it.

#include <agrpc/alarm.hpp>
#include <agrpc/asio_grpc.hpp>
#include <agrpc/client_rpc.hpp>
#include <agrpc/use_sender.hpp>
#include <agrpc/waiter.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <memory>

#if !defined(BOOST_ASIO_NO_TS_EXECUTORS) || !defined(ASIO_NO_TS_EXECUTORS)
#error "the build defines both"
#endif
#if __has_include(<stdexec/execution.hpp>)
#error "the build has no stdexec in its path"
#endif

namespace agrpc_tests::plain_test {

namespace asio = agrpc::asio;
using std::chrono::milliseconds;

std::chrono::system_clock::time_point in(milliseconds delay) {
  return std::chrono::system_clock::now() + delay;
}

TEST(WithoutTsExecutors, HandlersAndExecutorsWork) {
  agrpc::GrpcContext context;
  int done = 0;
  const asio::any_io_executor any(context.get_executor());
  asio::post(any, [&] { ++done; });
  asio::dispatch(context, [&] { ++done; });
  auto guard = asio::make_work_guard(context);
  agrpc::Alarm alarm(context);
  alarm.wait(in(milliseconds(1)), [&](bool ok) {
    done += ok ? 1 : 0;
    guard.reset();
  });
  agrpc::Waiter<void(bool)> waiter;
  waiter.wait([&](const auto& error, bool ok) { done += !error && ok ? 1 : 0; });
  agrpc::Alarm second(context);
  waiter.initiate([](agrpc::Alarm& on, const auto& deadline,
                     auto&& handler) { on.wait(deadline, std::forward<decltype(handler)>(handler)); },
                  second, in(milliseconds(1)));
  context.run();
  EXPECT_EQ(done, 4);
}

struct receiver {
  int* values;
  int* stops;
  void set_value() const noexcept { ++*values; }
  void set_done() const noexcept { ++*stops; }
  void set_error(std::exception_ptr) const noexcept {}
};

TEST(WithoutSenders, OperationsHaveConnectAndStart) {
  int values = 0;
  int stops = 0;
  {
    agrpc::GrpcContext context;
    agrpc::Alarm alarm(context);
    auto wait = alarm.wait(in(milliseconds(1)), agrpc::use_sender).connect(receiver{&values, &stops});
    wait.start();
    auto scheduled = context.get_scheduler().schedule().connect(receiver{&values, &stops});
    scheduled.start();
    context.run();
    EXPECT_EQ(values, 2);
    auto never =
        alarm.wait(in(std::chrono::minutes(1)), agrpc::use_sender).connect(receiver{&values, &stops});
    never.start();
    alarm.cancel();
    context.run();
    EXPECT_EQ(stops, 1);
  }
  // One that is left when its context ends is stopped.
  auto context = std::make_unique<agrpc::GrpcContext>();
  auto left = context->get_scheduler().schedule().connect(receiver{&values, &stops});
  left.start();
  context.reset();
  EXPECT_EQ(stops, 2);
}

}  // namespace agrpc_tests::plain_test
