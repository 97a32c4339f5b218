// bench_grpcpp_workload PORT smol|big|req|resp|bidi SECONDS: the same as bench_workload, on grpc++: unary
// calls through one completion queue, streams by the blocking API.
#include "e2e/clocks.hpp"
#include "testsvc.grpc.pb.h"

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>

namespace {

using stub = test::TestService::Stub;

constexpr int small_messages = 1000;  // a round of all workloads but `big`
constexpr int big_messages = 100;
constexpr int big_numbers = 32 * 224 * 224 / 8;

[[noreturn]] void fail(const std::string& reason) {
  std::fprintf(stderr, "bench_grpcpp_workload: %s\n", reason.c_str());
  std::exit(1);
}

void expect_numbers(const test::TestResponse& reply, int count) {
  if (reply.data_size() != count || (count > 0 && reply.data(count - 1) != static_cast<std::uint64_t>(count)))
    fail("a reply has other numbers than are due");
}

void expect_ok(const grpc::Status& outcome) {
  if (!outcome.ok()) fail(outcome.error_message());
}

test::TestRequest small_request(int wanted = 1) {
  test::TestRequest request;
  request.set_test_response_sz(static_cast<std::uint64_t>(wanted));
  request.add_data(0);
  return request;
}

struct unary_call {
  grpc::ClientContext context;
  test::TestResponse reply;
  grpc::Status status;
  std::unique_ptr<grpc::ClientAsyncResponseReader<test::TestResponse>> reader;
};

// As many calls at once; grpc++ serializes a request when its call begins.
template <class MakeRequest>
int together(stub& to, int count, MakeRequest make) {
  grpc::CompletionQueue queue;
  std::deque<unary_call> calls;
  for (int i = 0; i < count; ++i) {
    unary_call& one = calls.emplace_back();
    one.reader = to.AsyncTestRPC(&one.context, make(), &queue);
    one.reader->Finish(&one.reply, &one.status, &one);
  }
  for (int i = 0; i < count; ++i) {
    void* tag = nullptr;
    bool ok = false;
    if (!queue.Next(&tag, &ok)) fail("the queue has ended");
    const auto& done = *static_cast<unary_call*>(tag);
    expect_ok(done.status);
    expect_numbers(done.reply, 1);
  }
  return count;
}

int smol(stub& to) {
  const test::TestRequest request = small_request();
  return together(to, small_messages, [&]() -> const test::TestRequest& { return request; });
}

int big(stub& to) {
  return together(to, big_messages, [] {
    test::TestRequest request = small_request();
    request.mutable_data()->Resize(big_numbers, 0);
    return request;
  });
}

int req(stub& to) {
  const test::TestRequest request = small_request();
  grpc::ClientContext context;
  test::TestResponse reply;
  const auto call = to.TestClientStreamRPC(&context, &reply);
  for (int i = 0; i < small_messages; ++i)
    if (!call->Write(request)) fail("a stream has broken");
  call->WritesDone();
  expect_ok(call->Finish());
  expect_numbers(reply, small_messages);
  return small_messages;
}

int resp(stub& to) {
  grpc::ClientContext context;
  const auto call = to.TestServerStreamRPC(&context, small_request(small_messages));
  test::TestResponse reply;
  int count = 0;
  while (call->Read(&reply)) expect_numbers(reply, ++count);
  expect_ok(call->Finish());
  if (count != small_messages) fail("replies are missing");
  return small_messages;
}

int bidi(stub& to) {
  grpc::ClientContext context;
  const auto call = to.TestBidirectionalStreamRPC(&context);
  std::thread writing([&] {
    const test::TestRequest request = small_request();
    for (int i = 0; i < small_messages; ++i)
      if (!call->Write(request)) fail("a stream has broken");
    call->WritesDone();
  });
  test::TestResponse reply;
  int count = 0;
  for (; call->Read(&reply); ++count) expect_numbers(reply, 1);
  writing.join();
  expect_ok(call->Finish());
  if (count != small_messages) fail("replies are missing");
  return small_messages;
}

const std::map<std::string, int (*)(stub&)> workloads{
    {"smol", smol}, {"big", big}, {"req", req}, {"resp", resp}, {"bidi", bidi}};

}  // namespace

int main(int argc, char** argv) {
  const auto found = argc == 4 ? workloads.find(argv[2]) : workloads.end();
  if (found == workloads.end()) {
    std::fputs("usage: bench_grpcpp_workload PORT smol|big|req|resp|bidi SECONDS\n", stderr);
    return 2;
  }
  const auto to = test::TestService::NewStub(
      grpc::CreateChannel(std::string("127.0.0.1:") + argv[1], grpc::InsecureChannelCredentials()));
  const double for_seconds = std::atof(argv[3]);
  // The first round connects and warms up, and does not count.
  found->second(*to);
  const double began = now_seconds();
  const double cpu_before = cpu_seconds();
  long messages = 0;
  while (now_seconds() - began < for_seconds) messages += found->second(*to);
  std::printf("%ld %.6f %.6f\n", messages, now_seconds() - began, cpu_seconds() - cpu_before);
}
