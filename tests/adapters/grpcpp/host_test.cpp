// Services of grpc++'s API on servers of Coracle's, and their messages as JSON.
#include "call_kinds_fixture.hpp"
#include "callbacks_service.hpp"
#include "support/raw_http.hpp"

#include "coracle/client.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/client/sync_wait.hpp"
#include "coracle/grpcpp.hpp"
#include "coracle/rpc/message_codec.hpp"
#include "coracle/server.hpp"

#include <gmock/gmock.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/support/method_handler.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace coracle::testing_support::host_test {
namespace {

using call_kinds::CallKinds;
using call_kinds::Note;
using call_kinds::Position;
using call_kinds::Query;
using call_kinds::Reply;
using call_kinds::Summary;
using call_kinds::Unimplemented;

// A service on a coracle::server with the codec of JSON.
template <class Service>
class hosted {
 public:
  hosted() {
    server_options options;
    options.codecs = {&json_codec()};
    server_.emplace(runtime_, options);
    server_->add(host_->adapt(service));
    const status listening = server_->listen("127.0.0.1:0", insecure());
    EXPECT_TRUE(listening.ok()) << listening;
    server_->start();
    address = "127.0.0.1:" + std::to_string(server_->port());
  }
  void destroy_server() { server_.reset(); }
  void destroy_host() { host_.reset(); }

  Service service;
  std::string address;

 private:
  std::optional<grpcpp_host> host_{std::in_place};
  runtime runtime_;
  std::optional<coracle::server> server_;
};

raw_http::response answer(const std::string& address, const std::string& request_line,
                          const std::string& fields, const std::string& body = "") {
  runtime on;
  return raw_http::parse(sync_wait(
      on, raw_http::exchange(address, request_line + " HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n" +
                                          fields + "content-length: " + std::to_string(body.size()) +
                                          "\r\n\r\n" + body)));
}

template <class Service>
class GrpcppHost : public ::testing::Test {};
using both_apis = ::testing::Types<call_kinds::call_kinds_service, call_kinds::callback_call_kinds>;
TYPED_TEST_SUITE(GrpcppHost, both_apis);

TYPED_TEST(GrpcppHost, CallsOfAllKindsAreAnswered) {
  hosted<TypeParam> on;
  const auto stub = CallKinds::NewStub(grpc::CreateChannel(on.address, grpc::InsecureChannelCredentials()));
  Reply reply;
  grpc::ClientContext finding;
  finding.AddMetadata("trail-x", "1");
  ASSERT_TRUE(stub->Unary(&finding, query_of("hello", 7), &reply).ok());
  EXPECT_EQ(reply.number(), 7);
  EXPECT_EQ(finding.GetServerTrailingMetadata().count("trail-x"), 1u);
  grpc::ClientContext failing;
  EXPECT_EQ(stub->Unary(&failing, query_of("error", 5, "details"), &reply).error_code(),
            grpc::StatusCode::NOT_FOUND);
  grpc::ClientContext listing;
  const auto reader = stub->ServerStream(&listing, query_of("", 3));
  int listed = 0;
  while (reader->Read(&reply)) ++listed;
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(listed, 3);
  grpc::ClientContext recording;
  Summary summary;
  const auto writer = stub->ClientStream(&recording, &summary);
  Position position;
  position.set_north(3);
  EXPECT_TRUE(writer->Write(position));
  EXPECT_TRUE(writer->Write(position));
  writer->WritesDone();
  EXPECT_TRUE(writer->Finish().ok());
  EXPECT_EQ(summary.distance(), 6);
  grpc::ClientContext talking;
  const auto stream = stub->BidiStream(&talking);
  Note note;
  note.set_text("hello");
  stream->Write(note);
  ASSERT_TRUE(stream->Read(&note));
  EXPECT_EQ(note.text(), "you said hello");
  stream->WritesDone();
  ASSERT_TRUE(stream->Read(&note));
  EXPECT_EQ(note.text(), "goodbye");
  EXPECT_FALSE(stream->Read(&note));
  EXPECT_TRUE(stream->Finish().ok());
}

TYPED_TEST(GrpcppHost, MessagesOfAllKindsOfCallsMayBeJson) {
  hosted<TypeParam> on;
  for (const call_protocol protocol : {call_protocol::connect, call_protocol::grpc}) {
    channel_options options;
    options.protocol = protocol;
    const channel to(on.address, insecure(), options);
    const generic_stub any(to);
    call_options json;
    json.codec = &json_codec();
    const Query query = query_of("hello", 2, "\x01\xff");
    const auto found = sync_wait(any.unary<Reply>("/call_kinds.CallKinds/Unary", query, json));
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->name(), "hello");
    EXPECT_EQ(sync_wait(any.unary<Reply>("/call_kinds.CallKinds/Unary", query_of("error", 5), json))
                  .status()
                  .code(),
              status_code::not_found);
    auto listing = any.server_streaming<Reply>("/call_kinds.CallKinds/ServerStream", query, json);
    std::vector<int> numbers;
    while (const auto reply = sync_wait(listing.next()).value()) numbers.push_back(reply->number());
    EXPECT_THAT(numbers, ::testing::ElementsAre(0, 1));
    auto recording = any.client_streaming<Position, Summary>("/call_kinds.CallKinds/ClientStream", json);
    Position position;
    position.set_north(-4);
    EXPECT_TRUE(sync_wait(recording.write(position)).ok());
    EXPECT_TRUE(sync_wait(recording.write(position)).ok());
    const auto summary = sync_wait(recording.finish());
    ASSERT_TRUE(summary.ok()) << summary.status();
    EXPECT_EQ(summary->distance(), 8);
    auto talking = any.bidi<Note, Note>("/call_kinds.CallKinds/BidiStream", json);
    Note note;
    note.set_text("hello");
    EXPECT_TRUE(sync_wait(talking.write(note)).ok());
    sync_wait(talking.writes_done());
    std::vector<std::string> heard;
    while (const auto said = sync_wait(talking.next()).value()) heard.push_back(said->text());
    EXPECT_THAT(heard, ::testing::ElementsAre("you said hello", "goodbye"));
  }
}

TYPED_TEST(GrpcppHost, TextThatIsNoMessageEndsTheCall) {
  hosted<TypeParam> on;
  const auto unary = answer(on.address, "POST /call_kinds.CallKinds/Unary",
                            "content-type: application/json\r\n", R"({"number": "many"})");
  EXPECT_EQ(unary.status(), 400);
  EXPECT_EQ(unary.body, R"({"code":"invalid_argument","message":"field number: \"many\" is no int32"})");
  const channel to(on.address, insecure());
  const generic_stub any(to);
  call_options json;
  json.codec = &json_codec();
  auto talking = any.bidi("/call_kinds.CallKinds/BidiStream", json);
  EXPECT_TRUE(sync_wait(talking.write(bytes_message(std::string(R"({"text":"a"})")))).ok());
  const auto first = sync_wait(talking.next()).value();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->bytes(), R"({"text":"you said a"})");
  EXPECT_TRUE(sync_wait(talking.write(bytes_message(std::string("{")))).ok());
  const auto ended = sync_wait(talking.next());
  EXPECT_EQ(ended.status().code(), status_code::invalid_argument) << ended.status();
}

TEST(GrpcppHosts, AServiceWithQueuesIsRefused) {
  CallKinds::WithAsyncMethod_Unary<CallKinds::Service> service;
  grpcpp_host host;
  try {
    static_cast<void>(host.adapt(service));
    FAIL() << "it was adapted";
  } catch (const usage_error& e) {
    EXPECT_THAT(e.what(),
                ::testing::HasSubstr("/call_kinds.CallKinds/Unary is answered by completion queues"));
  }
}

class lingering final : public CallKinds::Service {
 public:
  grpc::Status Unary(grpc::ServerContext* context, const Query*, Reply*) override {
    context->AddInitialMetadata("entered", "1");
    entered.store(true);
    entered.notify_all();
    while (!context->IsCancelled()) std::this_thread::yield();
    ended = true;
    return grpc::Status::OK;
  }
  std::atomic<bool> entered{false};
  std::atomic<bool> ended{false};
};

TEST(GrpcppHosts, HandlersEndBeforeTheHostIsDestroyed) {
  hosted<lingering> on;
  const auto stub = CallKinds::NewStub(grpc::CreateChannel(on.address, grpc::InsecureChannelCredentials()));
  std::thread calling([&] {
    grpc::ClientContext context;
    Reply reply;
    EXPECT_FALSE(stub->Unary(&context, Query(), &reply).ok());
  });
  on.service.entered.wait(false);
  on.destroy_server();
  on.destroy_host();
  EXPECT_TRUE(on.service.ended);
  calling.join();
}

// A service whose method no .proto file of the program has.
class unlinked final : public grpc::Service {
 public:
  unlinked() {
    AddMethod(new grpc::internal::RpcServiceMethod(
        "/un.Linked/Get", grpc::internal::RpcMethod::NORMAL_RPC,
        new grpc::internal::RpcMethodHandler<unlinked, Query, Reply, google::protobuf::MessageLite,
                                             google::protobuf::MessageLite>(
            [](unlinked*, grpc::ServerContext*, const Query* query, Reply* reply) {
              reply->set_name(query->ask());
              return grpc::Status::OK;
            },
            this)));
  }
};

TEST(GrpcppHosts, JsonNeedsTheDescriptor) {
  const hosted<unlinked> on;
  const channel to(on.address, insecure());
  const generic_stub any(to);
  const auto found = sync_wait(any.unary<Reply>("/un.Linked/Get", query_of("hello")));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->name(), "hello");
  call_options json;
  json.codec = &json_codec();
  EXPECT_EQ(sync_wait(any.unary<Reply>("/un.Linked/Get", query_of("hello"), json)).status().code(),
            status_code::unimplemented);
}

// --- generic services, which see bytes alone

// What a generic service saw, and answered.
std::string answer_to(const grpc::ByteBuffer& request, grpc::ByteBuffer& reply) {
  std::string seen = request.bytes();
  Note note;
  if (!note.ParseFromString(seen)) {
    reply = request;
    return seen;
  }
  note.set_text("re: " + note.text());
  const grpc::Slice slice(note.SerializeAsString());
  reply = grpc::ByteBuffer(&slice, 1);
  return note.text();
}

class answering_service final : public grpc::CallbackGenericService {
  class answers final : public grpc::ServerGenericBidiReactor {
   public:
    answers() { StartRead(&message_); }

   private:
    void OnReadDone(bool ok) override {
      if (!ok) return Finish(grpc::Status::OK);
      answer_to(message_, reply_);
      StartWrite(&reply_);
    }
    void OnWriteDone(bool ok) override {
      if (ok) StartRead(&message_);
    }
    void OnDone() override { delete this; }
    grpc::ByteBuffer message_;
    grpc::ByteBuffer reply_;
  };
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    return new answers;
  }
};

// A server with a generic service alone.
class GenericServices : public ::testing::Test {
 protected:
  template <class Register>
  void start(bool web, Register add) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    if (web) builder.AddChannelArgument(CORACLE_ARG_WEB, 1);
    add(builder);
    server = builder.BuildAndStart();
    ASSERT_NE(server, nullptr);
    address = "127.0.0.1:" + std::to_string(port);
  }
  void start(bool web) {
    start(web, [this](grpc::ServerBuilder& builder) { builder.RegisterCallbackGenericService(&service); });
  }
  [[nodiscard]] channel to(call_protocol protocol) const {
    channel_options options;
    options.protocol = protocol;
    return channel(address, insecure(), options);
  }
  static call_options json() {
    call_options options;
    options.codec = &json_codec();
    return options;
  }
  // One message to the method, and the reply or the status.
  static std::string answer_of(const channel& to, const char* method, std::string message) {
    const generic_stub any(to);
    auto talking = any.bidi(method, json());
    static_cast<void>(
        sync_wait(talking.write(bytes_message(std::move(message)))));  // may be refused meanwhile
    sync_wait(talking.writes_done());
    const auto reply = sync_wait(talking.next());
    if (!reply.ok()) return reply.status().to_string();
    EXPECT_TRUE(sync_wait(talking.finish()).ok());
    return *reply ? std::string((*reply)->bytes()) : "nothing";
  }
  void TearDown() override { server.reset(); }

  answering_service service;
  std::string address;
  std::unique_ptr<grpc::Server> server;
};

TEST_F(GenericServices, HaveJsonAsBinaryMessagesOfLinkedMethods) {
  start(true);
  for (const call_protocol protocol :
       {call_protocol::connect, call_protocol::grpc_web, call_protocol::grpc}) {
    const channel by = to(protocol);
    EXPECT_EQ(answer_of(by, "/call_kinds.CallKinds/BidiStream", R"({"text":"hello"})"),
              R"({"text":"re: hello"})");
    EXPECT_THAT(answer_of(by, "/call_kinds.CallKinds/BidiStream", R"({"text":1})"),
                ::testing::HasSubstr("INVALID_ARGUMENT"));
  }
}

TEST_F(GenericServices, RefuseJsonOfOtherMethods) {
  start(true);
  for (const call_protocol protocol :
       {call_protocol::connect, call_protocol::grpc_web, call_protocol::grpc}) {
    const channel by = to(protocol);
    for (const char* const method :
         {"/un.Linked/BidiStream", "/call_kinds.CallKinds/Nothing", "/call_kinds.CallKinds.BidiStream"})
      EXPECT_THAT(answer_of(by, method, R"({"text":"hello"})"), ::testing::HasSubstr("UNIMPLEMENTED"));
  }
}

TEST_F(GenericServices, PassJsonAsItIsWithoutTheWeb) {
  start(false);
  const channel by = to(call_protocol::grpc);
  EXPECT_EQ(answer_of(by, "/un.Linked/BidiStream", R"({"text":"hello"})"), R"({"text":"hello"})");
  EXPECT_EQ(answer_of(by, "/call_kinds.CallKinds/BidiStream", R"({"text":"hello"})"), R"({"text":"hello"})");
}

TEST_F(GenericServices, OfQueuesHaveJsonAsBinaryMessages) {
  grpc::AsyncGenericService requested;
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  start(true, [&](grpc::ServerBuilder& builder) {
    builder.RegisterAsyncGenericService(&requested);
    queue = builder.AddCompletionQueue();
  });
  std::string reply;
  std::thread calling([&] {
    reply = answer_of(to(call_protocol::connect), "/call_kinds.CallKinds/BidiStream", R"({"text":"hello"})");
  });
  const auto taken = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue->Next(&tag, &ok) && ok;
  };
  grpc::GenericServerContext context;
  grpc::GenericServerAsyncReaderWriter stream(&context);
  requested.RequestCall(&context, &stream, queue.get(), queue.get(), nullptr);
  EXPECT_TRUE(taken());
  grpc::ByteBuffer message;
  stream.Read(&message, nullptr);
  EXPECT_TRUE(taken());
  grpc::ByteBuffer answered;
  EXPECT_EQ(answer_to(message, answered), "re: hello");
  stream.WriteAndFinish(answered, grpc::WriteOptions(), grpc::Status::OK, nullptr);
  EXPECT_TRUE(taken());
  calling.join();
  EXPECT_EQ(reply, R"({"text":"re: hello"})");
  server->Shutdown();
  queue->Shutdown();
  EXPECT_FALSE(taken());
  server.reset();
}

TEST_F(GenericServices, AnswerStreamsAloneOfConnect) {
  start(true);
  const auto unary =
      answer(address, "POST /call_kinds.CallKinds/Unary", "content-type: application/json\r\n", "{}");
  EXPECT_EQ(unary.status(), 415);
  EXPECT_THAT(unary.body, ::testing::HasSubstr("application/connect+CODEC"));
}

class unimplemented final : public Unimplemented::CallbackService {
  grpc::ServerUnaryReactor* Call(grpc::CallbackServerContext* context, const Query* query,
                                 Reply* reply) override {
    reply->set_name("seen by " + query->ask());
    auto* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

TEST(GrpcppHosts, MethodsWithoutSideEffectsAnswerGet) {
  const hosted<unimplemented> on;
  const auto shone = answer(
      on.address,
      "GET /call_kinds.Unimplemented/Call?connect=v1&encoding=json&message=%7B%22ask%22%3A%22all%22%7D", "");
  EXPECT_EQ(shone.status(), 200);
  EXPECT_EQ(shone.body, R"({"name":"seen by all"})");
  const hosted<call_kinds::call_kinds_service> other;
  EXPECT_EQ(
      answer(other.address, "GET /call_kinds.CallKinds/Unary?connect=v1&encoding=json&message=%7B%7D", "")
          .status(),
      405);
}

TEST(GrpcppHosts, PagesOfTheNamedOriginsMayCallARelinkedServer) {
  call_kinds::call_kinds_service service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  builder.AddChannelArgument(CORACLE_ARG_WEB, 1);
  builder.AddChannelArgument(CORACLE_ARG_WEB_ORIGINS, "https://one.example, https://another.example");
  const auto server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  const auto of_page = [port](const std::string& origin) {
    return answer("127.0.0.1:" + std::to_string(port), "POST /call_kinds.CallKinds/Unary",
                  "content-type: application/json\r\norigin: " + origin + "\r\n", R"({"ask":"hello"})");
  };
  EXPECT_EQ(of_page("https://one.example").status(), 200);
  EXPECT_EQ(of_page("https://another.example").field("access-control-allow-origin"),
            "https://another.example");
  EXPECT_EQ(of_page("https://third.example").status(), 403);
}

}  // namespace
}  // namespace coracle::testing_support::host_test
