// The workloads by a completion queue, which one thread takes from.
#include "peers/grpcpp_workload.hpp"

#include <deque>
#include <memory>

namespace bench {
namespace {

enum tag : std::intptr_t { started = 1, read, written, half_closed, finished };
void* tagged(tag t) { return reinterpret_cast<void*>(t); }

// The next event; `ok` is what it says.
tag taken(grpc::CompletionQueue& queue, bool& ok) {
  void* found = nullptr;
  if (!queue.Next(&found, &ok)) fail("the queue has ended");
  return static_cast<tag>(reinterpret_cast<std::intptr_t>(found));
}

void expect_event(grpc::CompletionQueue& queue, tag due) {
  bool ok = false;
  if (taken(queue, ok) != due || !ok) fail("an operation of a stream failed");
}

struct unary_call {
  grpc::ClientContext context;
  test::TestResponse reply;
  grpc::Status status;
  std::unique_ptr<grpc::ClientAsyncResponseReader<test::TestResponse>> reader;
};

// As many calls at once; a request is serialized when its call begins.
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
    void* found = nullptr;
    bool ok = false;
    if (!queue.Next(&found, &ok)) fail("the queue has ended");
    const auto& done = *static_cast<unary_call*>(found);
    expect_ok(done.status);
    expect_numbers(done.reply, 1);
  }
  return count;
}

int smol(stub& to) {
  const test::TestRequest request = small_request();
  return together(to, small_messages, [&]() -> const test::TestRequest& { return request; });
}

int big(stub& to) { return together(to, big_messages, big_request); }

int req(stub& to) {
  const test::TestRequest request = small_request();
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  test::TestResponse reply;
  const auto call = to.AsyncTestClientStreamRPC(&context, &reply, &queue, tagged(started));
  expect_event(queue, started);
  for (int i = 0; i < small_messages; ++i) {
    call->Write(request, tagged(written));
    expect_event(queue, written);
  }
  call->WritesDone(tagged(half_closed));
  expect_event(queue, half_closed);
  grpc::Status outcome;
  call->Finish(&outcome, tagged(finished));
  expect_event(queue, finished);
  expect_ok(outcome);
  expect_numbers(reply, small_messages);
  return small_messages;
}

int resp(stub& to) {
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  const auto call =
      to.AsyncTestServerStreamRPC(&context, small_request(small_messages), &queue, tagged(started));
  expect_event(queue, started);
  test::TestResponse reply;
  int count = 0;
  for (bool ok = false;;) {
    call->Read(&reply, tagged(read));
    if (taken(queue, ok) != read) fail("an event is of another operation");
    if (!ok) break;
    expect_numbers(reply, ++count);
  }
  grpc::Status outcome;
  call->Finish(&outcome, tagged(finished));
  expect_event(queue, finished);
  expect_ok(outcome);
  if (count != small_messages) fail("replies are missing");
  return small_messages;
}

int bidi(stub& to) {
  const test::TestRequest request = small_request();
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  const auto call = to.AsyncTestBidirectionalStreamRPC(&context, &queue, tagged(started));
  expect_event(queue, started);
  test::TestResponse reply;
  int sent = 0;
  int count = 0;
  call->Write(request, tagged(written));
  call->Read(&reply, tagged(read));
  for (bool reading = true, writing = true; reading || writing;) {
    bool ok = false;
    switch (taken(queue, ok)) {
      case written:
        if (!ok) fail("a stream has broken");
        if (++sent < small_messages) call->Write(request, tagged(written));
        else call->WritesDone(tagged(half_closed));
        break;
      case half_closed: writing = false; break;
      case read:
        if (ok) {
          expect_numbers(reply, 1);
          ++count;
          call->Read(&reply, tagged(read));
        } else {
          reading = false;
        }
        break;
      default: fail("an event is of another operation");
    }
  }
  grpc::Status outcome;
  call->Finish(&outcome, tagged(finished));
  expect_event(queue, finished);
  expect_ok(outcome);
  if (count != small_messages) fail("replies are missing");
  return small_messages;
}

}  // namespace

const workloads queue_workloads{{"smol", smol}, {"big", big}, {"req", req}, {"resp", resp}, {"bidi", bidi}};

}  // namespace bench
