// Servers with completion queues in grpc++'s API, where tests/interop/grpcpp_relinked_test.py does not look.
#include "adapters/grpcpp/src/server/server_core.hpp"
#include "queue_fixture.hpp"

#include <grpcpp/alarm.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace coracle::testing_support::server_queues_test {
namespace {

using namespace std::chrono_literals;
using call_kinds::CallKinds;
using call_kinds::Query;
using call_kinds::Reply;
using call_kinds::tagged;
using call_kinds::taken;
using call_kinds::taken_in_any_order;
using grpc::StatusCode;
using std::chrono::system_clock;

class AsyncServers : public queue_fixture<CallKinds::AsyncService> {
 protected:
  // A call that was requested, without a notice of its end.
  struct requested : call_kinds::held_unary {
    explicit requested(AsyncServers& by, int tag = 1)
        : held_unary(by.service, by.queue(), by.queue(), tag, false) {}
  };
  // Takes one call, and its end.
  void serve() {
    requested call(*this);
    grpc::CompletionQueue of_client;
    grpc::ClientContext context;
    Reply reply;
    grpc::Status s;
    stub->AsyncUnary(&context, query_of("x"), &of_client)->Finish(&reply, &s, tagged(1));
    EXPECT_EQ(taken(queue()), "1+");
    call.stream.Finish(Reply(), grpc::Status::OK, tagged(2));
    EXPECT_EQ(taken(queue()), "2+");
    EXPECT_EQ(taken(of_client), "1+");
    EXPECT_TRUE(s.ok());
  }
  // The outcome of a call that waits for the server.
  StatusCode found() {
    Reply reply;
    return find(query_of("x"), reply).error_code();
  }
};

// Serves unary calls as the examples of grpc++ do: an object for each call is the tag of all its events.
class serving_call {
 public:
  serving_call(CallKinds::AsyncService& service, grpc::ServerCompletionQueue& queue)
      : service_(service), queue_(queue) {
    service_.RequestUnary(&context_, &query_, &stream_, &queue_, &queue_, this);
  }
  // False: the object is gone.
  void proceed(bool ok) {
    if (finished_ || !ok) return delete this;
    new serving_call(service_, queue_);
    Reply reply;
    reply.set_number(query_.number() + 1);
    finished_ = true;
    stream_.Finish(reply, grpc::Status::OK, this);
  }

 private:
  CallKinds::AsyncService& service_;
  grpc::ServerCompletionQueue& queue_;
  grpc::ServerContext context_;
  Query query_;
  grpc::ServerAsyncResponseWriter<Reply> stream_{&context_};
  bool finished_ = false;
};

class AsyncCrowds : public AsyncServers, public ::testing::WithParamInterface<std::pair<int, int>> {};

TEST_P(AsyncCrowds, AreServedByAnyNumberOfQueuesAndThreads) {
  const auto [queue_count, threads_per_queue] = GetParam();
  start(queue_count);
  std::vector<std::thread> serving;
  for (auto& q : queues) {
    new serving_call(service, *q);
    for (int t = 0; t < threads_per_queue; ++t) {
      serving.emplace_back([&queue = *q] {
        void* tag = nullptr;
        bool ok = false;
        while (queue.Next(&tag, &ok)) static_cast<serving_call*>(tag)->proceed(ok);
      });
    }
  }
  std::atomic<int> right{0};
  std::vector<std::thread> calling;
  for (int t = 0; t < 8; ++t) {
    calling.emplace_back([this, t, &right] {
      for (int i = 0; i < 50; ++i) {
        grpc::ClientContext context;
        Reply reply;
        if (stub->Unary(&context, query_of("x", t * 100 + i), &reply).ok() &&
            reply.number() == t * 100 + i + 1)
          ++right;
      }
    });
  }
  for (std::thread& t : calling) t.join();
  EXPECT_EQ(right, 400);
  server->Shutdown();
  for (auto& q : queues) q->Shutdown();
  for (std::thread& t : serving) t.join();
}

INSTANTIATE_TEST_SUITE_P(
    All, AsyncCrowds, ::testing::Values(std::pair(1, 1), std::pair(1, 4), std::pair(3, 1), std::pair(2, 2)),
    [](const auto& of) {
      return std::to_string(of.param.first) + "Queues" + std::to_string(of.param.second) + "Threads";
    });

TEST_F(AsyncServers, ARequestOfAServiceWithoutAServerFails) {
  grpc::ServerBuilder builder;
  queues.push_back(builder.AddCompletionQueue());
  requested call(*this);
  EXPECT_EQ(taken(queue()), "1-");
}

TEST_F(AsyncServers, AContextThatIsDestroyedEndsItsCall) {
  start();
  std::thread calling([&] { EXPECT_EQ(found(), StatusCode::CANCELLED); });
  {
    requested call(*this);
    EXPECT_EQ(taken(queue()), "1+");
  }
  calling.join();
  end();
}

TEST_F(AsyncServers, ACallWhoseEventIsNotTakenEndsWithTheQueue) {
  start(2);
  const call_kinds::held_unary first(service, queue(), *queues[1], 1, false);
  requested second(*this, 2);
  grpc::CompletionQueue of_client;
  grpc::ClientContext contexts[2];
  Reply replies[2];
  grpc::Status s[2];
  for (int i = 0; i < 2; ++i)
    stub->AsyncUnary(&contexts[i], query_of("x"), &of_client)->Finish(&replies[i], &s[i], tagged(i + 1));
  EXPECT_EQ(taken(queue()), "2+");
  second.stream.Finish(Reply(), grpc::Status::OK, tagged(3));
  const int served = taken(of_client) == "1+" ? 1 : 2;
  EXPECT_TRUE(s[served - 1].ok());
  queues.pop_back();  // with the other call, which came before or comes now
  EXPECT_EQ(taken(of_client), served == 1 ? "2+" : "1+");
  EXPECT_EQ(s[2 - served].error_code(), StatusCode::CANCELLED);
  end();
}

TEST_F(AsyncServers, AContextWithoutACallGetsNoNotice) {
  start();
  const call_kinds::held_unary call(service, queue(), queue());
  server->Shutdown();
  queue().Shutdown();
  EXPECT_EQ(taken(queue()), "1-");
  EXPECT_EQ(taken(queue()), "drained");
}

TEST_F(AsyncServers, AQueueMayBeShutDownBeforeTheServer) {
  start();
  requested call(*this);
  queue().Shutdown();
  void* tag = nullptr;
  bool ok = true;
  EXPECT_EQ(queue().AsyncNext(&tag, &ok, system_clock::now()), grpc::CompletionQueue::TIMEOUT);
  server->Shutdown();
  EXPECT_EQ(taken(queue()), "1-");
  EXPECT_EQ(taken(queue()), "drained");
}

// The event of a call whose message does not parse is in a queue when that is shut down.
class UnparsedRequests : public AsyncServers {
 protected:
  // Until the second queue has the event of the unparsed call, the first one that of another call.
  void make_calls() {
    start();
    queues.push_back(grpc::ServerBuilder().AddCompletionQueue());  // with no loop that its requests prefer
    unparsed.emplace(service, queue(), *queues[1], 1, false);
    parsed.emplace(*this, 2);
    grpc::GenericStub generic(channel);
    const std::string messages[] = {"\x08", query_of("x").SerializeAsString()};
    for (int i = 0; i < 2; ++i) {
      const grpc::Slice slice(messages[i]);
      auto call = generic.PrepareUnaryCall(&contexts[i], "/call_kinds.CallKinds/Unary",
                                           grpc::ByteBuffer(&slice, 1), &of_client);
      call->StartCall();
      call->Finish(&replies[i], &statuses[i], tagged(i + 1));
    }
    EXPECT_EQ(taken(queue()), "2+");  // the first call has come, too
  }
  std::optional<call_kinds::held_unary> unparsed;
  std::optional<requested> parsed;
  grpc::CompletionQueue of_client;
  grpc::ClientContext contexts[2];
  grpc::ByteBuffer replies[2];
  grpc::Status statuses[2];
};

TEST_F(UnparsedRequests, EndWithTheirQueue) {
  make_calls();
  queues[1]->Shutdown();
  EXPECT_EQ(taken(*queues[1]), "1-");
  EXPECT_EQ(taken(*queues[1]), "drained");
  EXPECT_EQ(taken(of_client), "1+");
  EXPECT_EQ(statuses[0].error_code(), StatusCode::INTERNAL);
  parsed->stream.Finish(Reply(), grpc::Status::OK, tagged(3));
  EXPECT_EQ(taken(queue()), "3+");
  EXPECT_EQ(taken(of_client), "2+");
  EXPECT_TRUE(statuses[1].ok());
  end();
}

TEST_F(UnparsedRequests, EndWithTheirQueueAfterTheServer) {
  make_calls();
  server->Shutdown(system_clock::now());
  queues[1]->Shutdown();
  EXPECT_EQ(taken(*queues[1]), "1-");
  EXPECT_EQ(taken(*queues[1]), "drained");
  EXPECT_EQ(taken_in_any_order(of_client, 2), "1+ 2+");  // of two calls
  EXPECT_FALSE(statuses[0].ok());
  end();
}

TEST_F(UnparsedRequests, WaitForTheNextCallBefore) {
  make_calls();
  void* tag = nullptr;
  bool ok = false;
  EXPECT_EQ(queues[1]->AsyncNext(&tag, &ok, system_clock::now()), grpc::CompletionQueue::TIMEOUT);
  queues[1]->Shutdown();
  EXPECT_EQ(queues[1]->AsyncNext(&tag, &ok, system_clock::now()), grpc::CompletionQueue::TIMEOUT);
  server->Shutdown(system_clock::now());
  EXPECT_EQ(taken(*queues[1]), "1-");
  EXPECT_EQ(taken(*queues[1]), "drained");
  EXPECT_EQ(taken_in_any_order(of_client, 2), "1+ 2+");  // of two calls
  EXPECT_EQ(statuses[0].error_code(), StatusCode::INTERNAL);
  end();
}

TEST_F(AsyncServers, AnEndedCallTellsWhatItWasAfterItsServer) {
  start();
  requested call(*this);
  std::thread calling([&] {
    Reply reply;
    EXPECT_TRUE(find(query_of("x"), reply, [](grpc::ClientContext& c) { c.AddMetadata("own", "1"); }).ok());
  });
  EXPECT_EQ(taken(queue()), "1+");
  call.stream.Finish(Reply(), grpc::Status::OK, tagged(2));
  EXPECT_EQ(taken(queue()), "2+");
  calling.join();
  end();
  server.reset();
  EXPECT_EQ(call.context.client_metadata().count("own"), 1u);
  EXPECT_FALSE(call.context.IsCancelled());
  call.stream.Finish(Reply(), grpc::Status::OK, tagged(3));
  EXPECT_EQ(taken(queue()), "3-");
}

// The events of a call that was cancelled outlive the server.
class EventsAfterTheirServer : public AsyncServers {
 public:  // for held_unary and held_bidi_stream
  using AsyncServers::queue;
  using AsyncServers::service;

 protected:
  // Ends the calls of the server, and destroys it; the events of the queue were not taken.
  void end_server() {
    server->Shutdown(system_clock::now());
    server.reset();
    queue().Shutdown();
  }
  grpc::CompletionQueue of_client;
  grpc::ClientContext context;
};

TEST_F(EventsAfterTheirServer, OfAUnaryCallTellThatItWasCancelled) {
  start();
  call_kinds::held_unary call(*this);
  Reply reply;
  grpc::Status s;
  stub->AsyncUnary(&context, query_of("x"), &of_client)->Finish(&reply, &s, tagged(1));
  EXPECT_EQ(call.next(), "1+");
  context.TryCancel();
  EXPECT_EQ(taken(of_client), "1+");
  server->Shutdown(system_clock::now());  // waits for the end of the call
  call.stream.Finish(Reply(), grpc::Status::OK, tagged(2));
  end_server();
  EXPECT_EQ(call.next(2), "9+ 2-");
  EXPECT_TRUE(call.context.IsCancelled());
  EXPECT_EQ(call.next(), "drained");
}

TEST_F(EventsAfterTheirServer, OfAReadThatWaits) {
  start();
  call_kinds::held_bidi_stream call(*this);
  const auto talking = stub->AsyncBidiStream(&context, &of_client, tagged(1));
  EXPECT_EQ(taken(of_client), "1+");
  EXPECT_EQ(call.next(), "1+");
  call_kinds::Note note;
  call.stream.Read(&note, tagged(2));
  end_server();
  EXPECT_EQ(call.next(2), "2- 9+");
  EXPECT_TRUE(call.context.IsCancelled());
  call.stream.Read(&note, tagged(3));
  EXPECT_EQ(call.next(), "3-");
  EXPECT_EQ(call.next(), "drained");
}

TEST_F(EventsAfterTheirServer, OfAFinishWhoseMessageHasNoRoom) {
  start();
  call_kinds::held_bidi_stream call(*this);
  const auto talking = stub->AsyncBidiStream(&context, &of_client, tagged(1));
  EXPECT_EQ(taken(of_client), "1+");
  EXPECT_EQ(call.next(), "1+");
  call_kinds::Note note;
  note.set_text(std::string(3'000'000, 'x'));  // more than the window of a client that does not read
  call.stream.WriteAndFinish(note, grpc::WriteOptions(), grpc::Status::OK, tagged(2));
  end_server();
  EXPECT_EQ(call.next(2), "9+ 2-");
  EXPECT_TRUE(call.context.IsCancelled());
  EXPECT_EQ(call.next(), "drained");
}

TEST_F(EventsAfterTheirServer, AreDestroyedWithTheirQueue) {
  start();
  call_kinds::held_bidi_stream call(*this);
  const auto talking = stub->AsyncBidiStream(&context, &of_client, tagged(1));
  EXPECT_EQ(taken(of_client), "1+");
  EXPECT_EQ(call.next(), "1+");
  call_kinds::Note note;
  call.stream.Read(&note, tagged(2));
  end_server();
  queues.clear();
  EXPECT_TRUE(call.context.IsCancelled());
}

TEST_F(AsyncServers, ASecondFinishFails) {
  start();
  requested call(*this);
  std::thread calling([&] { EXPECT_EQ(found(), StatusCode::ABORTED); });
  EXPECT_EQ(taken(queue()), "1+");
  call.stream.FinishWithError(grpc::Status(StatusCode::ABORTED, ""), tagged(2));
  EXPECT_EQ(taken(queue()), "2+");
  call.stream.Finish(Reply(), grpc::Status::OK, tagged(3));
  EXPECT_EQ(taken(queue()), "3-");
  calling.join();
  end();
}

TEST_F(AsyncServers, AServiceIsUsedAgainByAnotherServer) {
  for (int i = 0; i < 2; ++i) {
    start();
    requested call(*this);
    std::thread calling([&] { EXPECT_EQ(found(), StatusCode::OK); });
    EXPECT_EQ(taken(queue()), "1+");
    call.stream.Finish(Reply(), grpc::Status::OK, tagged(2));
    EXPECT_EQ(taken(queue()), "2+");
    calling.join();
    end();
    queues.clear();
  }
}

// --- builders that are used again

class BuildersOfQueues : public AsyncServers {
 protected:
  void prepare() {
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service);
  }
  void add_queue() { queues.push_back(builder.AddCompletionQueue()); }
  // The port is that of the last server.
  void serve() {
    connect(grpc::InsecureChannelCredentials());
    AsyncServers::serve();
  }
  grpc::ServerBuilder builder;
};

TEST_F(BuildersOfQueues, ForgetAQueueThatIsDestroyed) {
  prepare();
  add_queue();
  queues.clear();
  add_queue();
  server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  EXPECT_EQ(queue().core()->loop_of_server(), 0u);  // the server has one queue
  EXPECT_NE(server->core().driver(), nullptr);
  serve();
  end();
}

TEST_F(BuildersOfQueues, MakeAServerWithoutTheirOnlyQueue) {
  prepare();
  add_queue();
  queues.clear();
  server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  EXPECT_EQ(server->core().driver(), nullptr);
  end();
}

TEST_F(BuildersOfQueues, MakeNoSecondServerOfRequestedMethodsBesideTheFirst) {
  prepare();
  add_queue();
  server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  serve();
  const int of_first = port;
  EXPECT_EQ(builder.BuildAndStart(), nullptr);
  EXPECT_EQ(port, of_first) << "no port was opened";
  serve();
  end();
}

TEST_F(BuildersOfQueues, MakeAServerInPlaceOfAnother) {
  prepare();
  add_queue();
  for (const bool destroyed : {false, true}) {
    server = builder.BuildAndStart();
    ASSERT_NE(server, nullptr);
    serve();
    server->Shutdown();
    if (destroyed) server.reset();
  }
  server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  serve();
  end();
}

TEST_F(BuildersOfQueues, MakeAServerAfterOneThatCouldNotBeMade) {
  prepare();
  add_queue();
  int other = 0;
  builder.AddListeningPort("127.0.0.1:0", nullptr, &other);
  EXPECT_EQ(builder.BuildAndStart(), nullptr);
  grpc::ServerBuilder second;
  second.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  second.RegisterService(&service);
  queues.clear();
  queues.push_back(second.AddCompletionQueue());
  server = second.BuildAndStart();
  ASSERT_NE(server, nullptr);
  serve();
  end();
}

// --- who drives the loops of a server

class DrivenServers : public AsyncServers {
 protected:
  [[nodiscard]] grpc::internal::queue_driver::handovers counted() {
    return server->core().driver()->counted();
  }
  // Is answered by the server alone.
  StatusCode shine() {
    const auto other = call_kinds::Unimplemented::NewStub(channel);
    grpc::ClientContext context;
    Reply reply;
    return other->Call(&context, Query(), &reply).error_code();
  }
  grpc::CompletionQueue::NextStatus take_until(system_clock::time_point deadline) {
    void* tag = nullptr;
    bool ok = false;
    return queue().AsyncNext(&tag, &ok, deadline);
  }
};

TEST_F(DrivenServers, OneThreadDrivesTheServer) {
  start();
  for (int i = 0; i < 5; ++i) serve();
  EXPECT_FALSE(counted().for_good);
  end();
}

TEST_F(DrivenServers, AServerThatNoThreadDrivesAnswersAndIsTakenBack) {
  start();
  EXPECT_EQ(shine(), StatusCode::UNIMPLEMENTED);
  EXPECT_GE(counted().to_watch, 1u);
  serve();
  EXPECT_FALSE(counted().for_good);
  end();
}

TEST_F(DrivenServers, AProgramThatOftenLeavesTheServerAloneDoesNotDriveIt) {
  start();
  for (int i = 0; i < 100 && !counted().for_good; ++i) {
    std::thread([this] { EXPECT_EQ(shine(), StatusCode::UNIMPLEMENTED); }).join();
    EXPECT_EQ(take_until(system_clock::now()), grpc::CompletionQueue::TIMEOUT);
  }
  EXPECT_TRUE(counted().for_good);
  serve();
  EXPECT_EQ(take_until(system_clock::now()), grpc::CompletionQueue::TIMEOUT);
  end();
}

TEST_F(DrivenServers, AThreadThatMakesASynchronousCallLeavesTheServerToTheWatch) {
  start();
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(take_until(system_clock::now()), grpc::CompletionQueue::TIMEOUT);
    EXPECT_EQ(shine(), StatusCode::UNIMPLEMENTED);
  }
  EXPECT_GE(counted().to_watch, 30u);
  EXPECT_FALSE(counted().for_good);
  end();
}

TEST_F(DrivenServers, ASecondThreadLeavesTheServerToTheLibrary) {
  start();
  std::thread first([this] { EXPECT_EQ(taken(queue()), "5-"); });
  while (!counted().for_good)
    EXPECT_EQ(take_until(system_clock::now() + 1ms), grpc::CompletionQueue::TIMEOUT);
  grpc::Alarm alarm(&queue(), system_clock::now() + 1h, tagged(5));
  alarm.Cancel();
  first.join();
  serve();
  end();
}

TEST_F(DrivenServers, AnEventOfAnotherLoopEndsTheWaitOfTheThreadThatDrives) {
  start();
  for (int i = 1; i <= 20; ++i) {
    grpc::Alarm alarm(&queue(), system_clock::now() + 1ms, tagged(i));
    EXPECT_EQ(taken(queue()), std::to_string(i) + "+");
  }
  end();
}

TEST_F(DrivenServers, ADeadlineEndsTheWaitOfTheThreadThatDrives) {
  start();
  const auto deadline = system_clock::now() + 5ms;
  EXPECT_EQ(take_until(deadline), grpc::CompletionQueue::TIMEOUT);
  EXPECT_GE(system_clock::now(), deadline - 1ms);  // another clock
  EXPECT_EQ(take_until(system_clock::now() - 1s), grpc::CompletionQueue::TIMEOUT);
  serve();
  end();
}

// Has a thread for each queue serve until the end, and counts the events that each has taken.
class DrivenByQueues : public DrivenServers {
 protected:
  void serve_by_all() {
    events_ = std::vector<std::atomic<int>>(queues.size());
    for (std::size_t i = 0; i < queues.size(); ++i) {
      new serving_call(service, *queues[i]);
      serving_.emplace_back([this, i] {
        void* tag = nullptr;
        bool ok = false;
        for (; queues[i]->Next(&tag, &ok); ++events_[i]) static_cast<serving_call*>(tag)->proceed(ok);
      });
    }
  }
  void end_all() {
    server->Shutdown(system_clock::now() + 1min);
    for (auto& q : queues) q->Shutdown();
    for (std::thread& t : serving_) t.join();
  }
  [[nodiscard]] std::vector<int> events() const { return {events_.begin(), events_.end()}; }
  // How often a watch has taken one of the loops; nothing while it has one.
  [[nodiscard]] std::optional<std::size_t> absences() const {
    std::size_t all = 0;
    for (std::size_t i = 0; i < queues.size(); ++i) {
      const auto of_loop = server->core().driver(i)->counted();
      if (of_loop.on_watch) return std::nullopt;
      all += of_loop.to_watch;
    }
    return all;
  }

 private:
  std::vector<std::atomic<int>> events_;
  std::vector<std::thread> serving_;
};

TEST_F(DrivenByQueues, EachDrivesALoop) {
  start(3);
  serve_by_all();
  std::vector<std::thread> clients;
  for (int t = 0; t < 6; ++t) {
    clients.emplace_back([this] {
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      const auto own = CallKinds::NewStub(grpc::CreateCustomChannel(
          "127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials(), arguments));
      for (int i = 0; i < 50; ++i) {
        grpc::ClientContext context;
        Reply reply;
        EXPECT_TRUE(own->Unary(&context, query_of("x", i), &reply).ok());
        EXPECT_EQ(reply.number(), i + 1);
      }
    });
  }
  for (std::thread& t : clients) t.join();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_FALSE(server->core().driver(i)->counted().for_good) << i;
  end_all();
}

TEST_F(DrivenByQueues, ACallStaysWithTheQueueOfItsConnection) {
  start(2);
  serve_by_all();
  constexpr int calls = 40;
  int made = 0;
  // Of each call its beginning, and its end, which the client may know first.
  const auto events_of_all = [&] {
    std::vector<int> taken = events();
    for (; taken[0] + taken[1] < 2 * made; taken = events()) std::this_thread::yield();
    return taken;
  };
  // A watch, which takes the loop of a thread that is held up, gives calls to any queue.
  for (int round = 0;; ++round) {
    ASSERT_LT(round, 100) << "a watch has taken a loop in each round";
    const auto before = absences();
    const std::vector<int> earlier = events_of_all();
    for (int i = 0; i < calls; ++i, ++made) {
      grpc::ClientContext context;
      Reply reply;
      EXPECT_TRUE(stub->Unary(&context, query_of("x", i), &reply).ok());
    }
    const std::vector<int> later = events_of_all();
    if (!before || absences() != before) continue;
    EXPECT_EQ(std::min(later[0] - earlier[0], later[1] - earlier[1]), 0);
    EXPECT_EQ(std::max(later[0] - earlier[0], later[1] - earlier[1]), 2 * calls);
    break;
  }
  end_all();
}

TEST_F(DrivenServers, AQueueServesTheConnectionsOfAnother) {
  start(2);
  std::thread other([this] { EXPECT_EQ(taken(*queues[1]), "drained"); });
  for (int i = 0; i < 8; ++i) {
    connect(grpc::InsecureChannelCredentials());  // a channel of its own has a connection of its own
    serve();
  }
  queues[1]->Shutdown();
  other.join();
  end();
}

}  // namespace
}  // namespace coracle::testing_support::server_queues_test
