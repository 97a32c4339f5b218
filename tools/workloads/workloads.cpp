#include "tools/workloads/workloads.hpp"

#include <coracle/client.hpp>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace coracle::workloads {

namespace {

using stub = test::rpc::TestService::stub;

constexpr int small_messages = 1000;  // a round of all workloads but `big`
constexpr int big_messages = 100;
constexpr int big_numbers = 32 * 224 * 224 / 8;

// A benchmark with wrong replies is meaningless.
void expect_numbers(const test::TestResponse& reply, int count) {
  if (reply.data_size() != count || (count > 0 && reply.data(count - 1) != static_cast<std::uint64_t>(count)))
    throw std::runtime_error("a reply has " + std::to_string(reply.data_size()) +
                             " numbers, or other ones than the " + std::to_string(count) +
                             " that were requested");
}

void expect_ok(const status& outcome) {
  if (!outcome.ok()) throw status_error(outcome);
}

test::TestRequest small_request(int wanted = 1) {
  test::TestRequest request;
  request.set_test_response_sz(static_cast<std::uint64_t>(wanted));
  request.add_data(0);
  return request;
}

task<> call_small(stub to, const test::TestRequest& request) {
  const auto reply = co_await to.TestRPC(request);
  expect_numbers(reply.value(), 1);
}

task<int> smol(stub to) {
  const test::TestRequest request = small_request();
  scope calls{co_await coro::this_environment()};
  for (int i = 0; i < small_messages; ++i) calls.spawn(call_small(to, request));
  co_await calls.join();
  co_return small_messages;
}

task<> call_big(stub to) {
  test::TestRequest request = small_request();
  request.mutable_data()->Resize(big_numbers, 0);
  const auto reply = co_await to.TestRPC(std::move(request));
  expect_numbers(reply.value(), 1);
}

task<int> big(stub to) {
  scope calls{co_await coro::this_environment()};
  for (int i = 0; i < big_messages; ++i) calls.spawn(call_big(to));
  co_await calls.join();
  co_return big_messages;
}

task<int> req(stub to) {
  const test::TestRequest request = small_request();
  auto call = to.TestClientStreamRPC();
  for (int i = 0; i < small_messages; ++i) (co_await call.write(request)).throw_if_error();
  const auto reply = co_await call.finish();
  expect_numbers(reply.value(), small_messages);
  co_return small_messages;
}

task<int> resp(stub to) {
  const test::TestRequest request = small_request(small_messages);
  auto call = to.TestServerStreamRPC(request);
  test::TestResponse reply;
  int count = 0;
  while ((co_await call.read(reply)).value()) expect_numbers(reply, ++count);
  const status outcome = co_await call.finish();
  expect_ok(outcome);
  if (count != small_messages) throw std::runtime_error("replies are missing");
  co_return small_messages;
}

template <class Call>
task<> write_all(Call& call) {
  const test::TestRequest request = small_request();
  for (int i = 0; i < small_messages; ++i) {
    const status sent = co_await call.write(request);
    sent.throw_if_error();
  }
  co_await call.writes_done();
}

task<int> bidi(stub to) {
  auto call = to.TestBidirectionalStreamRPC();
  scope writing{co_await coro::this_environment()};
  writing.spawn(write_all(call));
  test::TestResponse reply;
  int count = 0;
  for (; (co_await call.read(reply)).value(); ++count) expect_numbers(reply, 1);
  co_await writing.join();
  const status outcome = co_await call.finish();
  expect_ok(outcome);
  if (count != small_messages) throw std::runtime_error("replies are missing");
  co_return small_messages;
}

constexpr std::array<workload, 5> table{{
    {"smol", smol, "1,000 unary calls in flight"},
    {"big", big, "100 unary calls in flight, 200,704 numbers in each request"},
    {"req", req, "1,000 messages to the server in a call"},
    {"resp", resp, "1,000 messages from the server in a call"},
    {"bidi", bidi, "1,000 messages both ways in a call"},
}};

}  // namespace

std::span<const workload> all() noexcept { return table; }

const workload* find(std::string_view name) noexcept {
  for (const workload& one : table)
    if (one.name == name) return &one;
  return nullptr;
}

}  // namespace coracle::workloads
