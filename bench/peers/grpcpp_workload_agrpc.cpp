// The workloads by coroutines on asio-grpc's API, in a context that one thread runs.
#include "peers/grpcpp_workload.hpp"

#include <agrpc/asio_grpc.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include <exception>
#include <utility>

namespace bench {
namespace {

namespace asio = boost::asio;
using unary_rpc = agrpc::ClientRPC<&stub::PrepareAsyncTestRPC>;
using writing_rpc = agrpc::ClientRPC<&stub::PrepareAsyncTestClientStreamRPC>;
using reading_rpc = agrpc::ClientRPC<&stub::PrepareAsyncTestServerStreamRPC>;
using talking_rpc = agrpc::ClientRPC<&stub::PrepareAsyncTestBidirectionalStreamRPC>;

void spawn(agrpc::GrpcContext& context, asio::awaitable<void> work) {
  asio::co_spawn(context, std::move(work), [](const std::exception_ptr& error) {
    if (error) std::rethrow_exception(error);
  });
}

asio::awaitable<void> call(agrpc::GrpcContext& context, stub& to, test::TestRequest request, int& done) {
  grpc::ClientContext client_context;
  test::TestResponse reply;
  const grpc::Status outcome = co_await unary_rpc::request(context, to, client_context, request, reply);
  expect_ok(outcome);
  expect_numbers(reply, 1);
  ++done;
}

int together(stub& to, int count, test::TestRequest (*make)()) {
  agrpc::GrpcContext context;
  int done = 0;
  for (int i = 0; i < count; ++i) spawn(context, call(context, to, make(), done));
  context.run();
  if (done != count) fail("replies are missing");
  return count;
}

int smol(stub& to) {
  return together(to, small_messages, [] { return small_request(); });
}

int big(stub& to) { return together(to, big_messages, &big_request); }

template <class Rpc>
asio::awaitable<void> write_all(Rpc& rpc) {
  const test::TestRequest request = small_request();
  for (int i = 0; i < small_messages; ++i)
    if (!co_await rpc.write(request)) fail("a stream has broken");
  if (!co_await rpc.writes_done()) fail("a stream has broken");
}

template <class Work>
int stream(stub& to, Work work) {
  agrpc::GrpcContext context;
  bool done = false;
  spawn(context, work(context, to, done));
  context.run();
  if (!done) fail("a stream does not end");
  return small_messages;
}

asio::awaitable<void> write_stream(agrpc::GrpcContext& context, stub& to, bool& done) {
  writing_rpc rpc(context);
  test::TestResponse reply;
  if (!co_await rpc.start(to, reply)) fail("a stream does not begin");
  co_await write_all(rpc);
  const grpc::Status outcome = co_await rpc.finish();
  expect_ok(outcome);
  expect_numbers(reply, small_messages);
  done = true;
}

asio::awaitable<void> read_stream(agrpc::GrpcContext& context, stub& to, bool& done) {
  reading_rpc rpc(context);
  const test::TestRequest request = small_request(small_messages);
  if (!co_await rpc.start(to, request)) fail("a stream does not begin");
  test::TestResponse reply;
  int count = 0;
  while (co_await rpc.read(reply)) expect_numbers(reply, ++count);
  const grpc::Status outcome = co_await rpc.finish();
  expect_ok(outcome);
  done = count == small_messages;
}

asio::awaitable<int> read_all(talking_rpc& rpc) {
  test::TestResponse reply;
  int count = 0;
  for (; co_await rpc.read(reply); ++count) expect_numbers(reply, 1);
  co_return count;
}

asio::awaitable<void> talk(agrpc::GrpcContext& context, stub& to, bool& done) {
  talking_rpc rpc(context);
  if (!co_await rpc.start(to)) fail("a stream does not begin");
  using namespace asio::experimental::awaitable_operators;
  auto both = write_all(rpc) && read_all(rpc);
  const int count = co_await std::move(both);
  const grpc::Status outcome = co_await rpc.finish();
  expect_ok(outcome);
  done = count == small_messages;
}

}  // namespace

const workloads agrpc_workloads{{"smol", smol},
                                {"big", big},
                                {"req", [](stub& to) { return stream(to, &write_stream); }},
                                {"resp", [](stub& to) { return stream(to, &read_stream); }},
                                {"bidi", [](stub& to) { return stream(to, &talk); }}};

}  // namespace bench
