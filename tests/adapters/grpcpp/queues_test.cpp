// Completion queues of grpc++'s API, where tests/interop/grpcpp_relinked_test.py does not look.
#include "harbour_fixture.hpp"
#include "queue_cases.hpp"

#include <grpcpp/alarm.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace coracle::testing_support::queues_test {
namespace {

using namespace std::chrono_literals;
using grpc::StatusCode;
using harbour::Harbour;
using harbour::Note;
using harbour::Position;
using harbour::Ship;
using harbour::Summary;
using harbour::tagged;
using harbour::taken;
using std::chrono::system_clock;

// --- calls that fail

struct failure_case {
  const char* name;
  std::function<void(grpc::ClientContext&)> prepare;
  StatusCode code;
};
void PrintTo(const failure_case& c, std::ostream* to) { *to << c.name; }

class QueuedFailures : public harbour_fixture<>, public ::testing::WithParamInterface<failure_case> {};

TEST_P(QueuedFailures, EndEveryKindOfCallWithTheirStatus) {
  start();
  grpc::CompletionQueue queue;
  Ship ship;
  {
    grpc::ClientContext context;
    GetParam().prepare(context);
    grpc::Status s;
    stub->AsyncFind(&context, harbour_query("wait for cancel"), &queue)->Finish(&ship, &s, tagged(1));
    EXPECT_EQ(taken(queue), "1+");
    EXPECT_EQ(s.error_code(), GetParam().code);
    EXPECT_EQ(context.debug_error_string(), s.error_message());
  }
  {
    grpc::ClientContext context;
    GetParam().prepare(context);
    grpc::Status s;
    const auto reader = stub->AsyncFind(&context, harbour_query("wait for cancel"), &queue);
    reader->ReadInitialMetadata(tagged(1));
    EXPECT_EQ(taken(queue), "1-");
    reader->Finish(&ship, &s, tagged(2));
    EXPECT_EQ(taken(queue), "2+");
    EXPECT_EQ(s.error_code(), GetParam().code);
  }
  {
    grpc::ClientContext context;
    GetParam().prepare(context);
    grpc::Status s;
    const auto reader = stub->AsyncList(&context, harbour_query("headers first"), &queue, tagged(1));
    EXPECT_EQ(taken(queue), "1-");
    reader->Read(&ship, tagged(2));
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
    const auto writer = stub->AsyncRecord(&context, &summary, &queue, tagged(1));
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
    const auto stream = stub->AsyncTalk(&context, &queue, tagged(1));
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

class QueuedCalls : public harbour_fixture<> {};

TEST_F(QueuedCalls, APreparedCallOutlivesItsStubAndItsChannel) {
  start();
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  const auto reader = stub->PrepareAsyncList(&context, harbour_query("", 1), &queue);
  stub.reset();
  channel.reset();
  reader->StartCall(tagged(1));
  EXPECT_EQ(taken(queue), "1+");
  Ship ship;
  reader->Read(&ship, tagged(2));
  EXPECT_EQ(taken(queue), "2+");
  grpc::Status s;
  reader->Finish(&s, tagged(3));
  EXPECT_EQ(taken(queue), "3+");
  EXPECT_TRUE(s.ok());
}

TEST_F(QueuedCalls, OperationsBeforeTheStartFail) {
  start();
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  const auto stream = stub->PrepareAsyncTalk(&context, &queue);
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
  Ship ship;
  grpc::Status s;
  stub->AsyncFind(&context, harbour_query("wait for cancel"), &queue)->Finish(&ship, &s, tagged(1));
  queue.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  EXPECT_EQ(queue.AsyncNext(&tag, &ok, system_clock::now()), grpc::CompletionQueue::TIMEOUT);
  context.TryCancel();
  EXPECT_EQ(taken(queue), "1+");
  EXPECT_EQ(s.error_code(), StatusCode::CANCELLED);
  EXPECT_EQ(taken(queue), "drained");
  EXPECT_EQ(queue.AsyncNext(&tag, &ok, system_clock::now()), grpc::CompletionQueue::SHUTDOWN);
}

TEST_F(QueuedCalls, AContextThatIsDestroyedWithAnUnreadMessageEndsItsCall) {
  start();
  grpc::CompletionQueue queue;
  {
    grpc::ClientContext context;
    const auto reader = stub->AsyncList(&context, harbour_query("until cancelled", 1), &queue, tagged(1));
    EXPECT_EQ(taken(queue), "1+");
    Ship ship;
    reader->Read(&ship, tagged(2));
    EXPECT_EQ(taken(queue), "2+");
  }
  server->Shutdown();  // waits for the handler
  EXPECT_TRUE(service.cancelled_writes_ended);
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
}

}  // namespace
}  // namespace coracle::testing_support::queues_test
