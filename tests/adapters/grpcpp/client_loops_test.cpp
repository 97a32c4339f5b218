// The loops of a client's queues and callbacks: whose connections a call uses, and who drives them.
#include "call_kinds_fixture.hpp"
#include "queue_cases.hpp"

#include <grpcpp/alarm.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace coracle::testing_support::client_loops_test {
namespace {

using namespace std::chrono_literals;
using call_kinds::Query;
using call_kinds::Reply;
using call_kinds::tagged;
using std::chrono::system_clock;

class ClientLoops : public call_kinds_fixture<> {
 protected:
  // A call whose event the queue will have.
  struct call {
    grpc::ClientContext context;
    Reply reply;
    grpc::Status s;
    std::unique_ptr<grpc::ClientAsyncResponseReader<Reply>> reader;
  };
  std::unique_ptr<call> begin(grpc::CompletionQueue& queue, const std::string& ask) {
    auto made = std::make_unique<call>();
    made->reader = stub->AsyncUnary(&made->context, query_of(ask), &queue);
    made->reader->Finish(&made->reply, &made->s, made.get());
    return made;
  }
  static void end(grpc::CompletionQueue& queue, const call& c) {
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
    EXPECT_EQ(tag, &c);
    EXPECT_TRUE(ok);
    EXPECT_TRUE(c.s.ok()) << c.s.error_message();
  }
  // The client's address, which tells its connections apart.
  std::string address(grpc::CompletionQueue& queue) {
    const auto made = begin(queue, "address");
    end(queue, *made);
    return made->reply.name();
  }
};

TEST_F(ClientLoops, AreTakenByTheNextQueueWithTheirConnections) {
  start();
  std::set<std::string> seen;
  for (int i = 0; i < 20; ++i) {
    grpc::CompletionQueue queue;
    seen.insert(address(queue));
    queue.Shutdown();
  }
  EXPECT_EQ(seen.size(), 1u);
}

TEST_F(ClientLoops, HaveAConnectionEachToAServer) {
  start();
  grpc::CompletionQueue first;
  grpc::CompletionQueue second;
  Reply reply;
  EXPECT_TRUE(find(query_of("address"), reply).ok());
  std::set<std::string> seen = {reply.name()};
  for (int i = 0; i < 3; ++i) seen.insert({address(first), address(second)});
  EXPECT_TRUE(find(query_of("address"), reply).ok());
  seen.insert(reply.name());
  EXPECT_EQ(seen.size(), 3u);
}

TEST_F(ClientLoops, MayBeFewerThanQueues) {
  start();
  std::vector<std::unique_ptr<grpc::CompletionQueue>> queues(40);
  std::vector<std::unique_ptr<call>> calls;
  for (auto& queue : queues) {
    queue = std::make_unique<grpc::CompletionQueue>();
    calls.push_back(begin(*queue, "x"));
  }
  for (std::size_t i = queues.size(); i-- > 0;) end(*queues[i], *calls[i]);
}

TEST_F(ClientLoops, AreDrivenByAThreadThatWaitedBeforeTheFirstCall) {
  start();
  grpc::CompletionQueue queue;
  std::promise<void*> first;
  std::thread waiting([&] {
    void* tag = nullptr;
    bool ok = false;
    while (queue.Next(&tag, &ok))
      if (tag != tagged(1)) first.set_value(tag);
  });
  grpc::Alarm wakes(&queue, system_clock::now() - 1s, tagged(1));  // no loop is needed for it
  const auto made = begin(queue, "x");
  EXPECT_EQ(first.get_future().get(), made.get());
  queue.Shutdown();
  waiting.join();
  EXPECT_TRUE(made->s.ok());
}

TEST_F(ClientLoops, ServeSeveralThreadsOfAQueue) {
  start();
  grpc::CompletionQueue queue;
  constexpr int calls = 200;
  std::atomic<int> begun{4};
  std::atomic<int> ended{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      void* tag = nullptr;
      bool ok = false;
      while (queue.Next(&tag, &ok)) {
        const std::unique_ptr<call> done(static_cast<call*>(tag));
        EXPECT_TRUE(done->s.ok());
        if (begun++ < calls) static_cast<void>(begin(queue, "x").release());
        if (++ended == calls) queue.Shutdown();
      }
    });
  for (int i = 0; i < 4; ++i) static_cast<void>(begin(queue, "x").release());
  for (std::thread& t : threads) t.join();
}

TEST_F(ClientLoops, AreSwappedByThreadsWithAQueueForEachCall) {
  start();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int n = 0; n < 200; ++n) {
        grpc::CompletionQueue queue;
        static_cast<void>(address(queue));
        queue.Shutdown();
        if (n % 5 != i) continue;
        Reply reply;
        EXPECT_TRUE(find(query_of("x"), reply).ok());
      }
    });
  for (std::thread& t : threads) t.join();
}

// A call that was begun, and whose queue the thread leaves for something else, goes out all the same.
TEST_F(ClientLoops, GoOnWhileTheirThreadWaitsForAnotherCall) {
  start();
  grpc::CompletionQueue queue;
  grpc::CompletionQueue other;
  static_cast<void>(address(queue));  // the thread drives the loop from now on
  const auto made = begin(queue, "meet");
  Reply reply;
  EXPECT_TRUE(find(query_of("meet"), reply).ok());
  const auto again = begin(queue, "meet");
  end(other, *begin(other, "meet"));
  end(queue, *made);
  end(queue, *again);
}

#if defined(__has_feature)
constexpr bool under_tsan = __has_feature(thread_sanitizer);
#else
constexpr bool under_tsan = false;
#endif

TEST_F(ClientLoops, BelongToTheProcessThatMadeThem) {
  if (under_tsan) GTEST_SKIP() << "ThreadSanitizer supports no threads in the child of a fork()";
  start();
  grpc::CompletionQueue queue;
  static_cast<void>(address(queue));
  const pid_t child = ::fork();
  if (child == 0) {
    // The parent's channel fails, and a new one works, with the same queue.
    const auto failed = begin(queue, "x");
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    const bool refused = failed->s.error_code() == grpc::StatusCode::UNAVAILABLE;
    connect(grpc::InsecureChannelCredentials());
    const auto made = begin(queue, "x");
    queue.Next(&tag, &ok);
    ::_exit(refused && tag == made.get() && made->s.ok() ? 0 : 1);
  }
  int ended = -1;
  ASSERT_EQ(::waitpid(child, &ended, 0), child);
  EXPECT_EQ(ended, 0);
  static_cast<void>(address(queue));
}

// --- callbacks

TEST_F(ClientLoops, OfCallbacksGoOnWhileACallbackWaits) {
  start();
  std::promise<void> second;
  std::promise<void> first;
  const Query query = query_of("x");
  grpc::ClientContext contexts[2];
  Reply replies[2];
  stub->async()->Unary(&contexts[0], &query, &replies[0], [&](const grpc::Status& s) {
    EXPECT_TRUE(s.ok());
    // Begun on the thread that drives the loop, which then waits for it.
    stub->async()->Unary(&contexts[1], &query, &replies[1], [&](const grpc::Status&) { second.set_value(); });
    second.get_future().wait();
    Reply reply;
    EXPECT_TRUE(find(query, reply).ok());
    first.set_value();
  });
  first.get_future().wait();
}

TEST_F(ClientLoops, OfCallbacksAreLeftToThreadsIfCallbacksAreLong) {
  start();
  const Query query = query_of("x");
  std::mutex changing;
  std::condition_variable changed;
  int ended = 0;
  std::set<std::thread::id> threads;
  struct calling {
    grpc::ClientContext context;
    Reply reply;
  };
  std::vector<std::unique_ptr<calling>> calls;
  const auto ask = [&](std::size_t wanted) {
    const std::size_t before = calls.size();
    while (calls.size() < before + wanted) {
      calling& one = *calls.emplace_back(std::make_unique<calling>());
      stub->async()->Unary(&one.context, &query, &one.reply, [&](const grpc::Status& s) {
        EXPECT_TRUE(s.ok());
        Reply reply;
        EXPECT_TRUE(find(query_of("meet"), reply).ok());
        const std::lock_guard lock(changing);
        threads.insert(std::this_thread::get_id());
        ++ended;
        changed.notify_all();
      });
    }
    std::unique_lock lock(changing);
    changed.wait(lock, [&] { return ended == static_cast<int>(calls.size()); });
  };
  for (int i = 0; i < 40; ++i) ask(2);
  EXPECT_GE(threads.size(), 2u);
}

}  // namespace
}  // namespace coracle::testing_support::client_loops_test
