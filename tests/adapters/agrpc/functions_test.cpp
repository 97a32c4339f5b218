// The functions of version 2 over the responders of grpc++, and the handlers of repeatedly_request().

#include "agrpc_fixture.hpp"

#include <agrpc/high_level_client.hpp>

#include "call_kinds_mock.grpc.pb.h"

#include <map>
#include <memory_resource>
#include <vector>

namespace agrpc_tests::functions_test {

using call_kinds::CallKinds;
using call_kinds::Note;
using call_kinds::Position;
using call_kinds::Query;
using call_kinds::Reply;
using call_kinds::Summary;
using service_type = CallKinds::AsyncService;

// Counts what is taken from it.
class counting_memory : public std::pmr::memory_resource {
 public:
  int allocations = 0;
  int in_use = 0;

 private:
  void* do_allocate(std::size_t size, std::size_t alignment) override {
    ++allocations;
    ++in_use;
    return std::pmr::new_delete_resource()->allocate(size, alignment);
  }
  void do_deallocate(void* memory, std::size_t size, std::size_t alignment) override {
    --in_use;
    std::pmr::new_delete_resource()->deallocate(memory, size, alignment);
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }
};

class functions : public agrpc_fixture {
 public:
  // The handlers that most tests call.
  void answer() {
    agrpc::repeatedly_request(
        &service_type::RequestUnary, service,
        asio::bind_executor(context(),
                            [](grpc::ServerContext&, Query& query,
                               grpc::ServerAsyncResponseWriter<Reply>& writer) -> asio::awaitable<void> {
                              Reply reply;
                              reply.set_name(query.ask());
                              if (query.ask() == "error") {
                                co_await agrpc::finish_with_error(writer, grpc::Status::CANCELLED);
                              } else {
                                EXPECT_TRUE(co_await agrpc::send_initial_metadata(writer));
                                co_await agrpc::finish(writer, reply, grpc::Status::OK);
                              }
                            }));
    agrpc::repeatedly_request(
        &service_type::RequestClientStream, service,
        asio::bind_executor(context(),
                            [](grpc::ServerContext&,
                               grpc::ServerAsyncReader<Summary, Position>& reader) -> asio::awaitable<void> {
                              Position position;
                              Summary summary;
                              while (co_await agrpc::read(reader, position)) {
                                summary.set_positions(summary.positions() + 1);
                                summary.set_distance(summary.distance() + position.north());
                              }
                              if (summary.positions() == 0) {
                                co_await agrpc::finish_with_error(
                                    reader, grpc::Status(grpc::StatusCode::NOT_FOUND, "no position"));
                                co_return;
                              }
                              co_await agrpc::finish(reader, summary, grpc::Status::OK);
                            }));
    agrpc::repeatedly_request(
        &service_type::RequestServerStream, service,
        asio::bind_executor(context(),
                            [](grpc::ServerContext&, Query& query,
                               grpc::ServerAsyncWriter<Reply>& writer) -> asio::awaitable<void> {
                              Reply reply;
                              for (int i = 0; i != query.number(); ++i) {
                                reply.set_number(i);
                                if (!co_await agrpc::write(writer, reply)) co_return;
                              }
                              if (query.ask() == "coalesced") {
                                reply.set_name("last");
                                co_await agrpc::write_and_finish(writer, reply, grpc::WriteOptions{},
                                                                 grpc::Status::OK);
                              } else {
                                co_await agrpc::finish(writer, grpc::Status::OK);
                              }
                            }));
    agrpc::repeatedly_request(
        &service_type::RequestBidiStream, service,
        asio::bind_executor(
            context(),
            [](grpc::ServerContext&,
               grpc::ServerAsyncReaderWriter<Note, Note>& reader_writer) -> asio::awaitable<void> {
              Note note;
              while (co_await agrpc::read(reader_writer, note)) {
                note.set_text(note.text() + "!");
                if (!co_await agrpc::write(reader_writer, note, grpc::WriteOptions().set_no_compression()))
                  co_return;
              }
              note.set_text("bye");
              co_await agrpc::write_last(reader_writer, note, grpc::WriteOptions{});
              co_await agrpc::finish(reader_writer, grpc::Status::OK);
            }));
  }
};

TEST_F(functions, UnaryCallsAreRequestedAndFinished) {
  answer();
  run([&]() -> asio::awaitable<void> {
    grpc::ClientContext client_context;
    set_deadline(client_context);
    Query request;
    request.set_ask("brig");
    std::unique_ptr<grpc::ClientAsyncResponseReader<Reply>> reader =
        agrpc::request(&CallKinds::Stub::AsyncUnary, *stub, client_context, request, context());
    const bool read_ok = co_await agrpc::read_initial_metadata(reader, asio::use_awaitable);
    EXPECT_TRUE(read_ok);
    Reply response;
    grpc::Status status;
    const bool finish_ok = co_await agrpc::finish(reader, response, status, asio::use_awaitable);
    EXPECT_TRUE(finish_ok && status.ok()) << status.error_message();
    EXPECT_EQ(response.name(), "brig");

    grpc::ClientContext second_context;
    request.set_ask("error");
    const auto second =
        agrpc::request(&CallKinds::Stub::AsyncUnary, stub, second_context, request, context());
    co_await agrpc::finish(second, response, status);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
  });
}

TEST_F(functions, ClientStreamsAreWritten) {
  answer();
  run([&]() -> asio::awaitable<void> {
    grpc::ClientContext client_context;
    Summary response;
    std::unique_ptr<grpc::ClientAsyncWriter<Position>> writer;
    EXPECT_TRUE(co_await agrpc::request(&CallKinds::Stub::PrepareAsyncClientStream, *stub, client_context,
                                        writer, response, asio::use_awaitable));
    Position request;
    request.set_north(1);
    while (co_await agrpc::write(writer, request) && request.north() < 42)
      request.set_north(request.north() + 1);
    EXPECT_TRUE(co_await agrpc::writes_done(writer));
    grpc::Status status;
    EXPECT_TRUE(co_await agrpc::finish(writer, status));
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.positions(), 42);

    grpc::ClientContext second_context;
    auto [second, request_ok] = co_await agrpc::request(&CallKinds::Stub::AsyncClientStream, *stub,
                                                        second_context, response, asio::use_awaitable);
    EXPECT_TRUE(request_ok);
    EXPECT_TRUE(co_await agrpc::write_last(second, request, grpc::WriteOptions{}));
    EXPECT_TRUE(co_await agrpc::finish(second, status));
    EXPECT_EQ(response.distance(), 42);

    grpc::ClientContext empty_context;
    co_await agrpc::request(&CallKinds::Stub::PrepareAsyncClientStream, stub, empty_context, writer,
                            response);
    co_await agrpc::writes_done(writer);
    co_await agrpc::finish(writer, status);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  });
}

TEST_F(functions, ServerStreamsAreRead) {
  answer();
  run([&]() -> asio::awaitable<void> {
    for (const char* ask : {"", "coalesced"}) {
      grpc::ClientContext client_context;
      Query request;
      request.set_ask(ask);
      request.set_number(3);
      std::unique_ptr<grpc::ClientAsyncReader<Reply>> reader;
      EXPECT_TRUE(co_await agrpc::request(&CallKinds::Stub::PrepareAsyncServerStream, *stub, client_context,
                                          request, reader));
      Reply response;
      int replies = 0;
      while (co_await agrpc::read(reader, response)) ++replies;
      EXPECT_EQ(replies, request.ask().empty() ? 3 : 4);
      grpc::Status status;
      co_await agrpc::finish(reader, status);
      EXPECT_TRUE(status.ok()) << status.error_message();
    }
    grpc::ClientContext client_context;
    Query request;
    auto [reader, request_ok] = co_await agrpc::request(&CallKinds::Stub::AsyncServerStream, *stub,
                                                        client_context, request, asio::use_awaitable);
    EXPECT_TRUE(request_ok);
    Reply response;
    EXPECT_FALSE(co_await agrpc::read(reader, response));
    grpc::Status status;
    EXPECT_TRUE(co_await agrpc::finish(reader, status));
  });
}

TEST_F(functions, BidirectionalStreamsReadAndWriteAtTheSameTime) {
  answer();
  run([&]() -> asio::awaitable<void> {
    using namespace asio::experimental::awaitable_operators;
    grpc::ClientContext client_context;
    std::unique_ptr<grpc::ClientAsyncReaderWriter<Note, Note>> reader_writer;
    EXPECT_TRUE(co_await agrpc::request(&CallKinds::Stub::PrepareAsyncBidiStream, *stub, client_context,
                                        reader_writer));
    Note request, response;
    for (int i = 0; i < 3; ++i) {
      request.set_text(std::to_string(i));
      const auto [read_ok, write_ok] =
          co_await (agrpc::read(reader_writer, response) && agrpc::write(reader_writer, request));
      EXPECT_TRUE(read_ok && write_ok);
      EXPECT_EQ(response.text(), request.text() + "!");
    }
    EXPECT_TRUE(co_await agrpc::writes_done(reader_writer));
    EXPECT_TRUE(co_await agrpc::read(reader_writer, response));
    EXPECT_EQ(response.text(), "bye");
    EXPECT_FALSE(co_await agrpc::read(reader_writer, response));
    grpc::Status status;
    co_await agrpc::finish(reader_writer, status);
    EXPECT_TRUE(status.ok()) << status.error_message();

    grpc::ClientContext second_context;
    auto [second, request_ok] =
        co_await agrpc::request(&CallKinds::Stub::PrepareAsyncBidiStream, *stub, second_context);
    EXPECT_TRUE(request_ok);
    EXPECT_TRUE(co_await agrpc::write_last(second, request, grpc::WriteOptions{}));
    while (co_await agrpc::read(second, response)) continue;
    co_await agrpc::finish(second, status);
    EXPECT_TRUE(status.ok()) << status.error_message();
  });
}

TEST_F(functions, ACorkedStreamBeginsWithItsFirstMessageAndANullTag) {
  answer();
  run([&]() -> asio::awaitable<void> {
    grpc::Status status;
    {
      grpc::ClientContext client_context;
      set_deadline(client_context);
      client_context.set_initial_metadata_corked(true);
      Summary response;
      auto writer = stub->AsyncClientStream(&client_context, &response,
                                            agrpc::get_completion_queue(context()), nullptr);
      Position request;
      request.set_north(20);
      EXPECT_TRUE(co_await agrpc::write(writer, request));
      request.set_north(22);
      EXPECT_TRUE(co_await agrpc::write_last(writer, request, grpc::WriteOptions{}));
      EXPECT_TRUE(co_await agrpc::finish(writer, status));
      EXPECT_TRUE(status.ok()) << status.error_message();
      EXPECT_EQ(response.positions(), 2);
      EXPECT_EQ(response.distance(), 42);
    }
    grpc::ClientContext client_context;
    set_deadline(client_context);
    client_context.set_initial_metadata_corked(true);
    auto reader_writer =
        stub->AsyncBidiStream(&client_context, agrpc::get_completion_queue(context()), nullptr);
    Note request, response;
    request.set_text("cork");
    EXPECT_TRUE(co_await agrpc::write(reader_writer, request));
    EXPECT_TRUE(co_await agrpc::read(reader_writer, response));
    EXPECT_EQ(response.text(), "cork!");
    EXPECT_TRUE(co_await agrpc::writes_done(reader_writer));
    EXPECT_TRUE(co_await agrpc::read(reader_writer, response));
    EXPECT_EQ(response.text(), "bye");
    EXPECT_TRUE(co_await agrpc::finish(reader_writer, status));
    EXPECT_TRUE(status.ok()) << status.error_message();
  });
}

TEST_F(functions, ATokenMayHaveAnAllocator) {
  answer();
  counting_memory memory;
  run([&]() -> asio::awaitable<void> {
    const std::pmr::polymorphic_allocator<std::byte> my_allocator(&memory);
    grpc::ClientContext client_context;
    set_deadline(client_context);
    std::unique_ptr<grpc::ClientAsyncWriter<Position>> writer;
    Summary response;
    EXPECT_TRUE(co_await agrpc::request(&CallKinds::Stub::PrepareAsyncClientStream, *stub, client_context,
                                        writer, response));
    const Position request;
    EXPECT_TRUE(co_await agrpc::write(writer, request));
    EXPECT_EQ(memory.allocations, 0);
    EXPECT_TRUE(
        co_await agrpc::writes_done(writer, agrpc::bind_allocator(my_allocator, asio::use_awaitable)));
    EXPECT_GT(memory.allocations, 0);
    grpc::Status status;
    EXPECT_TRUE(co_await agrpc::finish(
        writer, status,
        agrpc::bind_allocator(my_allocator, asio::bind_executor(context(), asio::use_awaitable))));
    EXPECT_TRUE(status.ok()) << status.error_message();
  });
  EXPECT_EQ(memory.in_use, 0);
}

TEST_F(functions, WithoutAServerRequestIsFalseAndFinishSaysWhy) {
  const auto unreachable =
      CallKinds::NewStub(grpc::CreateChannel("127.0.0.1:1", grpc::InsecureChannelCredentials()));
  agrpc::GrpcContext alone;
  run_coroutines(alone, [&]() -> asio::awaitable<void> {
    grpc::ClientContext client_context;
    std::unique_ptr<grpc::ClientAsyncReader<Reply>> reader;
    Query request;
    EXPECT_FALSE(co_await agrpc::request(&CallKinds::Stub::PrepareAsyncServerStream, *unreachable,
                                         client_context, request, reader));
    grpc::Status status;
    co_await agrpc::finish(reader, status);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  });
}

TEST_F(functions, AServerCanRequestOneRpcAtATime) {
  int requests = 0;
  asio::co_spawn(
      context(),
      [&]() -> asio::awaitable<void> {
        for (;;) {
          grpc::ServerContext server_context;
          Query request;
          grpc::ServerAsyncResponseWriter<Reply> writer{&server_context};
          const bool request_ok = co_await agrpc::request(
              &service_type::RequestUnary, service, server_context, request, writer, asio::use_awaitable);
          if (!request_ok) break;
          ++requests;
          if (request.number() == 0) {  // nor has the response one
            EXPECT_TRUE(co_await agrpc::finish(writer, {}, grpc::Status::OK, asio::use_awaitable));
            continue;
          }
          Reply response;
          response.set_number(request.number());
          EXPECT_TRUE(co_await agrpc::finish(writer, response, grpc::Status::OK, asio::use_awaitable));
        }
      },
      rethrow());
  run([&]() -> asio::awaitable<void> {
    for (int i = 0; i < 3; ++i) {
      grpc::ClientContext client_context;
      Query request;
      request.set_number(i);
      const auto reader =
          agrpc::request(&CallKinds::Stub::AsyncUnary, *stub, client_context, request, context());
      Reply response;
      grpc::Status status;
      co_await agrpc::finish(reader, response, status);
      EXPECT_EQ(response.number(), i);
    }
  });
  EXPECT_EQ(requests, 3);
}

TEST_F(functions, NotifyWhenDoneSaysThatTheClientIsGone) {
  bool cancelled = false;
  asio::co_spawn(
      context(),
      [&]() -> asio::awaitable<void> {
        grpc::ServerContext server_context;
        bool done = false;
        agrpc::notify_when_done(context(), server_context, [&] {
          done = true;
          cancelled = server_context.IsCancelled();
        });
        grpc::ServerAsyncReaderWriter<Note, Note> reader_writer{&server_context};
        EXPECT_TRUE(co_await agrpc::request(&service_type::RequestBidiStream, service, server_context,
                                            reader_writer));
        EXPECT_TRUE(co_await agrpc::send_initial_metadata(reader_writer));
        Note note;
        EXPECT_FALSE(co_await agrpc::read(reader_writer, note));
        agrpc::Alarm alarm(context());
        while (!done) co_await alarm.wait(in(std::chrono::milliseconds(1)));
      },
      rethrow());
  run([&]() -> asio::awaitable<void> {
    grpc::ClientContext client_context;
    auto [reader_writer, ok] =
        co_await agrpc::request(&CallKinds::Stub::PrepareAsyncBidiStream, *stub, client_context);
    EXPECT_TRUE(co_await agrpc::read_initial_metadata(reader_writer));
    client_context.TryCancel();
    grpc::Status status;
    co_await agrpc::finish(reader_writer, status);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
  });
  EXPECT_TRUE(cancelled);
}

// A handler with an executor and an allocator, that keeps the RPC.
template <class Handler>
struct associated {
  using executor_type = agrpc::GrpcExecutor;
  using allocator_type = agrpc::GrpcContext::allocator_type;
  executor_type executor;
  Handler handler;
  template <class T>
  void operator()(agrpc::RepeatedlyRequestContext<T>&& request_context) {
    handler(std::move(request_context), executor);
  }
  [[nodiscard]] executor_type get_executor() const noexcept { return executor; }
  [[nodiscard]] allocator_type get_allocator() const noexcept { return {}; }
};
template <class Handler>
associated(agrpc::GrpcExecutor, Handler) -> associated<Handler>;

TEST_F(functions, RepeatedlyRequestWithCallbacksKeepsTheRpcInItsContext) {
  agrpc::repeatedly_request(
      &service_type::RequestUnary, service,
      associated{context().get_executor(), [](auto&& request_context, auto&& executor) {
                   auto& writer = request_context.responder();
                   Reply response;
                   response.set_name(request_context.request().ask());
                   EXPECT_EQ(&std::get<1>(request_context.args()), &request_context.request());
                   EXPECT_NE(request_context.server_context().peer(), "");
                   agrpc::finish(writer, response, grpc::Status::OK,
                                 asio::bind_executor(executor, [c = std::move(request_context)](bool) {}));
                 }});
  run([&]() -> asio::awaitable<void> {
    grpc::ClientContext client_context;
    Query request;
    request.set_ask("kept");
    const auto reader =
        agrpc::request(&CallKinds::Stub::AsyncUnary, *stub, client_context, request, context());
    Reply response;
    grpc::Status status;
    co_await agrpc::finish(reader, response, status);
    EXPECT_EQ(response.name(), "kept");
  });
}

TEST_F(functions, AnExceptionOfAHandlerLeavesRun) {
  agrpc::repeatedly_request(
      &service_type::RequestBidiStream, service,
      asio::bind_executor(context(),
                          [](grpc::ServerContext& server_context,
                             grpc::ServerAsyncReaderWriter<Note, Note>&) -> asio::awaitable<void> {
                            server_context.TryCancel();
                            throw std::runtime_error("of the handler");
                            co_return;
                          }));
  std::string thrown;
  asio::co_spawn(
      context(),
      [&]() -> asio::awaitable<void> {
        grpc::ClientContext client_context;
        auto [reader_writer, ok] =
            co_await agrpc::request(&CallKinds::Stub::PrepareAsyncBidiStream, *stub, client_context);
        grpc::Status status;
        co_await agrpc::finish(reader_writer, status);
        EXPECT_FALSE(status.ok());
        shut_down();
      },
      rethrow());
  try {
    context().run();
  } catch (const std::runtime_error& e) {
    thrown = e.what();
  }
  EXPECT_EQ(thrown, "of the handler");
  context().run();
}

TEST_F(functions, AMockOfAStubDrivesThemByProcessGrpcTag) {
  agrpc::GrpcContext alone;
  ::testing::NiceMock<call_kinds::MockCallKindsStub> mock;
  mock_reader reader(alone);  // a pointer of the API does not delete it, as those of calls are in arenas
  EXPECT_CALL(mock, AsyncUnaryRaw).WillOnce(::testing::Return(&reader));
  run_coroutines(alone, [&]() -> asio::awaitable<void> {
    grpc::ClientContext client_context;
    Query request;
    const auto found =
        agrpc::request(&CallKinds::StubInterface::AsyncUnary, mock, client_context, request, alone);
    Reply response;
    grpc::Status status(grpc::StatusCode::UNKNOWN, "");
    co_await agrpc::finish(found, response, status);
    EXPECT_TRUE(status.ok());
    EXPECT_EQ(response.number(), 42);
  });
}

TEST_F(functions, RpcsOfVersion2KnowTheirStatusWhenAnOperationFails) {
  answer();
  run([&]() -> asio::awaitable<void> {
    {
      grpc::ClientContext client_context;
      Query request;
      request.set_ask("two");
      Reply response;
      using RPC = agrpc::RPC<&CallKinds::Stub::PrepareAsyncUnary>;
      const grpc::Status status = co_await RPC::request(context(), *stub, client_context, request, response);
      EXPECT_TRUE(status.ok()) << status.error_message();
      EXPECT_EQ(response.name(), "two");
    }
    {
      using RPC = agrpc::RPC<&CallKinds::Stub::PrepareAsyncServerStream>;
      grpc::ClientContext client_context;
      Query request;
      request.set_number(2);
      auto rpc = co_await RPC::request(context(), *stub, client_context, request, asio::use_awaitable);
      EXPECT_TRUE(rpc.ok());
      RPC::Response response;
      int replies = 0;
      while (co_await rpc.read(response)) ++replies;
      EXPECT_EQ(replies, 2);
      EXPECT_EQ(rpc.status_code(), grpc::StatusCode::OK);
    }
    {
      using RPC = agrpc::RPC<&CallKinds::Stub::PrepareAsyncClientStream>;
      grpc::ClientContext client_context;
      RPC::Response response;
      auto rpc = co_await RPC::request(context(), *stub, client_context, response);
      RPC::Request request;
      EXPECT_TRUE(co_await rpc.write(request));
      EXPECT_TRUE(co_await rpc.write(request, grpc::WriteOptions{}.set_last_message()));
      EXPECT_TRUE(rpc.is_writes_done());
      EXPECT_TRUE(co_await rpc.finish());
      EXPECT_EQ(response.positions(), 2);
    }
    using RPC = agrpc::RPC<&CallKinds::Stub::PrepareAsyncBidiStream>;
    {
      grpc::ClientContext client_context;
      auto rpc = co_await RPC::request(context(), *stub, client_context);
      Note note;
      note.set_text("hey");
      EXPECT_TRUE(co_await rpc.write(note));
      EXPECT_TRUE(co_await rpc.read(note));
      EXPECT_EQ(note.text(), "hey!");
      EXPECT_TRUE(co_await rpc.writes_done());
      while (co_await rpc.read(note)) continue;
      EXPECT_TRUE(co_await rpc.finish());
      EXPECT_TRUE(rpc.ok());
    }
    {
      static_assert(
          std::same_as<RPC, agrpc::RPC<&CallKinds::Stub::PrepareAsyncBidiStream, agrpc::GrpcExecutor,
                                       agrpc::RPCType::CLIENT_BIDIRECTIONAL_STREAMING>>);
      EXPECT_EQ(RPC::service_name(), "call_kinds.CallKinds");
      EXPECT_EQ(RPC::method_name(), "BidiStream");
      grpc::ClientContext client_context;
      auto rpc = co_await RPC::request(context().get_executor(), *stub, client_context);
      // Beside its functions, those over responders.
      EXPECT_TRUE(co_await agrpc::write_last(rpc.responder(), Note(), grpc::WriteOptions{}));
      Note note;
      while (co_await rpc.read(note)) continue;
      EXPECT_EQ(note.text(), "bye");
      client_context.TryCancel();
    }
    const auto unreachable =
        CallKinds::NewStub(grpc::CreateChannel("127.0.0.1:1", grpc::InsecureChannelCredentials()));
    grpc::ClientContext client_context;
    const Query query;
    using list = agrpc::RPC<&CallKinds::Stub::PrepareAsyncServerStream>;
    auto rpc = co_await list::request(context(), *unreachable, client_context, query);
    EXPECT_FALSE(rpc.ok());
    EXPECT_EQ(rpc.status().error_code(), grpc::StatusCode::UNAVAILABLE);
  });
}

class generic_functions : public agrpc_fixture {
 protected:
  void SetUp() override { serve(true); }
};

TEST_F(generic_functions, MessagesAreBytes) {
  std::string method;
  agrpc::repeatedly_request(
      generic_service,
      asio::bind_executor(context(),
                          [&](grpc::GenericServerContext& server_context,
                              grpc::GenericServerAsyncReaderWriter& reader_writer) -> asio::awaitable<void> {
                            method = server_context.method();
                            grpc::ByteBuffer buffer;
                            EXPECT_TRUE(co_await agrpc::read(reader_writer, buffer));
                            EXPECT_TRUE(co_await agrpc::write(reader_writer, buffer));
                            co_await agrpc::finish(reader_writer, grpc::Status::OK);
                          }));
  grpc::GenericStub generic_stub(channel);
  run([&]() -> asio::awaitable<void> {
    const grpc::Slice slice("bytes");
    grpc::ByteBuffer request(&slice, 1), response;
    grpc::Status status;
    {
      grpc::ClientContext client_context;
      std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader =
          agrpc::request("/call_kinds.CallKinds/Unary", generic_stub, client_context, request, context());
      co_await agrpc::finish(reader, response, status);
      EXPECT_TRUE(status.ok()) << status.error_message();
      EXPECT_EQ(response.Length(), 5u);
      EXPECT_EQ(method, "/call_kinds.CallKinds/Unary");
    }
    grpc::ClientContext client_context;
    std::unique_ptr<grpc::GenericClientAsyncReaderWriter> reader_writer;
    EXPECT_TRUE(co_await agrpc::request("/call_kinds.CallKinds/BidiStream", generic_stub, client_context,
                                        reader_writer, asio::use_awaitable));
    EXPECT_TRUE(co_await agrpc::write(reader_writer, request));
    EXPECT_TRUE(co_await agrpc::read(reader_writer, response));
    EXPECT_FALSE(co_await agrpc::read(reader_writer, response));
    co_await agrpc::finish(reader_writer, status);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(method, "/call_kinds.CallKinds/BidiStream");

    grpc::ClientContext corked;
    set_deadline(corked);
    corked.set_initial_metadata_corked(true);
    reader_writer = generic_stub.PrepareCall(&corked, "/call_kinds.CallKinds/BidiStream",
                                             agrpc::get_completion_queue(context()));
    reader_writer->StartCall(nullptr);
    EXPECT_TRUE(co_await agrpc::write(reader_writer, request));
    response.Clear();
    EXPECT_TRUE(co_await agrpc::read(reader_writer, response));
    EXPECT_EQ(response.Length(), 5u);
    co_await agrpc::finish(reader_writer, status);
    EXPECT_TRUE(status.ok()) << status.error_message();
  });
}

// Sends the first message back, and keeps its RPC until then.
struct generic_echo {
  struct kept {
    agrpc::GenericRepeatedlyRequestContext<> rpc;
    grpc::ByteBuffer buffer;
  };
  agrpc::GrpcContext& context;
  void operator()(agrpc::GenericRepeatedlyRequestContext<>&& rpc_context) const {
    const auto of = std::make_shared<kept>(std::move(rpc_context));
    agrpc::read(of->rpc.responder(), of->buffer, asio::bind_executor(context, [of, &on = context](bool ok) {
                  EXPECT_TRUE(ok);
                  EXPECT_TRUE(of->rpc.server_context().method().starts_with("/call_kinds.CallKinds/"));
                  agrpc::write_and_finish(of->rpc.responder(), of->buffer, grpc::WriteOptions{},
                                          grpc::Status::OK, asio::bind_executor(on, [of](bool) {}));
                }));
  }
};

TEST_F(generic_functions, RpcsOfVersion2AndContextsOfCallbacksAreGeneric) {
  agrpc::repeatedly_request(generic_service, asio::bind_executor(context(), generic_echo{context()}));
  grpc::GenericStub generic_stub(channel);
  run([&]() -> asio::awaitable<void> {
    const grpc::Slice slice("bytes");
    const grpc::ByteBuffer request(&slice, 1);
    grpc::ByteBuffer response;
    {
      using RPC = agrpc::RPC<agrpc::CLIENT_GENERIC_UNARY_RPC>;
      grpc::ClientContext client_context;
      set_deadline(client_context);
      const grpc::Status status = co_await RPC::request(context(), "/call_kinds.CallKinds/Unary",
                                                        generic_stub, client_context, request, response);
      EXPECT_TRUE(status.ok()) << status.error_message();
      EXPECT_EQ(response.Length(), 5u);
    }
    response.Clear();
    grpc::ClientContext client_context;
    set_deadline(client_context);
    auto rpc = co_await agrpc::RPC<agrpc::CLIENT_GENERIC_STREAMING_RPC>::request(
        context(), "/call_kinds.CallKinds/BidiStream", generic_stub, client_context, asio::use_awaitable);
    EXPECT_TRUE(rpc.ok());
    EXPECT_TRUE(co_await rpc.write(request));
    EXPECT_TRUE(co_await rpc.read(response));
    EXPECT_EQ(response.Length(), 5u);
    EXPECT_FALSE(co_await rpc.read(response));
    EXPECT_TRUE(co_await rpc.finish());
    EXPECT_EQ(rpc.status_code(), grpc::StatusCode::OK);
  });
}

}  // namespace agrpc_tests::functions_test
