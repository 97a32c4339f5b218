// grpcpp_queue_wait: a thread that waits for a completion queue beside other things.
#include "queue_fixture.hpp"

#include "coracle/grpcpp_queue_wait.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace coracle::testing_support::queue_wait_test {
namespace {

using call_kinds::CallKinds;
using call_kinds::Reply;
using call_kinds::tagged;
using call_kinds::taken;
using grpc::CompletionQueue;

// As Next(), but the thread waits by poll(2), for another descriptor as well: "other" if that is readable.
std::string taken_by_poll(CompletionQueue& queue, int other = -1) {
  for (;;) {
    void* tag = nullptr;
    bool ok = false;
    switch (queue.AsyncNext(&tag, &ok, gpr_inf_past(GPR_CLOCK_REALTIME))) {
      case CompletionQueue::SHUTDOWN: return "drained";
      case CompletionQueue::GOT_EVENT:
        return std::to_string(reinterpret_cast<std::intptr_t>(tag)) + (ok ? "+" : "-");
      case CompletionQueue::TIMEOUT: break;
    }
    const grpcpp_queue_wait waiting(queue);
    pollfd both[] = {{waiting.descriptor(), POLLIN, 0}, {other, POLLIN, 0}};
    EXPECT_GT(::poll(both, 2, -1), 0);
    if (both[1].revents != 0) return "other";
  }
}

class ClientsThatWaitElsewhere : public call_kinds_fixture<> {
 protected:
  // Begins a call whose event is taken by take().
  template <class Take>
  void call(CompletionQueue& queue, Take take) {
    grpc::ClientContext context;
    Reply reply;
    grpc::Status s;
    stub->AsyncUnary(&context, query_of("Anna"), &queue)->Finish(&reply, &s, tagged(1));
    EXPECT_EQ(take(queue), "1+");
    EXPECT_TRUE(s.ok()) << s.error_message();
  }
};

TEST_F(ClientsThatWaitElsewhere, HaveTheEventsOfTheirCalls) {
  start();
  CompletionQueue queue;
  for (int i = 0; i < 20; ++i) call(queue, [](CompletionQueue& q) { return taken_by_poll(q); });
  call(queue, [](CompletionQueue& q) { return taken(q); });
  call(queue, [](CompletionQueue& q) { return taken_by_poll(q); });
  queue.Shutdown();
  EXPECT_EQ(taken_by_poll(queue), "drained");
}

TEST_F(ClientsThatWaitElsewhere, FindWhatElseTheyWaitFor) {
  start();
  CompletionQueue queue;
  call(queue, [](CompletionQueue& q) { return taken_by_poll(q); });
  const int other = ::eventfd(0, 0);
  std::thread writes([&] { EXPECT_EQ(::eventfd_write(other, 1), 0); });
  EXPECT_EQ(taken_by_poll(queue, other), "other");
  writes.join();
  ::close(other);
  call(queue, [](CompletionQueue& q) { return taken_by_poll(q); });
}

// Another thread in Next() has the loop left to one of the library.
TEST_F(ClientsThatWaitElsewhere, MayBeSeveral) {
  start();
  constexpr int calls = 100;
  CompletionQueue queue;
  struct called {
    grpc::ClientContext context;
    Reply reply;
    grpc::Status status;
  };
  std::vector<called> all(calls);
  for (called& one : all)
    stub->AsyncUnary(&one.context, query_of("Anna"), &queue)->Finish(&one.reply, &one.status, tagged(1));
  std::atomic<int> ended{0};
  const auto take_all = [&](auto take) {
    while (take(queue) != "drained")
      if (++ended == calls) queue.Shutdown();
  };
  std::thread next([&] { take_all([](CompletionQueue& q) { return taken(q); }); });
  std::thread second([&] { take_all([](CompletionQueue& q) { return taken_by_poll(q); }); });
  take_all([](CompletionQueue& q) { return taken_by_poll(q); });
  next.join();
  second.join();
  EXPECT_EQ(ended, calls);
  for (const called& one : all) EXPECT_TRUE(one.status.ok()) << one.status.error_message();
}

class ServersThatWaitElsewhere : public queue_fixture<CallKinds::AsyncService> {};

TEST_F(ServersThatWaitElsewhere, AnswerAndAreShutDown) {
  start();
  constexpr int calls = 20;
  std::thread clients([&] {
    for (int i = 0; i < calls; ++i) {
      Reply reply;
      const grpc::Status s = find(query_of("Anna"), reply);
      EXPECT_TRUE(s.ok()) << s.error_message();
    }
    server->Shutdown();
    queue().Shutdown();
  });
  int answered = 0;
  for (;;) {
    grpc::ServerContext context;
    call_kinds::Query query;
    grpc::ServerAsyncResponseWriter<Reply> writer(&context);
    service.RequestUnary(&context, &query, &writer, &queue(), &queue(), tagged(1));
    if (taken_by_poll(queue()) != "1+") break;
    writer.Finish(Reply(), grpc::Status::OK, tagged(2));
    EXPECT_EQ(taken_by_poll(queue()), "2+");
    ++answered;
  }
  clients.join();
  while (taken_by_poll(queue()) != "drained") continue;
  EXPECT_EQ(answered, calls);
}

}  // namespace
}  // namespace coracle::testing_support::queue_wait_test
