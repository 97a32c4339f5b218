// RPCs by the callback API: unary_call(), and reactors of clients and servers.

#include "adapters/grpcpp/notification.hpp"
#include "agrpc_fixture.hpp"

#include <agrpc/client_callback.hpp>
#include <agrpc/reactor_ptr.hpp>
#include <agrpc/server_callback.hpp>
#include <agrpc/server_callback_coroutine.hpp>

#include <stdexec/execution.hpp>

#include <atomic>
#include <future>
#include <memory_resource>
#include <stdexcept>

namespace agrpc_tests::reactors_test {

using call_kinds::CallKinds;
using call_kinds::Note;
using call_kinds::notification;
using call_kinds::Position;
using call_kinds::Query;
using call_kinds::Reply;
using call_kinds::Summary;

// Answers by reactors whose waits complete on an io_context.
class reactor_service : public CallKinds::CallbackService {
 public:
  explicit reactor_service(asio::io_context& on) : on_(on) {}
  notification ended;
  std::atomic<bool> ended_well = false;

  grpc::ServerUnaryReactor* Unary(grpc::CallbackServerContext* context, const Query* request,
                                  Reply* response) override {
    if (request->ask() == "drop") return agrpc::make_reactor<agrpc::ServerUnaryReactor>(executor())->get();
    auto ptr = agrpc::make_reactor<agrpc::ServerUnaryReactor>(executor());
    auto& rpc = *ptr;
    if (request->ask() == "cancelled") {
      rpc.wait_for_finish([this, ptr = std::move(ptr)](const error_code&, bool ok) {
        ended_well = ok;
        ended.notify();
      });
      return rpc.get();
    }
    context->AddInitialMetadata("first", "metadata");
    rpc.initiate_send_initial_metadata();
    rpc.wait_for_send_initial_metadata(
        [this, request, response, ptr = std::move(ptr)](const error_code& error, bool ok) {
          EXPECT_FALSE(error);
          EXPECT_TRUE(ok);
          response->set_number(request->number() + 1);
          ptr->initiate_finish(grpc::Status::OK);
          ptr->wait_for_finish([this](const error_code&, bool finished) {
            ended_well = finished;
            ended.notify();
          });
        });
    return rpc.get();
  }
  grpc::ServerReadReactor<Position>* ClientStream(grpc::CallbackServerContext*, Summary* response) override {
    auto ptr = agrpc::make_reactor<recorder>(executor(), *response);
    auto* const given = ptr->get();
    asio::co_spawn(executor(), count(std::move(ptr)), rethrow());
    return given;
  }
  grpc::ServerWriteReactor<Reply>* ServerStream(grpc::CallbackServerContext*, const Query* request) override {
    auto ptr = agrpc::make_reactor<agrpc::ServerWriteReactor<Reply>>(executor());
    auto* const given = ptr->get();
    asio::co_spawn(executor(), list(std::move(ptr), request->number()), rethrow());
    return given;
  }
  grpc::ServerBidiReactor<Note, Note>* BidiStream(grpc::CallbackServerContext*) override {
    auto ptr = agrpc::make_reactor<talker>(executor());
    auto* const given = ptr->get();
    asio::co_spawn(executor(), talk(std::move(ptr)), rethrow());
    return given;
  }

 private:
  struct recorder : agrpc::ServerReadReactorBase<Position> {
    explicit recorder(Summary& to) : summary(&to) {}
    Position position;
    Summary* summary;
  };
  struct talker : agrpc::ServerBidiReactorBase<Note, Note> {
    Note note;
  };
  [[nodiscard]] asio::any_io_executor executor() { return on_.get_executor(); }
  static asio::awaitable<void> count(agrpc::ReactorPtr<recorder> rpc) {
    int positions = 0;
    for (;; ++positions) {
      rpc->initiate_read(rpc->position);
      if (!co_await rpc->wait_for_read()) break;
    }
    rpc->summary->set_positions(positions);
    rpc->initiate_finish(grpc::Status::OK);
  }
  static asio::awaitable<void> list(agrpc::ReactorPtr<agrpc::ServerWriteReactor<Reply>> rpc, int replies) {
    Reply reply;
    for (int i = 1; i < replies; ++i) {
      reply.set_number(i);
      rpc->initiate_write(reply);
      if (!co_await rpc->wait_for_write()) co_return;
    }
    reply.set_number(replies);
    rpc->initiate_write_and_finish(reply, grpc::Status::OK);
    co_await rpc->wait_for_finish();
  }
  static asio::awaitable<void> talk(agrpc::ReactorPtr<talker> rpc) {
    rpc->initiate_read(rpc->note);
    while (co_await rpc->wait_for_read()) {
      rpc->note.set_text("re: " + rpc->note.text());
      rpc->initiate_write(rpc->note);
      EXPECT_TRUE(co_await rpc->wait_for_write());
      rpc->initiate_read(rpc->note);
    }
    rpc->initiate_finish(grpc::Status::OK);
  }
  asio::io_context& on_;
};

// A server with a callback service, and a thread that runs an io_context.
template <class Service>
class called_back : public ::testing::Test {
 public:
  asio::io_context io_context;
  Service service{io_context};
  std::unique_ptr<grpc::Server> server;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<CallKinds::Stub> stub;
  asio::executor_work_guard<asio::io_context::executor_type> guard = asio::make_work_guard(io_context);
  std::thread running;

  [[nodiscard]] asio::any_io_executor executor() { return io_context.get_executor(); }
  template <class Function>
  void run(Function client) {
    asio::co_spawn(io_context, std::move(client), asio::use_future).get();
  }
  [[nodiscard]] grpc::Status find(const std::string& ask, int number, Reply& response) {
    grpc::ClientContext client_context;
    set_deadline(client_context);
    Query request;
    request.set_ask(ask);
    request.set_number(number);
    return agrpc::unary_call(&CallKinds::Stub::async::Unary, stub->async(), client_context, request, response,
                             asio::use_future)
        .get();
  }

 protected:
  void SetUp() override {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service);
    server = builder.BuildAndStart();
    ASSERT_TRUE(server);
    channel = grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials());
    stub = CallKinds::NewStub(channel);
    running = std::thread([this] { io_context.run(); });
  }
  void TearDown() override {
    server->Shutdown(in_a_minute());
    guard.reset();
    running.join();
  }
};

class reactors : public called_back<reactor_service> {};

TEST_F(reactors, UnaryCallsAreOneFunction) {
  Reply response;
  const auto status = find("", 7, response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.number(), 8);
  service.ended.wait();
  EXPECT_TRUE(service.ended_well);

  std::promise<grpc::Status> dropped;
  grpc::ClientContext client_context;
  set_deadline(client_context);
  Query request;
  request.set_ask("drop");
  agrpc::unary_call(&CallKinds::Stub::async::Unary, stub->async(), client_context, request, response,
                    [&](grpc::Status s) { dropped.set_value(std::move(s)); });
  EXPECT_EQ(dropped.get_future().get().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(reactors, ACancellationSlotAndAStopCancelAUnaryCall) {
  Query request;
  request.set_ask("cancelled");
  Reply response;
  {
    grpc::ClientContext client_context;
    set_deadline(client_context);
    asio::cancellation_signal signal;
    auto status = agrpc::unary_call(&CallKinds::Stub::async::Unary, stub->async(), client_context, request,
                                    response, asio::bind_cancellation_slot(signal.slot(), asio::use_future));
    signal.emit(asio::cancellation_type::terminal);
    EXPECT_EQ(status.get().error_code(), grpc::StatusCode::CANCELLED);
  }
  grpc::ClientContext client_context;
  set_deadline(client_context);
  ::stdexec::inplace_stop_source source;
  struct observer {
    using receiver_concept = ::stdexec::receiver_t;
    std::promise<grpc::Status>* to;
    ::stdexec::inplace_stop_token stop;
    struct environment {
      ::stdexec::inplace_stop_token stop;
      [[nodiscard]] ::stdexec::inplace_stop_token query(::stdexec::get_stop_token_t) const noexcept {
        return stop;
      }
    };
    void set_value(grpc::Status status) noexcept { to->set_value(std::move(status)); }
    void set_stopped() noexcept { to->set_value(grpc::Status::OK); }
    [[nodiscard]] environment get_env() const noexcept { return {stop}; }
  };
  std::promise<grpc::Status> seen;
  auto call = ::stdexec::connect(agrpc::unary_call(&CallKinds::Stub::async::Unary, stub->async(),
                                                   client_context, request, response, agrpc::use_sender),
                                 observer{&seen, source.get_token()});
  ::stdexec::start(call);
  source.request_stop();
  EXPECT_EQ(seen.get_future().get().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(reactors, UnaryReactorsSeeTheInitialMetadata) {
  run([&]() -> asio::awaitable<void> {
    auto rpc = agrpc::make_reactor<agrpc::ClientUnaryReactor>(executor());
    set_deadline(rpc->context());
    Query request;
    request.set_number(7);
    Reply response;
    rpc->start(&CallKinds::Stub::async::Unary, stub->async(), request, response);
    EXPECT_TRUE(co_await rpc->wait_for_initial_metadata());
    EXPECT_EQ(rpc->context().GetServerInitialMetadata().count("first"), 1u);
    const grpc::Status status = co_await rpc->wait_for_finish();
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.number(), 8);
  });
}

TEST_F(reactors, WaitsOutliveThePointersOfTheUser) {
  std::promise<grpc::Status> seen;
  Query request;
  Reply response;
  {
    auto rpc = agrpc::make_reactor<agrpc::ClientUnaryReactor>(executor());
    set_deadline(rpc->context());
    rpc->start(&CallKinds::Stub::async::Unary, stub->async(), request, response);
    auto& reactor = *rpc;
    reactor.wait_for_initial_metadata([&, rpc = std::move(rpc)](const error_code&, bool ok) {
      EXPECT_TRUE(ok);
      rpc->wait_for_finish(
          [&](const error_code&, grpc::Status status) { seen.set_value(std::move(status)); });
    });
  }
  EXPECT_TRUE(seen.get_future().get().ok());
  // One that was never started.
  auto unused = agrpc::make_reactor<agrpc::ClientWriteReactor<Position>>(executor());
  EXPECT_TRUE(unused);
}

TEST_F(reactors, ACancelledWaitLeavesTheRpc) {
  run([&]() -> asio::awaitable<void> {
    using namespace asio::experimental::awaitable_operators;
    auto rpc = agrpc::make_reactor<agrpc::ClientBidiReactor<Note, Note>>(executor());
    set_deadline(rpc->context());
    rpc->start(&CallKinds::Stub::async::BidiStream, stub->async());
    Note request, response;
    rpc->initiate_read(response);
    asio::steady_timer timer(io_context, std::chrono::milliseconds(2));
    const auto first = co_await (rpc->wait_for_read() || timer.async_wait(asio::use_awaitable));
    EXPECT_EQ(first.index(), 1u);
    request.set_text("ahoy");
    rpc->initiate_write(request);
    EXPECT_TRUE(co_await rpc->wait_for_write());
    EXPECT_TRUE(co_await rpc->wait_for_read());
    EXPECT_EQ(response.text(), "re: ahoy");
    rpc->initiate_writes_done();
    EXPECT_TRUE(co_await rpc->wait_for_writes_done());
    rpc->initiate_read(response);
    EXPECT_FALSE(co_await rpc->wait_for_read());
    EXPECT_TRUE((co_await rpc->wait_for_finish()).ok());
  });
}

TEST_F(reactors, StreamsOfRequestsAreWritten) {
  run([&]() -> asio::awaitable<void> {
    auto rpc = agrpc::make_reactor<agrpc::ClientWriteReactor<Position>>(executor());
    set_deadline(rpc->context());
    Summary response;
    rpc->start(&CallKinds::Stub::async::ClientStream, stub->async(), response);
    Position position;
    for (int i = 0; i != 2; ++i) {
      rpc->initiate_write(position);
      EXPECT_TRUE(co_await rpc->wait_for_write());
    }
    rpc->initiate_write(position, grpc::WriteOptions().set_last_message());
    const grpc::Status status = co_await rpc->wait_for_finish();
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.positions(), 3);
  });
}

// --8<-- [start:client]
asio::awaitable<int> count_ships(asio::any_io_executor executor, CallKinds::Stub& stub) {
  auto rpc = agrpc::make_reactor<agrpc::ClientReadReactor<Reply>>(executor);
  rpc->context().set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  Query request;
  request.set_number(3);
  rpc->start(&CallKinds::Stub::async::ServerStream, stub.async(), request);
  Reply response;
  int replies = 0;
  for (;; ++replies) {
    rpc->initiate_read(response);
    if (!co_await rpc->wait_for_read()) break;
  }
  const grpc::Status status = co_await rpc->wait_for_finish();
  co_return status.ok() ? replies : -1;
}
// --8<-- [end:client]

TEST_F(reactors, StreamsOfResponsesAreRead) {
  run([&]() -> asio::awaitable<void> { EXPECT_EQ(co_await count_ships(executor(), *stub), 3); });
}

TEST_F(reactors, GenericMethodsAreCalledByName) {
  run([&]() -> asio::awaitable<void> {
    grpc::GenericStub generic_stub(channel);
    const std::string find = "/call_kinds.CallKinds/Unary";
    const grpc::ByteBuffer request = [] {
      const grpc::Slice slice("");
      return grpc::ByteBuffer(&slice, 1);
    }();
    grpc::ByteBuffer response;
    auto unary = agrpc::make_reactor<agrpc::ClientUnaryReactor>(executor());
    set_deadline(unary->context());
    unary->start(generic_stub, find, request, response);
    EXPECT_TRUE((co_await unary->wait_for_finish()).ok());
    EXPECT_EQ(response.Length(), 2u);  // the number 1
    auto stream =
        agrpc::make_reactor<agrpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>>(executor());
    set_deadline(stream->context());
    stream->start(generic_stub, "/call_kinds.CallKinds/BidiStream");
    stream->initiate_write(request, grpc::WriteOptions().set_last_message());
    EXPECT_TRUE(co_await stream->wait_for_write());
    stream->initiate_read(response);
    EXPECT_TRUE(co_await stream->wait_for_read());
    EXPECT_EQ(response.Length(), 6u);  // "re: "
    stream->initiate_read(response);
    EXPECT_FALSE(co_await stream->wait_for_read());
    EXPECT_TRUE((co_await stream->wait_for_finish()).ok());
  });
}

TEST_F(reactors, AnAllocatorAndAVoidExecutorMakeReactors) {
  struct counted : agrpc::BasicClientUnaryReactorBase<void> {
    explicit counted(int n) : number(n) {}
    int number;
  };
  static std::pmr::synchronized_pool_resource memory;  // grpc++ lets go of the reactor after the wait
  auto rpc = agrpc::allocate_reactor<counted>(std::pmr::polymorphic_allocator<std::byte>(&memory), 5);
  EXPECT_EQ(rpc->number, 5);
  set_deadline(rpc->context());
  Query request;
  Reply response;
  rpc->start(&CallKinds::Stub::async::Unary, stub->async(), request, response);
  const auto status = ::stdexec::sync_wait(rpc->wait_for_finish(agrpc::use_sender));
  ASSERT_TRUE(status);
  EXPECT_TRUE(std::get<0>(*status).ok());
  agrpc::ReactorPtr<counted> copy = rpc, moved = std::move(copy), none;
  EXPECT_EQ(moved, rpc);
  EXPECT_FALSE(none);
  swap(moved, none);
  EXPECT_EQ(none, rpc);
}

// Answers by reactors whose executor is of the type that an io_context has.
using io_executor = asio::io_context::executor_type;
class executor_service : public CallKinds::CallbackService {
 public:
  explicit executor_service(asio::io_context& on) : on_(on) {}
  std::atomic<int> ended = 0;

  // What a method returns. Counts the end of the RPC, in the thread of the io_context.
  template <class Pointer>
  auto* given(Pointer ptr) {
    auto* const native = ptr->get();
    auto& rpc = *ptr;
    rpc.wait_for_finish([this, ptr = std::move(ptr)](const error_code& error, bool ok) {
      EXPECT_TRUE(!error && ok);
      EXPECT_TRUE(on_.get_executor().running_in_this_thread());
      ++ended;
    });
    return native;
  }

  grpc::ServerUnaryReactor* Unary(grpc::CallbackServerContext*, const Query* request,
                                  Reply* response) override {
    response->set_number(request->number() + 1);
    auto ptr = agrpc::make_reactor<agrpc::BasicServerUnaryReactor<io_executor>>(on_.get_executor());
    static_assert(std::same_as<decltype(ptr->get_executor()), io_executor>);
    ptr->initiate_finish(grpc::Status::OK);
    return given(std::move(ptr));
  }
  grpc::ServerReadReactor<Position>* ClientStream(grpc::CallbackServerContext*, Summary* response) override {
    struct recorder : agrpc::BasicServerReadReactorBase<Position, io_executor> {
      Position position;
    };
    auto ptr = agrpc::make_reactor<recorder>(on_.get_executor());
    ptr->initiate_read(ptr->position);
    ptr->wait_for_read([this, response, ptr](const error_code& error, bool ok) {
      EXPECT_FALSE(error);
      EXPECT_TRUE(on_.get_executor().running_in_this_thread());
      response->set_positions(ok ? 1 : 0);
      ptr->initiate_finish(grpc::Status::OK);
    });
    return given(std::move(ptr));
  }
  grpc::ServerWriteReactor<Reply>* ServerStream(grpc::CallbackServerContext*, const Query*) override {
    using writer = agrpc::ServerWriteReactor<Reply>::rebind_executor<io_executor>::other;
    static_assert(std::same_as<writer, agrpc::BasicServerWriteReactor<Reply, io_executor>>);
    auto ptr = agrpc::make_reactor<writer>(on_.get_executor());
    static const Reply reply;
    ptr->initiate_write_and_finish(reply, grpc::Status::OK);
    return given(std::move(ptr));
  }
  grpc::ServerBidiReactor<Note, Note>* BidiStream(grpc::CallbackServerContext*) override {
    struct talker : agrpc::BasicServerBidiReactorBase<Note, Note, io_executor> {
      Note note;
    };
    auto ptr = agrpc::make_reactor<talker>(on_.get_executor());
    ptr->initiate_read(ptr->note);
    ptr->wait_for_read(
        [ptr](const error_code&, bool) { ptr->initiate_write_and_finish(ptr->note, grpc::Status::OK); });
    return given(std::move(ptr));
  }

 private:
  asio::io_context& on_;
};

class executors : public called_back<executor_service> {};

TEST_F(executors, ReactorsOfAnExecutorTypeWaitOnIt) {
  const io_executor on = io_context.get_executor();
  run([&]() -> asio::awaitable<void> {
    using unary = agrpc::BasicClientUnaryReactor<io_executor>;
    using reader = agrpc::ClientReadReactor<Reply>::rebind_executor<io_executor>::other;
    static_assert(std::same_as<reader, agrpc::BasicClientReadReactor<Reply, io_executor>>);
    struct writer : agrpc::BasicClientWriteReactorBase<Position, io_executor> {
      Summary summary;
    };
    struct talker : agrpc::BasicClientBidiReactorBase<Note, Note, io_executor> {
      Note note;
    };
    const Query query;
    Reply reply;
    auto find = agrpc::make_reactor<unary>(on);
    auto record = agrpc::make_reactor<writer>(on);
    auto list = agrpc::make_reactor<reader>(on);
    auto talk = agrpc::make_reactor<talker>(on);
    for (auto* const c : {&find->context(), &record->context(), &list->context(), &talk->context()})
      set_deadline(*c);

    find->start(&CallKinds::Stub::async::Unary, stub->async(), query, reply);
    const bool on_it = co_await asio::async_initiate<const asio::use_awaitable_t<>&, void(bool)>(
        [&](auto&& handler) {
          // A handler without an executor completes on that of the reactor.
          find->wait_for_finish([this, h = std::make_shared<std::decay_t<decltype(handler)>>(
                                           std::forward<decltype(handler)>(handler))](
                                    const error_code& error, const grpc::Status& status) {
            EXPECT_TRUE(!error && status.ok());
            std::move (*h)(io_context.get_executor().running_in_this_thread());
          });
        },
        asio::use_awaitable);
    EXPECT_TRUE(on_it);
    EXPECT_EQ(reply.number(), 1);

    record->start(&CallKinds::Stub::async::ClientStream, stub->async(), record->summary);
    const Position position;
    record->initiate_write(position, grpc::WriteOptions().set_last_message());
    EXPECT_TRUE(co_await record->wait_for_write());
    EXPECT_TRUE((co_await record->wait_for_finish()).ok());
    EXPECT_EQ(record->summary.positions(), 1);

    list->start(&CallKinds::Stub::async::ServerStream, stub->async(), query);
    list->initiate_read(reply);
    EXPECT_TRUE(co_await list->wait_for_read());
    EXPECT_TRUE((co_await list->wait_for_finish()).ok());

    talk->start(&CallKinds::Stub::async::BidiStream, stub->async());
    talk->note.set_text("ahoy");
    talk->initiate_write(talk->note);
    EXPECT_TRUE(co_await talk->wait_for_write());
    talk->note.clear_text();
    talk->initiate_read(talk->note);
    EXPECT_TRUE(co_await talk->wait_for_read());
    EXPECT_EQ(talk->note.text(), "ahoy");
    EXPECT_TRUE((co_await talk->wait_for_finish()).ok());
  });
  server->Shutdown();
  guard.reset();
  running.join();
  running = std::thread([] {});
  EXPECT_EQ(service.ended, 4);
}

// Answers by coroutines.
class coroutine_service : public CallKinds::CallbackService {
 public:
  explicit coroutine_service(asio::io_context& on) : on_(on) {}
  notification ended;

  grpc::ServerUnaryReactor* Unary(grpc::CallbackServerContext* context, const Query* request,
                                  Reply* response) override {
    if (request->ask() == "drop") co_return;
    if (request->ask() == "throw") throw std::runtime_error("of the handler");
    const bool timed = request->ask() == "timer";
    if (timed) {
      asio::steady_timer timer(on_, std::chrono::milliseconds(1));
      co_await timer.async_wait(deferred);
      timer.expires_after(std::chrono::milliseconds(1));
      co_await agrpc::initiate_send_initial_metadata;
      auto& reactor = co_await agrpc::get_reactor;
      EXPECT_TRUE(co_await reactor.wait_for_send_initial_metadata(deferred));
    } else {
      context->AddInitialMetadata("first", "metadata");
      co_await agrpc::initiate_send_initial_metadata;
      EXPECT_TRUE(co_await agrpc::wait_for_send_initial_metadata);
    }
    response->set_number(request->number() + 1);
    co_await agrpc::initiate_finish(grpc::Status::OK);
    if (timed) co_return;  // the test waits for its response alone
    EXPECT_TRUE(co_await agrpc::wait_for_finish);
    ended.notify();
  }
  // --8<-- [start:coroutine]
  grpc::ServerReadReactor<Position>* ClientStream(grpc::CallbackServerContext*, Summary* response) override {
    Position position;
    co_await agrpc::initiate_read(position);
    while (co_await agrpc::wait_for_read) {
      response->set_positions(response->positions() + 1);
      co_await agrpc::initiate_read(position);
    }
    co_await agrpc::initiate_finish(grpc::Status::OK);
  }
  // --8<-- [end:coroutine]
  grpc::ServerWriteReactor<Reply>* ServerStream(grpc::CallbackServerContext*, const Query* request) override {
    Reply reply;
    for (int i = 1; i < request->number(); ++i) {
      reply.set_number(i);
      co_await agrpc::initiate_write(reply);
      if (!co_await agrpc::wait_for_write) co_return;
    }
    reply.set_number(request->number());
    co_await agrpc::initiate_write_and_finish(reply, grpc::Status::OK);
    co_await agrpc::wait_for_finish;
  }
  grpc::ServerBidiReactor<Note, Note>* BidiStream(grpc::CallbackServerContext*) override {
    Note note;
    co_await agrpc::initiate_read(note);
    while (co_await agrpc::wait_for_read) {
      co_await agrpc::initiate_write(note);
      if (!co_await agrpc::wait_for_write) break;
      co_await agrpc::initiate_read(note);
    }
    co_await agrpc::initiate_finish(grpc::Status::OK);
  }

 private:
  asio::io_context& on_;
};

class coroutines : public called_back<coroutine_service> {};

TEST_F(coroutines, MethodsAreCoroutines) {
  Reply reply;
  EXPECT_TRUE(find("", 7, reply).ok());
  EXPECT_EQ(reply.number(), 8);
  service.ended.wait();
  EXPECT_EQ(find("drop", 0, reply).error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(find("throw", 0, reply).error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_TRUE(find("timer", 8, reply).ok());
  EXPECT_EQ(reply.number(), 9);
}

TEST_F(coroutines, MethodsWithStreamsAreCoroutines) {
  grpc::ClientContext writes, reads, talks;
  for (auto* const c : {&writes, &reads, &talks}) set_deadline(*c);
  Summary summary;
  const auto writer = stub->ClientStream(&writes, &summary);
  for (int i = 0; i != 3; ++i) EXPECT_TRUE(writer->Write(Position()));
  writer->WritesDone();
  EXPECT_TRUE(writer->Finish().ok());
  EXPECT_EQ(summary.positions(), 3);
  Query request;
  request.set_number(3);
  const auto reader = stub->ServerStream(&reads, request);
  Reply reply;
  int replies = 0;
  while (reader->Read(&reply)) EXPECT_EQ(reply.number(), ++replies);
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(replies, 3);
  const auto stream = stub->BidiStream(&talks);
  Note note;
  note.set_text("ahoy");
  for (int i = 0; i != 3; ++i) {
    EXPECT_TRUE(stream->Write(note));
    EXPECT_TRUE(stream->Read(&note));
    EXPECT_EQ(note.text(), "ahoy");
  }
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

}  // namespace agrpc_tests::reactors_test
