// The callback API of grpc++, where tests/interop/grpcpp_relinked_test.py does not look.
#include "harbour_fixture.hpp"

#include <grpcpp/alarm.h>
#include <grpcpp/impl/rpc_method.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace coracle::testing_support::callbacks_test {
namespace {

using namespace std::chrono_literals;
using grpc::StatusCode;
using harbour::Harbour;
using harbour::Note;
using harbour::Position;
using harbour::Query;
using harbour::Ship;
using harbour::Summary;

class ClientCallbacks : public harbour_fixture<> {};

struct listing final : grpc::ClientReadReactor<Ship> {
  void OnReadInitialMetadataDone(bool ok) override { seen += ok ? "m+" : "m-"; }
  void OnReadDone(bool ok) override {
    seen += ok ? "r+" : "r-";
    if (ok) StartRead(&ship);
  }
  void OnDone(const grpc::Status& s) override { done.set_value(s); }
  Ship ship;
  std::string seen;
  std::promise<grpc::Status> done;
};

TEST_F(ClientCallbacks, TheInitialMetadataComeBeforeTheMessages) {
  start();
  for (int i = 0; i < 200; ++i) {
    grpc::ClientContext context;
    const Query query = harbour_query("", 2);
    listing seen;
    stub->async()->List(&context, &query, &seen);
    seen.StartRead(&seen.ship);
    seen.StartCall();
    EXPECT_TRUE(seen.done.get_future().get().ok());
    EXPECT_EQ(seen.seen, "m+r+r+r-");
  }
}

TEST_F(ClientCallbacks, OnDoneIsNotCalledByTheThreadThatRemovesTheLastHold) {
  start();
  std::mutex guarded;
  struct holding final : grpc::ClientReadReactor<Ship> {
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
  const Query query = harbour_query("", 2);
  stub->async()->List(&context, &query, &seen);
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
  std::vector<Ship> ships(calls);
  const Query query = harbour_query("hello");
  for (Ship& ship : ships) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    stub->async()->Find(contexts.back().get(), &query, &ship, [&](const grpc::Status& s) {
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
  const Query query = harbour_query("", 2);
  listing seen;
  stub->async()->List(&context, &query, &seen);
  stub.reset();
  channel.reset();
  seen.StartRead(&seen.ship);
  seen.StartCall();
  EXPECT_TRUE(seen.done.get_future().get().ok());
}

TEST_F(ClientCallbacks, InvalidMetadataFailTheCall) {
  start();
  grpc::ClientContext context;
  context.AddMetadata("Upper", "1");
  const Query query = harbour_query("", 2);
  listing seen;
  stub->async()->List(&context, &query, &seen);
  seen.StartRead(&seen.ship);
  seen.StartCall();
  EXPECT_EQ(seen.done.get_future().get().error_code(), StatusCode::INTERNAL);
  EXPECT_EQ(seen.seen, "m-r-");
}

TEST_F(ClientCallbacks, MessagesMayBeBytes) {
  start();
  grpc::ClientContext context;
  std::string bytes;
  harbour_query("hello", 7).SerializeToString(&bytes);
  const grpc::Slice slice(bytes);
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer reply;
  std::promise<grpc::Status> done;
  const grpc::internal::RpcMethod method("/harbour.Harbour/Find", grpc::internal::RpcMethod::NORMAL_RPC);
  grpc::internal::CallbackUnaryCall(channel.get(), method, &context, &request, &reply,
                                    [&](grpc::Status s) { done.set_value(std::move(s)); });
  EXPECT_TRUE(done.get_future().get().ok());
  Ship ship;
  ASSERT_TRUE(ship.ParseFromString(reply.bytes()));
  EXPECT_EQ(ship.number(), 7);
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
  stub->async()->Talk(&context, &seen);
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

}  // namespace
}  // namespace coracle::testing_support::callbacks_test
