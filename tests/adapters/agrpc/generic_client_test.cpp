// Calls in bytes to a service of generated code, by the functions of both versions.

#include "agrpc_fixture.hpp"

namespace agrpc_tests::generic_client_test {

using call_kinds::CallKinds;
using call_kinds::Note;
using call_kinds::Query;
using call_kinds::Reply;

template <class Message>
grpc::ByteBuffer bytes_of(const Message& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return {&slice, 1};
}
template <class Message>
Message message_of(const grpc::ByteBuffer& bytes) {
  grpc::Slice slice;
  EXPECT_TRUE(bytes.DumpToSingleSlice(&slice).ok());
  Message message;
  EXPECT_TRUE(message.ParseFromArray(slice.begin(), static_cast<int>(slice.size())));
  return message;
}

class generic_client : public agrpc_fixture {
 public:
  void answer() {
    using find = agrpc::ServerRPC<&CallKinds::AsyncService::RequestUnary>;
    agrpc::register_awaitable_rpc_handler<find>(
        context(), service,
        [](find& rpc, Query& query) -> asio::awaitable<void> {
          Reply reply;
          reply.set_number(query.number() + 1);
          co_await rpc.finish(reply, grpc::Status::OK);
        },
        rethrow());
    using talk = agrpc::ServerRPC<&CallKinds::AsyncService::RequestBidiStream>;
    agrpc::register_awaitable_rpc_handler<talk>(
        context(), service,
        [](talk& rpc) -> asio::awaitable<void> {
          Note note;
          while (co_await rpc.read(note)) {
            note.set_text("re: " + note.text());
            if (!co_await rpc.write(note)) co_return;
          }
          co_await rpc.finish(grpc::Status::OK);
        },
        rethrow());
  }

 protected:
  void SetUp() override {
    agrpc_fixture::SetUp();
    answer();
    request = bytes_of([] {
      Query query;
      query.set_number(7);
      return query;
    }());
    first_note = bytes_of([] {
      Note note;
      note.set_text("ahoy");
      return note;
    }());
  }
  grpc::ByteBuffer request;
  grpc::ByteBuffer first_note;
};

TEST_F(generic_client, RpcsOfVersion3SendAndReceiveBytes) {
  grpc::GenericStub generic_stub(channel);
  run([&]() -> asio::awaitable<void> {
    using unary = agrpc::GenericUnaryClientRPC;
    grpc::ByteBuffer response;
    {
      grpc::ClientContext client_context;
      set_deadline(client_context);
      const auto status = co_await unary::request(context(), "/call_kinds.CallKinds/Unary", generic_stub,
                                                  client_context, request, response);
      EXPECT_TRUE(status.ok()) << status.error_message();
      EXPECT_EQ(message_of<Reply>(response).number(), 8);
    }
    {
      unary rpc{context()};
      set_deadline(rpc.context());
      rpc.start("/call_kinds.CallKinds/Unary", generic_stub, request);
      EXPECT_TRUE(co_await rpc.read_initial_metadata());
      const auto status = co_await rpc.finish(response);
      EXPECT_TRUE(status.ok()) << status.error_message();
      EXPECT_EQ(message_of<Reply>(response).number(), 8);
    }
    {
      grpc::ClientContext client_context;
      set_deadline(client_context);
      const auto status = co_await unary::request(context(), "/call_kinds.CallKinds/Sink", generic_stub,
                                                  client_context, request, response);
      EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
    }
    agrpc::GenericStreamingClientRPC rpc{context()};
    set_deadline(rpc.context());
    EXPECT_TRUE(co_await rpc.start("/call_kinds.CallKinds/BidiStream", generic_stub));
    for (int i = 0; i != 3; ++i) {
      EXPECT_TRUE(co_await rpc.write(first_note));
      EXPECT_TRUE(co_await rpc.read(response));
      EXPECT_EQ(message_of<Note>(response).text(), "re: ahoy");
    }
    EXPECT_TRUE(co_await rpc.writes_done());
    EXPECT_FALSE(co_await rpc.read(response));
    const auto status = co_await rpc.finish();
    EXPECT_TRUE(status.ok()) << status.error_message();
  });
}

TEST_F(generic_client, FunctionsOfVersion2SendAndReceiveBytes) {
  grpc::GenericStub generic_stub(channel);
  run([&]() -> asio::awaitable<void> {
    grpc::ByteBuffer response;
    grpc::Status status;
    {
      grpc::ClientContext client_context;
      set_deadline(client_context);
      const auto reader =
          agrpc::request("/call_kinds.CallKinds/Unary", generic_stub, client_context, request, context());
      EXPECT_TRUE(co_await agrpc::finish(reader, response, status));
      EXPECT_TRUE(status.ok()) << status.error_message();
      EXPECT_EQ(message_of<Reply>(response).number(), 8);
    }
    grpc::ClientContext client_context;
    set_deadline(client_context);
    std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream;
    EXPECT_TRUE(
        co_await agrpc::request("/call_kinds.CallKinds/BidiStream", generic_stub, client_context, stream));
    EXPECT_TRUE(co_await agrpc::write(stream, first_note));
    EXPECT_TRUE(co_await agrpc::writes_done(stream));
    EXPECT_TRUE(co_await agrpc::read(stream, response));
    EXPECT_EQ(message_of<Note>(response).text(), "re: ahoy");
    EXPECT_FALSE(co_await agrpc::read(stream, response));
    EXPECT_TRUE(co_await agrpc::finish(stream, status));
    EXPECT_TRUE(status.ok()) << status.error_message();
  });
}

}  // namespace agrpc_tests::generic_client_test
