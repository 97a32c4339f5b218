// Completion queues of grpc++'s API, where tests/interop/grpcpp_relinked_test.py does not look.
#include "call_kinds_fixture.hpp"
#include "queue_cases.hpp"

#include <grpcpp/alarm.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace coracle::testing_support::queues_test {
namespace {

using namespace std::chrono_literals;
using call_kinds::CallKinds;
using call_kinds::Note;
using call_kinds::Position;
using call_kinds::Reply;
using call_kinds::Summary;
using call_kinds::tagged;
using call_kinds::taken;
using grpc::StatusCode;
using std::chrono::system_clock;

// --- calls that fail

struct failure_case {
  const char* name;
  std::function<void(grpc::ClientContext&)> prepare;
  StatusCode code;
};
void PrintTo(const failure_case& c, std::ostream* to) { *to << c.name; }

class QueuedFailures : public call_kinds_fixture<>, public ::testing::WithParamInterface<failure_case> {};

TEST_P(QueuedFailures, EndEveryKindOfCallWithTheirStatus) {
  start();
  grpc::CompletionQueue queue;
  Reply reply;
  {
    grpc::ClientContext context;
    GetParam().prepare(context);
    grpc::Status s;
    stub->AsyncUnary(&context, query_of("wait for cancel"), &queue)->Finish(&reply, &s, tagged(1));
    EXPECT_EQ(taken(queue), "1+");
    EXPECT_EQ(s.error_code(), GetParam().code);
    EXPECT_NE(context.debug_error_string().find(s.error_message()), std::string::npos);
  }
  {
    grpc::ClientContext context;
    GetParam().prepare(context);
    grpc::Status s;
    const auto reader = stub->AsyncUnary(&context, query_of("wait for cancel"), &queue);
    reader->ReadInitialMetadata(tagged(1));
    EXPECT_EQ(taken(queue), "1-");
    reader->Finish(&reply, &s, tagged(2));
    EXPECT_EQ(taken(queue), "2+");
    EXPECT_EQ(s.error_code(), GetParam().code);
  }
  {
    grpc::ClientContext context;
    GetParam().prepare(context);
    grpc::Status s;
    const auto reader = stub->AsyncServerStream(&context, query_of("headers first"), &queue, tagged(1));
    EXPECT_EQ(taken(queue), "1-");
    reader->Read(&reply, tagged(2));
    EXPECT_EQ(taken(queue), "2-");
    reader->Finish(&s, tagged(3));
    EXPECT_EQ(taken(queue), "3+");
    EXPECT_EQ(s.error_code(), GetParam().code);
  }
  {
    grpc::ClientContext context;
    GetParam().prepare(context);
    grpc::Status s;
    Summary summary;
    const auto writer = stub->AsyncClientStream(&context, &summary, &queue, tagged(1));
    taken(queue);
    writer->Finish(&s, tagged(3));
    EXPECT_EQ(taken(queue), "3+");
    EXPECT_EQ(s.error_code(), GetParam().code);
    writer->Write(Position(), tagged(2));
    EXPECT_EQ(taken(queue), "2-");
  }
  {
    grpc::ClientContext context;
    GetParam().prepare(context);
    grpc::Status s;
    const auto stream = stub->AsyncBidiStream(&context, &queue, tagged(1));
    taken(queue);
    Note note;
    stream->Read(&note, tagged(2));
    EXPECT_EQ(taken(queue), "2-");
    stream->Write(note, tagged(3));
    EXPECT_EQ(taken(queue), "3-");
    stream->Finish(&s, tagged(4));
    EXPECT_EQ(taken(queue), "4+");
    EXPECT_EQ(s.error_code(), GetParam().code);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, QueuedFailures,
    ::testing::Values(failure_case{"CancelBeforeTheStart", [](grpc::ClientContext& c) { c.TryCancel(); },
                                   StatusCode::CANCELLED},
                      failure_case{"DeadlineInThePast",
                                   [](grpc::ClientContext& c) { c.set_deadline(system_clock::now() - 1s); },
                                   StatusCode::DEADLINE_EXCEEDED},
                      failure_case{"InvalidMetadata",
                                   [](grpc::ClientContext& c) { c.AddMetadata("Upper", "1"); },
                                   StatusCode::INTERNAL}),
    [](const auto& of) { return std::string(of.param.name); });

// --- the life of calls and queues

class QueuedCalls : public call_kinds_fixture<> {};

TEST_F(QueuedCalls, APreparedCallOutlivesItsStubAndItsChannel) {
  start();
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  const auto reader = stub->PrepareAsyncServerStream(&context, query_of("", 1), &queue);
  stub.reset();
  channel.reset();
  reader->StartCall(tagged(1));
  EXPECT_EQ(taken(queue), "1+");
  Reply reply;
  reader->Read(&reply, tagged(2));
  EXPECT_EQ(taken(queue), "2+");
  grpc::Status s;
  reader->Finish(&s, tagged(3));
  EXPECT_EQ(taken(queue), "3+");
  EXPECT_TRUE(s.ok());
}

TEST_F(QueuedCalls, AUnaryCallOutlivesItsReaderItsStubAndItsChannel) {
  start();
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  Reply reply;
  grpc::Status s;
  stub->AsyncUnary(&context, query_of("Anna"), &queue)->Finish(&reply, &s, tagged(1));
  stub.reset();
  channel.reset();
  EXPECT_EQ(taken(queue), "1+");
  EXPECT_TRUE(s.ok()) << s.error_message();
}

TEST_F(QueuedCalls, ASecondFinishOfAUnaryCallFails) {
  start();
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  Reply reply;
  grpc::Status first;
  grpc::Status second;
  const auto reader = stub->AsyncUnary(&context, query_of("Anna"), &queue);
  reader->Finish(&reply, &first, tagged(1));
  EXPECT_EQ(taken(queue), "1+");
  reader->Finish(&reply, &second, tagged(2));
  EXPECT_EQ(taken(queue), "2+");
  EXPECT_TRUE(first.ok()) << first.error_message();
  EXPECT_EQ(second.error_code(), StatusCode::INTERNAL);
}

TEST_F(QueuedCalls, OperationsBeforeTheStartFail) {
  start();
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  const auto stream = stub->PrepareAsyncBidiStream(&context, &queue);
  Note note;
  stream->Read(&note, tagged(1));
  EXPECT_EQ(taken(queue), "1-");
  grpc::Status s;
  stream->Finish(&s, tagged(2));
  EXPECT_EQ(taken(queue), "2+");
  EXPECT_EQ(s.error_code(), StatusCode::INTERNAL);
}

TEST_F(QueuedCalls, ShutdownWaitsForTheCallsThatArePending) {
  start();
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  Reply reply;
  grpc::Status s;
  stub->AsyncUnary(&context, query_of("wait for cancel"), &queue)->Finish(&reply, &s, tagged(1));
  queue.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  EXPECT_EQ(queue.AsyncNext(&tag, &ok, system_clock::now()), grpc::CompletionQueue::TIMEOUT);
  context.TryCancel();
  EXPECT_EQ(taken(queue), "1+");
  EXPECT_EQ(s.error_code(), StatusCode::CANCELLED);
  EXPECT_EQ(s.error_message(), "CANCELLED");
  EXPECT_EQ(taken(queue), "drained");
  EXPECT_EQ(queue.AsyncNext(&tag, &ok, system_clock::now()), grpc::CompletionQueue::SHUTDOWN);
}

TEST_F(QueuedCalls, AContextThatIsDestroyedWithAnUnreadMessageEndsItsCall) {
  start();
  grpc::CompletionQueue queue;
  {
    grpc::ClientContext context;
    const auto reader = stub->AsyncServerStream(&context, query_of("until cancelled", 1), &queue, tagged(1));
    EXPECT_EQ(taken(queue), "1+");
    Reply reply;
    reader->Read(&reply, tagged(2));
    EXPECT_EQ(taken(queue), "2+");
  }
  server->Shutdown();  // waits for the handler
  EXPECT_TRUE(service.cancelled_writes_ended);
}

// As with grpc++, whose client reads what the server sends only while a thread takes events.
TEST_F(QueuedCalls, ThatAreCancelledAfterTheirServerHasEndedThemAreCancelled) {
  start();
  grpc::CompletionQueue queue;
  for (const char* ask : {"error", ""}) {
    grpc::ClientContext context;
    const auto reader = stub->AsyncServerStream(&context, query_of(ask), &queue, tagged(1));
    EXPECT_EQ(taken(queue), "1+");
    // sleeps on purpose: no event of a queue tells that what the server sends is there
    std::this_thread::sleep_for(50ms);
    context.TryCancel();
    reader->ReadInitialMetadata(tagged(2));
    EXPECT_EQ(taken(queue), "2-");
    grpc::Status s;
    reader->Finish(&s, tagged(3));
    EXPECT_EQ(taken(queue), "3+");
    EXPECT_EQ(s.error_code(), StatusCode::CANCELLED);
  }
  // The program knows the end before.
  grpc::ClientContext context;
  const auto reader = stub->AsyncServerStream(&context, query_of("error"), &queue, tagged(1));
  EXPECT_EQ(taken(queue), "1+");
  Reply reply;
  reader->Read(&reply, tagged(2));
  EXPECT_EQ(taken(queue), "2-");
  context.TryCancel();
  grpc::Status s;
  reader->Finish(&s, tagged(3));
  EXPECT_EQ(taken(queue), "3+");
  EXPECT_EQ(s.error_code(), StatusCode::NOT_FOUND);
}

TEST_F(QueuedCalls, ThatTheirServerEndsAtOnceHaveTheirInitialMetadataFirst) {
  start();
  grpc::CompletionQueue queue;
  for (int i = 0; i < 20; ++i) {
    grpc::ClientContext context;
    const auto reader = stub->AsyncServerStream(&context, query_of("error"), &queue, tagged(1));
    Reply reply;
    grpc::Status s;
    reader->ReadInitialMetadata(tagged(2));
    reader->Read(&reply, tagged(3));
    reader->Finish(&s, tagged(4));
    EXPECT_EQ(taken(queue, 4), "1+ 2+ 3- 4+");
    EXPECT_EQ(s.error_code(), StatusCode::NOT_FOUND);
  }
}

// Tells when the handler of a stream has begun, and whether it has ended.
class telling_service : public call_kinds::call_kinds_service {
 public:
  grpc::Status ServerStream(grpc::ServerContext* context, const call_kinds::Query* query,
                            grpc::ServerWriter<Reply>* writer) override {
    begun.set_value();
    const grpc::Status outcome = call_kinds_service::ServerStream(context, query, writer);
    ended = true;
    return outcome;
  }
  std::promise<void> begun;
  std::atomic<bool> ended{false};
};

class ToldCalls : public call_kinds_fixture<telling_service> {};

TEST_F(ToldCalls, AContextThatIsDestroyedEndsItsCallThoughNoEventOfItWasTaken) {
  start();
  grpc::CompletionQueue queue;
  {
    grpc::ClientContext context;
    const auto reader = stub->AsyncServerStream(&context, query_of("until cancelled", 1), &queue, tagged(1));
    service.begun.get_future().wait();
  }
  server->Shutdown();  // waits for the handler
  EXPECT_TRUE(service.ended);
  EXPECT_EQ(taken(queue), "1+");
}

// --- reads

TEST_F(QueuedCalls, ReadsThatWaitForAnotherGetTheMessagesInOrder) {
  start();
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  const auto stream = stub->AsyncBidiStream(&context, &queue, tagged(1));
  EXPECT_EQ(taken(queue), "1+");
  Note said;
  Note heard[5];
  stream->Read(&heard[0], tagged(2));
  stream->Read(&heard[1], tagged(3));
  for (const int n : {0, 1}) {
    said.set_text(std::to_string(n));
    stream->Write(said, tagged(9));
    EXPECT_EQ(taken(queue, 2), n == 0 ? "9+ 2+" : "9+ 3+");
    EXPECT_EQ(heard[n].text(), "you said " + said.text());
  }
  // The last message, and the end, which the others find.
  stream->Read(&heard[2], tagged(4));
  stream->Read(&heard[3], tagged(5));
  stream->Read(&heard[4], tagged(6));
  stream->WritesDone(tagged(9));
  EXPECT_EQ(taken(queue, 4), "9+ 4+ 5- 6-");
  EXPECT_EQ(heard[2].text(), "goodbye");
  grpc::Status s;
  stream->Finish(&s, tagged(7));
  EXPECT_EQ(taken(queue), "7+");
  EXPECT_TRUE(s.ok()) << s.error_message();
}

// A stream of messages of which several reads are begun at any time, each when another one has ended.
struct reads_at_once {
  int reads;
  int threads;  // that take the events
  bool finished_first;  // Finish() is begun before the reads, as the callback API does
};
void PrintTo(const reads_at_once& c, std::ostream* to) {
  *to << c.reads << " reads, " << c.threads << " threads" << (c.finished_first ? ", finished first" : "");
}

class QueuedReads : public call_kinds_fixture<>, public ::testing::WithParamInterface<reads_at_once> {};

TEST_P(QueuedReads, GetTheMessagesInTheOrderInWhichTheyWereBegun) {
  start();
  constexpr int messages = 500;
  constexpr std::intptr_t finish_tag = 10'000;
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  const auto reader = stub->AsyncServerStream(&context, query_of("", messages), &queue, tagged(finish_tag));
  EXPECT_EQ(taken(queue), std::to_string(finish_tag) + "+");
  grpc::Status s;
  if (GetParam().finished_first) reader->Finish(&s, tagged(finish_tag));

  std::mutex changing;
  std::vector<Reply> replies(messages + GetParam().reads);
  std::vector<int> read;  // the numbers of the reads that got a message
  std::size_t begun = 0;
  std::size_t ended = 0;
  bool finished = false;
  const auto begin_read = [&] {
    reader->Read(&replies[begun], tagged(static_cast<std::intptr_t>(begun)));
    ++begun;
  };
  {
    const std::lock_guard lock(changing);
    for (int i = 0; i < GetParam().reads; ++i) begin_read();
  }
  const auto take_events = [&] {
    void* tag = nullptr;
    bool ok = false;
    while (queue.Next(&tag, &ok)) {
      const std::lock_guard lock(changing);
      if (tag == tagged(finish_tag)) {
        finished = true;
        EXPECT_TRUE(s.ok()) << s.error_message();
      } else if (++ended, ok) {
        read.push_back(static_cast<int>(reinterpret_cast<std::intptr_t>(tag)));
        begin_read();
      } else if (ended == replies.size() && !GetParam().finished_first) {
        reader->Finish(&s, tagged(finish_tag));
      }
      if (finished && ended == replies.size()) queue.Shutdown();
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < GetParam().threads; ++t) threads.emplace_back(take_events);
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(ended, replies.size());
  EXPECT_EQ(read.size(), std::size_t{messages});
  for (const int n : read) ASSERT_EQ(replies[static_cast<std::size_t>(n)].number(), n);
}

INSTANTIATE_TEST_SUITE_P(All, QueuedReads,
                         ::testing::Values(reads_at_once{2, 1, false}, reads_at_once{3, 2, false},
                                           reads_at_once{1, 1, true}, reads_at_once{2, 1, true},
                                           reads_at_once{3, 2, true}),
                         [](const auto& of) {
                           return std::to_string(of.param.reads) + "Reads" +
                                  std::to_string(of.param.threads) + "Threads" +
                                  (of.param.finished_first ? "FinishedFirst" : "");
                         });

TEST_F(QueuedCalls, AFinishThatIsBegunFirstWaitsUntilTheMessagesAreRead) {
  start();
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  const auto reader = stub->AsyncServerStream(&context, query_of("", 3), &queue, tagged(1));
  EXPECT_EQ(taken(queue), "1+");
  grpc::Status s;
  reader->Finish(&s, tagged(2));
  for (int n = 0; n < 3; ++n) {
    // Meanwhile it looks for the end, and finds a message.
    void* tag = nullptr;
    bool ok = false;
    EXPECT_EQ(queue.AsyncNext(&tag, &ok, system_clock::now() + 5ms), grpc::CompletionQueue::TIMEOUT);
    Reply reply;
    reader->Read(&reply, tagged(3));
    EXPECT_EQ(taken(queue), "3+");
    EXPECT_EQ(reply.number(), n);
  }
  EXPECT_EQ(taken(queue), "2+");
  EXPECT_TRUE(s.ok()) << s.error_message();
  Reply reply;
  reader->Read(&reply, tagged(3));
  EXPECT_EQ(taken(queue), "3-");
}

TEST(Queues, ShutdownWakesAllThreads) {
  grpc::CompletionQueue queue;
  std::vector<std::thread> waiting;
  for (int t = 0; t < 3; ++t) waiting.emplace_back([&] { EXPECT_EQ(taken(queue), "drained"); });
  queue.Shutdown();
  for (std::thread& t : waiting) t.join();
}

TEST(Queues, AnEventWakesAThreadThatWaitsWithADeadline) {
  grpc::CompletionQueue queue;
  grpc::Alarm alarm;
  void* tag = nullptr;
  bool ok = false;
  const auto set = [&] { alarm.Set(&queue, system_clock::now() + 1ms, tagged(1)); };
  EXPECT_EQ(queue.DoThenAsyncNext(set, &tag, &ok, gpr_inf_future(GPR_CLOCK_REALTIME)),
            grpc::CompletionQueue::GOT_EVENT);
  EXPECT_EQ(tag, tagged(1));
  EXPECT_TRUE(ok);
}

TEST(Queues, AQueueMayBeDestroyedBeforeItsAlarm) {
  grpc::Alarm alarm;
  {
    grpc::CompletionQueue queue;
    alarm.Set(&queue, system_clock::now() + 1h, tagged(1));
  }
  alarm.Cancel();
  grpc::CompletionQueue another;
  alarm.Set(&another, system_clock::now(), tagged(2));
  EXPECT_EQ(taken(another), "2+");
}

}  // namespace
}  // namespace coracle::testing_support::queues_test
