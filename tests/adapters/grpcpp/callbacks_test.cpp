// The callback API of grpc++, where tests/interop/grpcpp_relinked_test.py does not look.
#include "adapters/grpcpp/src/server/server_core.hpp"
#include "call_kinds_fixture.hpp"
#include "callbacks_service.hpp"

#include <grpcpp/alarm.h>
#include <grpcpp/generic/callback_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/test/default_reactor_test_peer.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace coracle::testing_support::callbacks_test {
namespace {

using namespace std::chrono_literals;
using call_kinds::CallKinds;
using call_kinds::Note;
using call_kinds::Position;
using call_kinds::Query;
using call_kinds::Reply;
using call_kinds::Summary;
using grpc::StatusCode;

class ClientCallbacks : public call_kinds_fixture<> {};

struct server_stream_reactor final : grpc::ClientReadReactor<Reply> {
  void OnReadInitialMetadataDone(bool ok) override { seen += ok ? "m+" : "m-"; }
  void OnReadDone(bool ok) override {
    seen += ok ? "r+" : "r-";
    if (ok) StartRead(&reply);
  }
  void OnDone(const grpc::Status& s) override { done.set_value(s); }
  Reply reply;
  std::string seen;
  std::promise<grpc::Status> done;
};

TEST_F(ClientCallbacks, TheInitialMetadataComeBeforeTheMessages) {
  start();
  for (int i = 0; i < 200; ++i) {
    grpc::ClientContext context;
    const Query query = query_of("", 2);
    server_stream_reactor seen;
    stub->async()->ServerStream(&context, &query, &seen);
    seen.StartRead(&seen.reply);
    seen.StartCall();
    EXPECT_TRUE(seen.done.get_future().get().ok());
    EXPECT_EQ(seen.seen, "m+r+r+r-");
  }
}

TEST_F(ClientCallbacks, OnDoneIsNotCalledByTheThreadThatRemovesTheLastHold) {
  start();
  std::mutex guarded;
  struct holding final : grpc::ClientReadReactor<Reply> {
    void OnDone(const grpc::Status& s) override {
      {
        const std::lock_guard lock(*guarded);
      }
      done.set_value(s);
    }
    std::mutex* guarded = nullptr;
    std::promise<grpc::Status> done;
  } seen;
  seen.guarded = &guarded;
  grpc::ClientContext context;
  context.TryCancel();
  const Query query = query_of("", 2);
  stub->async()->ServerStream(&context, &query, &seen);
  seen.AddHold();
  seen.StartCall();
  {
    const std::lock_guard lock(guarded);
    seen.RemoveHold();
  }
  EXPECT_EQ(seen.done.get_future().get().error_code(), StatusCode::CANCELLED);
}

TEST_F(ClientCallbacks, EachOfManyThatBlockHasAThread) {
  start();
  constexpr int calls = 50;
  std::mutex changing;
  std::condition_variable changed;
  int called = 0;
  int ended = 0;
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<Reply> replies(calls);
  const Query query = query_of("hello");
  for (Reply& reply : replies) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    stub->async()->Unary(contexts.back().get(), &query, &reply, [&](const grpc::Status& s) {
      EXPECT_TRUE(s.ok());
      std::unique_lock lock(changing);
      ++called;
      changed.notify_all();
      changed.wait(lock, [&] { return called == calls; });
      ++ended;
      changed.notify_all();
    });
  }
  std::unique_lock lock(changing);
  changed.wait(lock, [&] { return ended == calls; });
}

TEST_F(ClientCallbacks, ACallOutlivesItsStubAndItsChannel) {
  start();
  grpc::ClientContext context;
  const Query query = query_of("", 2);
  server_stream_reactor seen;
  stub->async()->ServerStream(&context, &query, &seen);
  stub.reset();
  channel.reset();
  seen.StartRead(&seen.reply);
  seen.StartCall();
  EXPECT_TRUE(seen.done.get_future().get().ok());
}

TEST_F(ClientCallbacks, InvalidMetadataFailTheCall) {
  start();
  grpc::ClientContext context;
  context.AddMetadata("Upper", "1");
  const Query query = query_of("", 2);
  server_stream_reactor seen;
  stub->async()->ServerStream(&context, &query, &seen);
  seen.StartRead(&seen.reply);
  seen.StartCall();
  EXPECT_EQ(seen.done.get_future().get().error_code(), StatusCode::INTERNAL);
  EXPECT_EQ(seen.seen, "m-r-");
}

TEST_F(ClientCallbacks, MessagesMayBeBytes) {
  start();
  grpc::ClientContext context;
  std::string bytes;
  (void)query_of("hello", 7).SerializeToString(&bytes);
  const grpc::Slice slice(bytes);
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer reply;
  std::promise<grpc::Status> done;
  const grpc::internal::RpcMethod method("/call_kinds.CallKinds/Unary",
                                         grpc::internal::RpcMethod::NORMAL_RPC);
  grpc::internal::CallbackUnaryCall(channel.get(), method, &context, &request, &reply,
                                    [&](grpc::Status s) { done.set_value(std::move(s)); });
  EXPECT_TRUE(done.get_future().get().ok());
  Reply parsed;
  ASSERT_TRUE(parsed.ParseFromString(reply.bytes()));
  EXPECT_EQ(parsed.number(), 7);
}

TEST_F(ClientCallbacks, ACallThatIsCancelledWhileItsCallbackBlocksEnds) {
  start();
  grpc::ClientContext context;
  std::promise<void> read;
  std::promise<void> may_return;
  struct blocking final : grpc::ClientBidiReactor<Note, Note> {
    void OnReadDone(bool ok) override {
      if (!ok) return;
      read->set_value();
      may_return->get_future().wait();
    }
    void OnDone(const grpc::Status& s) override { done.set_value(s); }
    std::promise<void>* read = nullptr;
    std::promise<void>* may_return = nullptr;
    std::promise<grpc::Status> done;
  } seen;
  seen.read = &read;
  seen.may_return = &may_return;
  stub->async()->BidiStream(&context, &seen);
  Note said;
  Note heard;
  seen.StartWrite(&said);
  seen.StartRead(&heard);
  seen.StartCall();
  read.get_future().wait();
  context.TryCancel();
  std::future<grpc::Status> done = seen.done.get_future();
  EXPECT_EQ(done.wait_for(20ms), std::future_status::timeout);  // OnReadDone() has not returned
  may_return.set_value();
  EXPECT_EQ(done.get().error_code(), StatusCode::CANCELLED);
}

// Tests of programs put calls of their own below a reactor.
TEST(Reactors, TakeCallsOfTheProgram) {
  struct own_call final : grpc::ClientCallbackWriter<Position> {
    explicit own_call(grpc::ClientWriteReactor<Position>* reactor) { BindReactor(reactor); }
    void StartCall() override { seen += "start "; }
    void Write(const Position*, grpc::WriteOptions options) override {
      seen += options.is_last_message() ? "last " : "write ";
    }
    void WritesDone() override { seen += "done "; }
    void AddHold(int holds) override { seen += "hold" + std::to_string(holds) + " "; }
    void RemoveHold() override { seen += "release "; }
    std::string seen;
  };
  struct reactor final : grpc::ClientWriteReactor<Position> {
  } used;
  own_call call(&used);
  const Position position;
  used.StartWrite(&position);
  used.AddMultipleHolds(2);
  used.StartCall();
  used.StartWriteLast(&position, grpc::WriteOptions());
  used.StartWritesDone();
  used.RemoveHold();
  EXPECT_EQ(call.seen, "write hold2 start last done release ");
}

// --- servers

// Finds replies by a function of the test.
class own_finds final : public CallKinds::WithCallbackMethod_Unary<CallKinds::Service> {
 public:
  using function =
      std::function<grpc::ServerUnaryReactor*(grpc::CallbackServerContext*, const Query*, Reply*)>;
  void set(function f) {
    const std::lock_guard lock(changing_);
    find_ = std::move(f);
  }

 private:
  grpc::ServerUnaryReactor* Unary(grpc::CallbackServerContext* context, const Query* query,
                                  Reply* reply) override {
    function find;
    {
      const std::lock_guard lock(changing_);
      find = find_;
    }
    return find(context, query, reply);
  }
  std::mutex changing_;
  function find_;
};

class ServerCallbacks : public call_kinds_fixture<own_finds> {
 protected:
  static void on_threads(grpc::ServerBuilder& builder) {
    builder.AddChannelArgument(CORACLE_ARG_CALLBACK_THREADS, 1);
  }
  static void on_one_loop(grpc::ServerBuilder& builder) {
    builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  }
  static grpc::ServerUnaryReactor* finished(grpc::CallbackServerContext* context) {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  grpc::Status call() {
    Reply reply;
    return find(query_of("hello"), reply);
  }
};

TEST_F(ServerCallbacks, RunOnTheThreadThatDrivesTheLoop) {
  start(on_one_loop);
  std::mutex changing;
  std::map<std::thread::id, int> callbacks;
  service.set([&](grpc::CallbackServerContext* context, const Query*, Reply*) {
    const std::lock_guard lock(changing);
    ++callbacks[std::this_thread::get_id()];
    return finished(context);
  });
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(call().ok());
  int most = 0;
  const std::lock_guard lock(changing);
  for (const auto& [thread, ran] : callbacks) most = std::max(most, ran);
  EXPECT_GT(most, 100);  // others ran some if the system has stopped that thread for long
}

TEST_F(ServerCallbacks, MayWaitForEachOther) {
  start(on_one_loop);
  std::mutex changing;
  std::condition_variable changed;
  int begun = 0;
  service.set([&](grpc::CallbackServerContext* context, const Query*, Reply*) {
    std::unique_lock lock(changing);
    const int mine = ++begun;
    changed.notify_all();
    changed.wait(lock, [&] { return begun > mine || begun == 150; });
    return finished(context);
  });
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<Reply> replies(150);
  std::atomic<int> ended{0};
  std::promise<void> all;
  const Query query = query_of("hello");
  for (Reply& reply : replies) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    stub->async()->Unary(contexts.back().get(), &query, &reply, [&](const grpc::Status& s) {
      EXPECT_TRUE(s.ok());
      if (++ended == 150) all.set_value();
    });
  }
  all.get_future().wait();
}

// The inner call is on the same loop, and may come after many that did not block.
TEST_F(ServerCallbacks, MayCallTheirOwnServer) {
  start(on_one_loop);
  ::testing::internal::CaptureStderr();
  service.set([&](grpc::CallbackServerContext* context, const Query* query, Reply* reply) {
    reply->set_name(query->ask());
    if (query->ask() != "outer") return finished(context);
    grpc::ClientContext inner;
    EXPECT_TRUE(stub->Unary(&inner, query_of("inner"), reply).ok());
    return finished(context);
  });
  for (int i = 0; i < 300; ++i) {
    Reply reply;
    EXPECT_TRUE(find(query_of(i % 100 == 99 ? "outer" : "plain"), reply).ok());
    EXPECT_EQ(reply.name(), i % 100 == 99 ? "inner" : "plain");
  }
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("a callback of /call_kinds.CallKinds/Unary makes a synchronous call"), std::string::npos)
      << log;
  EXPECT_EQ(log.find("CallKinds/Unary"), log.rfind("CallKinds/Unary")) << "it is named once";
}

// The thread drives the loop of the server, and then that of the queue.
TEST_F(ServerCallbacks, MayTakeEventsOfAQueue) {
  start(on_one_loop);
  service.set([&](grpc::CallbackServerContext* context, const Query* query, Reply* reply) {
    reply->set_name(query->ask());
    if (query->ask() != "outer") return finished(context);
    grpc::ClientContext inner;
    grpc::CompletionQueue queue;
    grpc::Status s;
    const auto reader = stub->AsyncUnary(&inner, query_of("inner"), &queue);
    reader->Finish(reply, &s, reply);
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
    EXPECT_TRUE(s.ok());
    return finished(context);
  });
  for (int i = 0; i < 10; ++i) {
    Reply reply;
    EXPECT_TRUE(find(query_of("outer"), reply).ok());
    EXPECT_EQ(reply.name(), "inner");
  }
}

TEST_F(ServerCallbacks, AreNamedOnceIfTheyTakeLong) {
  start(on_one_loop);
  ::testing::internal::CaptureStderr();
  service.set([&](grpc::CallbackServerContext* context, const Query*, Reply*) {
    std::this_thread::sleep_for(250ms);  // It sleeps on purpose: a callback that blocks.
    return finished(context);
  });
  EXPECT_TRUE(call().ok());
  EXPECT_TRUE(call().ok());
  server->Shutdown();  // the second callback has returned
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("a callback of /call_kinds.CallKinds/Unary took "), std::string::npos) << log;
  EXPECT_EQ(log.find("CallKinds/Unary"), log.rfind("CallKinds/Unary")) << "it is named once";
}

TEST_F(ServerCallbacks, AreNamedOnceIfManyOfThemTakeLongAtOnce) {
  start(on_one_loop);
  ::testing::internal::CaptureStderr();
  service.set([&](grpc::CallbackServerContext* context, const Query* query, Reply*) {
    // It sleeps on purpose: a callback that blocks.
    if (query->ask() == "block") std::this_thread::sleep_for(250ms);
    return finished(context);
  });
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(call().ok());
  std::vector<std::thread> clients;
  for (int t = 0; t < 8; ++t) {
    clients.emplace_back([this] {
      Reply reply;
      EXPECT_TRUE(find(query_of("block"), reply).ok());
    });
  }
  for (std::thread& t : clients) t.join();
  server->Shutdown();  // the callbacks have returned
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("a callback of /call_kinds.CallKinds/Unary took "), std::string::npos) << log;
  EXPECT_EQ(log.find("CallKinds/Unary"), log.rfind("CallKinds/Unary")) << "it is named once: " << log;
}

// The loop measures some of the callbacks. Those that take long may come in any pattern.
TEST_F(ServerCallbacks, AreLeftToThreadsIfSomeOfThemTakeLong) {
  for (const int every : {1, 2, 4, 8}) {
    for (int first = 0; first < std::min(every, 4); ++first) {
      server.reset();
      start(on_one_loop);
      std::atomic<int> begun{0};
      // The variables of the loop change before the server has ended.
      service.set([&begun, every, first](grpc::CallbackServerContext* context, const Query*, Reply*) {
        // It sleeps on purpose: a callback that is too long for the loop.
        if (begun++ % every == first) std::this_thread::sleep_for(1ms);
        return finished(context);
      });
      const auto left = [this] { return server->core().driver()->counted().for_good; };
      for (int i = 0; i < 2000 && !left(); ++i) EXPECT_TRUE(call().ok());
      EXPECT_TRUE(left()) << "each of " << every << ", from " << first;
    }
  }
}

TEST_F(ServerCallbacks, RunOnThreadsIfTheProgramWantsItSo) {
  start(on_threads);
  EXPECT_EQ(server->core().driver(), nullptr);
  service.set([&](grpc::CallbackServerContext* context, const Query*, Reply*) {
    char name[16] = "";
    ::pthread_getname_np(::pthread_self(), name, sizeof(name));
    EXPECT_STREQ(name, "grpcpp-callback");
    return finished(context);
  });
  EXPECT_TRUE(call().ok());
}

TEST_F(ServerCallbacks, MayFinishOnAnotherThreadAfterTheCallWasCancelled) {
  start();
  std::promise<void> begun;
  std::promise<grpc::ServerUnaryReactor*> cancelled;
  std::promise<void> done;
  struct waiting final : grpc::ServerUnaryReactor {
    void OnCancel() override { cancelled->set_value(this); }
    void OnDone() override {
      std::promise<void>* const to = done;
      delete this;
      to->set_value();
    }
    std::promise<grpc::ServerUnaryReactor*>* cancelled = nullptr;
    std::promise<void>* done = nullptr;
  };
  service.set([&](grpc::CallbackServerContext*, const Query*, Reply*) {
    auto* const reactor = new waiting;
    reactor->cancelled = &cancelled;
    reactor->done = &done;
    begun.set_value();
    return reactor;
  });
  grpc::ClientContext context;
  const Query query = query_of("hello");
  Reply reply;
  std::promise<grpc::Status> ended;
  stub->async()->Unary(&context, &query, &reply, [&](const grpc::Status& s) { ended.set_value(s); });
  begun.get_future().wait();
  context.TryCancel();
  EXPECT_EQ(ended.get_future().get().error_code(), StatusCode::CANCELLED);
  grpc::ServerUnaryReactor* const reactor = cancelled.get_future().get();
  std::future<void> of_done = done.get_future();
  EXPECT_EQ(of_done.wait_for(20ms), std::future_status::timeout);  // it was not finished
  reactor->Finish(grpc::Status::OK);
  of_done.wait();
}

TEST_F(ServerCallbacks, ShutdownWaitsForOnDone) {
  start(on_threads);
  std::atomic<bool> done{false};
  std::promise<void> may_end;
  struct slow final : grpc::ServerUnaryReactor {
    void OnDone() override {
      may_end->get_future().wait();
      std::atomic<bool>* const to = done;
      delete this;
      *to = true;
    }
    std::atomic<bool>* done = nullptr;
    std::promise<void>* may_end = nullptr;
  };
  service.set([&](grpc::CallbackServerContext*, const Query*, Reply*) {
    auto* const reactor = new slow;
    reactor->done = &done;
    reactor->may_end = &may_end;
    reactor->Finish(grpc::Status::OK);
    return reactor;
  });
  EXPECT_TRUE(call().ok());
  std::thread shutting([&] { server->Shutdown(); });
  may_end.set_value();
  shutting.join();
  EXPECT_TRUE(done);
}

TEST_F(ServerCallbacks, AllocatorsGiveAndGetBackTheMessages) {
  call_kinds::counting_allocator allocator;
  service.SetMessageAllocatorFor_Unary(&allocator);
  start();
  service.set([&](grpc::CallbackServerContext* context, const Query* query, Reply* reply) {
    reply->set_name(query->ask());
    context->GetRpcAllocatorState()->FreeRequest();
    return finished(context);
  });
  Reply reply;
  EXPECT_TRUE(find(query_of("given"), reply).ok());
  EXPECT_EQ(reply.name(), "given");
  server->Shutdown();
  EXPECT_EQ(allocator.given, 1);
  EXPECT_EQ(allocator.requests_freed, 1);
  EXPECT_EQ(allocator.released, 1);
}

class CallbackService : public call_kinds_fixture<call_kinds::callback_call_kinds> {};

TEST_F(CallbackService, AnswersManyCallsOfAllKindsAtOnce) {
  start();
  std::vector<std::thread> clients;
  for (int t = 0; t < 8; ++t) {
    clients.emplace_back([&] {
      for (int i = 0; i < 40; ++i) {
        Reply reply;
        EXPECT_TRUE(find(query_of(i % 2 == 0 ? "own later" : "hello", i), reply).ok());
        grpc::ClientContext of_list;
        const auto reader = stub->ServerStream(&of_list, query_of("", 5));
        int read = 0;
        while (reader->Read(&reply)) ++read;
        EXPECT_EQ(read, 5);
        EXPECT_TRUE(reader->Finish().ok());
        grpc::ClientContext of_talk;
        if (i % 3 == 0) of_talk.set_deadline(std::chrono::system_clock::now() + 1ms);
        const auto stream = stub->BidiStream(&of_talk);
        Note note;
        for (int n = 0; n < 5 && stream->Write(note) && stream->Read(&note);) ++n;
        if (i % 3 == 1) of_talk.TryCancel();
        stream->WritesDone();
        while (stream->Read(&note)) continue;
        const grpc::Status s = stream->Finish();
        EXPECT_TRUE(s.ok() || i % 3 != 2) << s.error_message();
      }
    });
  }
  for (std::thread& t : clients) t.join();
}

// Raw methods have the bytes.
class raw_finds final : public CallKinds::WithRawCallbackMethod_Unary<CallKinds::Service> {
  grpc::ServerUnaryReactor* Unary(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                  grpc::ByteBuffer* reply) override {
    Query query;
    EXPECT_TRUE(query.ParseFromString(request->bytes()));
    Reply found;
    found.set_name("raw " + query.ask());
    const std::string bytes = found.SerializeAsString();
    const grpc::Slice slice(bytes);
    *reply = grpc::ByteBuffer(&slice, 1);
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

class RawCallbackService : public call_kinds_fixture<raw_finds> {};

TEST_F(RawCallbackService, HasTheBytes) {
  start();
  Reply reply;
  EXPECT_TRUE(find(query_of("hello"), reply).ok());
  EXPECT_EQ(reply.name(), "raw hello");
}

// --- any method

// Answers each message with itself, and tells the method and the host.
class echoing_service final : public grpc::CallbackGenericService {
  class echo final : public grpc::ServerGenericBidiReactor {
   public:
    echo() { StartRead(&message_); }

   private:
    void OnReadDone(bool ok) override {
      if (ok) StartWrite(&message_);
      else Finish(grpc::Status::OK);
    }
    void OnWriteDone(bool ok) override {
      if (ok) StartRead(&message_);
    }
    void OnDone() override { delete this; }
    grpc::ByteBuffer message_;
  };
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    context->AddTrailingMetadata("method", context->method());
    context->AddTrailingMetadata("called", context->host());
    return context->method() == "/a.B/Nothing" ? nullptr : new echo;
  }
};

class GenericCalls : public call_kinds_fixture<own_finds> {
 protected:
  void start_echo() {
    start([&](grpc::ServerBuilder& builder) { builder.RegisterCallbackGenericService(&echo); });
    generic = std::make_unique<grpc::GenericStub>(channel);
  }
  static grpc::ByteBuffer bytes(const std::string& text) {
    const grpc::Slice slice(text);
    return grpc::ByteBuffer(&slice, 1);
  }
  static std::string told(const grpc::ClientContext& context, const char* name) {
    const auto found = context.GetServerTrailingMetadata().find(name);
    return found == context.GetServerTrailingMetadata().end() ? "" : call_kinds::text(found->second);
  }
  void TearDown() override { server.reset(); }  // before its service
  echoing_service echo;
  std::unique_ptr<grpc::GenericStub> generic;
};

TEST_F(GenericCalls, OfOneMessageHaveAFunctionOrAReactor) {
  start_echo();
  const grpc::ByteBuffer request = bytes("hello");
  {
    grpc::ClientContext context;
    grpc::ByteBuffer reply;
    std::promise<grpc::Status> done;
    generic->UnaryCall(&context, std::string("/a.B/") + "C", {}, &request, &reply,
                       [&](grpc::Status s) { done.set_value(std::move(s)); });
    EXPECT_TRUE(done.get_future().get().ok());
    EXPECT_EQ(reply.bytes(), "hello");
    EXPECT_EQ(told(context, "method"), "/a.B/C");
    EXPECT_EQ(told(context, "called"), "127.0.0.1:" + std::to_string(port));
  }
  struct waiting final : grpc::ClientUnaryReactor {
    void OnDone(const grpc::Status& s) override { done.set_value(s); }
    std::promise<grpc::Status> done;
  };
  for (const char* const method : {"/a.B/D", "/a.B/Nothing"}) {
    grpc::ClientContext context;
    grpc::ByteBuffer reply;
    waiting reactor;
    generic->PrepareUnaryCall(&context, method, {}, &request, &reply, &reactor);
    reactor.StartCall();
    const StatusCode code = reactor.done.get_future().get().error_code();
    EXPECT_EQ(code, method == std::string("/a.B/D") ? StatusCode::OK : StatusCode::UNIMPLEMENTED);
    EXPECT_EQ(told(context, "method"), method);
  }
}

TEST_F(GenericCalls, MayBeStreams) {
  start_echo();
  struct bidi_stream_reactor final : grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
    void OnReadDone(bool ok) override {
      if (!ok) return;
      read += heard.bytes();
      if (read.size() < 4) StartWrite(&said);
      else StartWritesDone();
      StartRead(&heard);
    }
    void OnDone(const grpc::Status& s) override { done.set_value(s); }
    grpc::ByteBuffer said = bytes("ab");
    grpc::ByteBuffer heard;
    std::string read;
    std::promise<grpc::Status> done;
  } reactor;
  grpc::ClientContext context;
  generic->PrepareBidiStreamingCall(&context, std::string("/a.B/") + "Stream", {}, &reactor);
  generic.reset();
  reactor.StartWrite(&reactor.said);
  reactor.StartRead(&reactor.heard);
  reactor.StartCall();
  EXPECT_TRUE(reactor.done.get_future().get().ok());
  EXPECT_EQ(reactor.read, "abab");
}

TEST_F(GenericCalls, OfQueuesKeepTheirNames) {
  start_echo();
  grpc::CompletionQueue queue;
  const auto next = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok ? reinterpret_cast<std::intptr_t>(tag) : -1;
  };
  const auto tag = [](std::intptr_t n) { return reinterpret_cast<void*>(n); };
  grpc::ClientContext context;
  const auto unary =
      generic->PrepareUnaryCall(&context, std::string("/a.B/") + "Unary", bytes("one"), &queue);
  unary->StartCall();
  grpc::ByteBuffer reply;
  grpc::Status s;
  unary->Finish(&reply, &s, tag(1));
  EXPECT_EQ(next(), 1);
  EXPECT_TRUE(s.ok());
  EXPECT_EQ(reply.bytes(), "one");
  grpc::ClientContext of_stream;
  const auto stream = generic->Call(&of_stream, std::string("/a.B/") + "BidiStream", &queue, tag(2));
  EXPECT_EQ(next(), 2);
  stream->Write(bytes("two"), tag(3));
  EXPECT_EQ(next(), 3);
  stream->Read(&reply, tag(4));
  EXPECT_EQ(next(), 4);
  EXPECT_EQ(reply.bytes(), "two");
  stream->WritesDone(tag(5));
  EXPECT_EQ(next(), 5);
  stream->Finish(&s, tag(6));
  EXPECT_EQ(next(), 6);
  EXPECT_TRUE(s.ok());
  EXPECT_EQ(told(of_stream, "method"), "/a.B/BidiStream");
}

TEST(Reactors, TellATestHowTheyWereFinished) {
  grpc::CallbackServerContext context;
  const grpc::testing::DefaultReactorTestPeer peer(&context);
  call_kinds::callback_call_kinds service;
  const Query query = query_of("error", 5, "details");
  Reply reply;
  EXPECT_FALSE(peer.test_status_set());
  EXPECT_EQ(service.Unary(&context, &query, &reply), peer.reactor());
  ASSERT_TRUE(peer.test_status_set());
  EXPECT_EQ(peer.test_status().error_code(), StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace coracle::testing_support::callbacks_test
