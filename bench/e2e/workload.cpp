// bench_workload PORT smol|big|req|resp|bidi SECONDS: one of gRPCClient.jl's five workloads against test.TestService,
// on one loop, again and again for so long. Prints `messages seconds cpu_seconds`, the CPU time being the client's.
#include "testsvc.coracle.hpp"

#include <coracle/client.hpp>

#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>

namespace {

using stub = test::rpc::TestService::stub;

constexpr int small_messages = 1000;  // a round of all workloads but `big`
constexpr int big_messages = 100;
constexpr int big_numbers = 32 * 224 * 224 / 8;

// A benchmark of wrong answers says nothing.
void expect_numbers(const test::TestResponse& reply, int count) {
  if (reply.data_size() != count || (count > 0 && reply.data(count - 1) != static_cast<std::uint64_t>(count)))
    throw std::runtime_error("a reply has " + std::to_string(reply.data_size()) +
                             " numbers, or other ones than the " + std::to_string(count) + " that are due");
}

void expect_ok(const coracle::status& how) {
  if (!how.ok()) throw coracle::status_error(how);
}

test::TestRequest small_request(int wanted = 1) {
  test::TestRequest request;
  request.set_test_response_sz(static_cast<std::uint64_t>(wanted));
  request.add_data(0);
  return request;
}

coracle::task<> call_small(stub to, const test::TestRequest& request) {
  const auto reply = co_await to.TestRPC(request);
  expect_numbers(reply.value(), 1);
}

coracle::task<int> smol(stub to) {
  const test::TestRequest request = small_request();
  coracle::scope calls{co_await coracle::coro::this_environment()};
  for (int i = 0; i < small_messages; ++i) calls.spawn(call_small(to, request));
  co_await calls.join();
  co_return small_messages;
}

coracle::task<> call_big(stub to) {
  test::TestRequest request = small_request();
  request.mutable_data()->Resize(big_numbers, 0);
  const auto reply = co_await to.TestRPC(request);
  expect_numbers(reply.value(), 1);
}

coracle::task<int> big(stub to) {
  coracle::scope calls{co_await coracle::coro::this_environment()};
  for (int i = 0; i < big_messages; ++i) calls.spawn(call_big(to));
  co_await calls.join();
  co_return big_messages;
}

coracle::task<int> req(stub to) {
  const test::TestRequest request = small_request();
  auto call = to.TestClientStreamRPC();
  for (int i = 0; i < small_messages; ++i) co_await call.write(request);
  const auto reply = co_await call.finish();
  expect_numbers(reply.value(), small_messages);
  co_return small_messages;
}

coracle::task<int> resp(stub to) {
  const test::TestRequest request = small_request(small_messages);
  auto call = to.TestServerStreamRPC(request);
  test::TestResponse reply;
  int count = 0;
  while (co_await call.read(reply)) expect_numbers(reply, ++count);
  const coracle::status how = co_await call.finish();
  expect_ok(how);
  if (count != small_messages) throw std::runtime_error("replies are missing");
  co_return small_messages;
}

template <class Call>
coracle::task<> write_all(Call& call) {
  const test::TestRequest request = small_request();
  for (int i = 0; i < small_messages; ++i) co_await call.write(request);
  co_await call.writes_done();
}

coracle::task<int> bidi(stub to) {
  auto call = to.TestBidirectionalStreamRPC();
  coracle::scope writing{co_await coracle::coro::this_environment()};
  writing.spawn(write_all(call));
  test::TestResponse reply;
  int count = 0;
  for (; co_await call.read(reply); ++count) expect_numbers(reply, 1);
  co_await writing.join();
  const coracle::status how = co_await call.finish();
  expect_ok(how);
  if (count != small_messages) throw std::runtime_error("replies are missing");
  co_return small_messages;
}

using workload = coracle::task<int> (*)(stub);

const std::map<std::string, workload> workloads{
    {"smol", smol}, {"big", big}, {"req", req}, {"resp", resp}, {"bidi", bidi}};

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The first round connects and warms up, and does not count.
coracle::task<> drive(stub to, workload one, double for_seconds) {
  co_await one(to);
  const double began = now_seconds();
  const double cpu_before = cpu_seconds();
  long messages = 0;
  while (now_seconds() - began < for_seconds) messages += co_await one(to);
  std::printf("%ld %.6f %.6f\n", messages, now_seconds() - began, cpu_seconds() - cpu_before);
}

}  // namespace

int main(int argc, char** argv) {
  const auto found = argc == 4 ? workloads.find(argv[2]) : workloads.end();
  if (found == workloads.end()) {
    std::fputs("usage: bench_workload PORT smol|big|req|resp|bidi SECONDS\n", stderr);
    return 2;
  }
  try {
    coracle::runtime runtime(1);
    coracle::channel channel(runtime, std::string("127.0.0.1:") + argv[1], coracle::insecure());
    coracle::sync_wait(runtime, drive(stub(channel), found->second, std::atof(argv[3])));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_workload: %s\n", e.what());
    return 1;
  }
}
