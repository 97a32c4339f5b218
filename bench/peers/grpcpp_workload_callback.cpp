// The workloads by callbacks and reactors.
#include "peers/grpcpp_workload.hpp"

#include <deque>
#include <future>

namespace bench {
namespace {

struct unary_call {
  grpc::ClientContext context;
  test::TestRequest request;
  test::TestResponse reply;
  std::promise<grpc::Status> done;
};

template <class MakeRequest>
int together(stub& to, int count, MakeRequest make) {
  std::deque<unary_call> calls;
  for (int i = 0; i < count; ++i) {
    unary_call& one = calls.emplace_back();
    one.request = make();
    to.async()->TestRPC(&one.context, &one.request, &one.reply,
                        [&one](const grpc::Status& outcome) { one.done.set_value(outcome); });
  }
  for (unary_call& one : calls) {
    expect_ok(one.done.get_future().get());
    expect_numbers(one.reply, 1);
  }
  return count;
}

int smol(stub& to) {
  return together(to, small_messages, [] { return small_request(); });
}

int big(stub& to) { return together(to, big_messages, big_request); }

// Writes all requests, one after another.
class sender final : public grpc::ClientWriteReactor<test::TestRequest> {
 public:
  explicit sender(stub& to) {
    to.async()->TestClientStreamRPC(&context_, &reply_, this);
    StartWrite(&request_);
    StartCall();
  }
  void wait() {
    expect_ok(done_.get_future().get());
    expect_numbers(reply_, small_messages);
  }

 private:
  void OnWriteDone(bool ok) override {
    if (!ok) fail("a stream has broken");
    if (++sent_ < small_messages) StartWrite(&request_);
    else StartWritesDone();
  }
  void OnDone(const grpc::Status& outcome) override { done_.set_value(outcome); }

  grpc::ClientContext context_;
  const test::TestRequest request_ = small_request();
  test::TestResponse reply_;
  int sent_ = 0;
  std::promise<grpc::Status> done_;
};

int req(stub& to) {
  sender(to).wait();
  return small_messages;
}

class receiver final : public grpc::ClientReadReactor<test::TestResponse> {
 public:
  explicit receiver(stub& to) {
    to.async()->TestServerStreamRPC(&context_, &request_, this);
    StartRead(&reply_);
    StartCall();
  }
  void wait() {
    expect_ok(done_.get_future().get());
    if (count_ != small_messages) fail("replies are missing");
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return;
    expect_numbers(reply_, ++count_);
    StartRead(&reply_);
  }
  void OnDone(const grpc::Status& outcome) override { done_.set_value(outcome); }

  grpc::ClientContext context_;
  const test::TestRequest request_ = small_request(small_messages);
  test::TestResponse reply_;
  int count_ = 0;
  std::promise<grpc::Status> done_;
};

int resp(stub& to) {
  receiver(to).wait();
  return small_messages;
}

class talker final : public grpc::ClientBidiReactor<test::TestRequest, test::TestResponse> {
 public:
  explicit talker(stub& to) {
    to.async()->TestBidirectionalStreamRPC(&context_, this);
    StartWrite(&request_);
    StartRead(&reply_);
    StartCall();
  }
  void wait() {
    expect_ok(done_.get_future().get());
    if (count_ != small_messages) fail("replies are missing");
  }

 private:
  void OnWriteDone(bool ok) override {
    if (!ok) fail("a stream has broken");
    if (++sent_ < small_messages) StartWrite(&request_);
    else StartWritesDone();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    expect_numbers(reply_, 1);
    ++count_;
    StartRead(&reply_);
  }
  void OnDone(const grpc::Status& outcome) override { done_.set_value(outcome); }

  grpc::ClientContext context_;
  const test::TestRequest request_ = small_request();
  test::TestResponse reply_;
  int sent_ = 0;
  int count_ = 0;
  std::promise<grpc::Status> done_;
};

int bidi(stub& to) {
  talker(to).wait();
  return small_messages;
}

}  // namespace

const workloads callback_workloads{
    {"smol", smol}, {"big", big}, {"req", req}, {"resp", resp}, {"bidi", bidi}};

}  // namespace bench
