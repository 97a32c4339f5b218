// Operations as senders, handlers that return senders, and a GrpcContext as a scheduler.

#include "agrpc_fixture.hpp"
#include "observer.hpp"

#include <stdexec/execution.hpp>

#include <optional>
#include <stdexcept>
#include <tuple>

namespace agrpc_tests::senders_test {

namespace ex = ::stdexec;
using call_kinds::CallKinds;
using call_kinds::Note;
using call_kinds::Query;
using call_kinds::Reply;

static_assert(ex::scheduler<agrpc::GrpcExecutor>);

// Runs the context in a thread of its own, while the test's thread waits for senders.
class senders : public agrpc_fixture {
 public:
  std::optional<std::thread> running;
  std::optional<asio::executor_work_guard<agrpc::GrpcExecutor>> guard;

  void start() {
    guard.emplace(context().get_executor());
    running.emplace([this] { context().run(); });
  }
  void TearDown() override {
    shut_down();
    shutting_down.join();
    guard.reset();
    if (running) running->join();
    agrpc_fixture::TearDown();
  }
};

TEST_F(senders, ScheduleContinuesInTheContext) {
  start();
  const auto here = ex::sync_wait(ex::then(ex::schedule(context().get_scheduler()), [&] {
    return context().get_executor().running_in_this_thread();
  }));
  ASSERT_TRUE(here);
  EXPECT_TRUE(std::get<0>(*here));
}

TEST_F(senders, OperationsStartWithTheirSender) {
  start();
  agrpc::Alarm alarm(context());
  EXPECT_TRUE(ex::sync_wait(alarm.wait(in(std::chrono::milliseconds(1)), agrpc::use_sender)));
  auto kept =
      ex::sync_wait(agrpc::Alarm(context()).wait(in(std::chrono::milliseconds(1)), agrpc::use_sender));
  ASSERT_TRUE(kept);
  EXPECT_TRUE(ex::sync_wait(std::get<0>(*kept).wait(in(std::chrono::milliseconds(1)), agrpc::use_sender)));
  grpc::Alarm plain;
  EXPECT_TRUE(
      ex::sync_wait(agrpc::wait(plain, in(std::chrono::milliseconds(1)), agrpc::use_sender(context()))));
}

TEST_F(senders, MayBeWhatTheOperationsOfAnObjectReturnByDefault) {
  using Client = agrpc::UseSender::as_default_on_t<agrpc::ClientRPC<&CallKinds::Stub::PrepareAsyncUnary>>;
  using Alarm = agrpc::UseSender::as_default_on_t<agrpc::Alarm>;
  using Server = agrpc::ServerRPC<&CallKinds::AsyncService::RequestUnary>;
  agrpc::register_awaitable_rpc_handler<Server>(
      context(), service,
      [](Server& rpc, Server::Request& request) -> asio::awaitable<void> {
        Reply reply;
        reply.set_number(request.number() + 1);
        co_await rpc.finish(reply, grpc::Status::OK);
      },
      rethrow());
  start();
  Alarm alarm(context());
  EXPECT_TRUE(ex::sync_wait(alarm.wait(in(std::chrono::milliseconds(1)))));
  Query request;
  request.set_number(6);
  Reply response;
  grpc::ClientContext client_context;
  set_deadline(client_context);
  const auto status = ex::sync_wait(Client::request(context(), *stub, client_context, request, response));
  ASSERT_TRUE(status);
  EXPECT_TRUE(std::get<0>(*status).ok());
  EXPECT_EQ(response.number(), 7);
  Client rpc(context());
  rpc.start(*stub, request);
  const auto second = ex::sync_wait(rpc.finish(response));
  ASSERT_TRUE(second);
  EXPECT_TRUE(std::get<0>(*second).ok());
  // An executor of the context makes a token, too.
  grpc::Alarm plain;
  EXPECT_TRUE(ex::sync_wait(
      agrpc::wait(plain, in(std::chrono::milliseconds(1)), agrpc::use_sender(context().get_executor()))));
}

TEST_F(senders, AStopCancelsAnOperation) {
  ex::inplace_stop_source source;
  outcome seen;
  agrpc::Alarm alarm(context());
  auto running_wait =
      ex::connect(alarm.wait(in_a_minute(), agrpc::use_sender), observer{&seen, source.get_token()});
  ex::start(running_wait);
  asio::post(context(), [&] { source.request_stop(); });
  context().run();
  EXPECT_EQ(seen.stops, 1);
  auto late = ex::connect(alarm.wait(in_a_minute(), agrpc::use_sender), observer{&seen, source.get_token()});
  ex::start(late);
  EXPECT_EQ(seen.stops, 2);
  EXPECT_EQ(seen.values, 0);
}

// As receivers are written for asio-grpc without a library of senders.
struct plain_receiver {
  int* values;
  int* stops;
  void set_value() const noexcept { ++*values; }
  void set_done() const noexcept { ++*stops; }
  void set_error(std::exception_ptr) const noexcept {}
};

TEST_F(senders, AReceiverNeedNotNameItsConcept) {
  int values = 0;
  int stops = 0;
  const plain_receiver receiver{&values, &stops};
  agrpc::Alarm alarm(context());
  auto wait = alarm.wait(in(std::chrono::milliseconds(1)), agrpc::use_sender).connect(receiver);
  wait.start();
  context().run();
  EXPECT_EQ(values, 1);
  auto cancelled = alarm.wait(in_a_minute(), agrpc::use_sender).connect(receiver);
  cancelled.start();
  alarm.cancel();
  context().run();
  EXPECT_EQ(stops, 1);
  auto scheduled = context().get_scheduler().schedule().connect(receiver);
  scheduled.start();
  context().run();
  EXPECT_EQ(values, 2);
}

TEST_F(senders, AStopEndsARegistrationAfterTheRpcThatItHasAskedFor) {
  using Server = agrpc::ServerRPC<&CallKinds::AsyncService::RequestBidiStream>;
  ex::inplace_stop_source source;
  outcome registered;
  const auto handler = [](Server& rpc) { return rpc.finish(grpc::Status::OK, agrpc::use_sender); };
  auto handlers = ex::connect(agrpc::register_sender_rpc_handler<Server>(context(), service, handler),
                              observer{&registered, source.get_token()});
  ex::start(handlers);
  source.request_stop();
  run([&]() -> asio::awaitable<void> {
    agrpc::ClientRPC<&CallKinds::Stub::PrepareAsyncBidiStream> handled(context());
    co_await handled.start(*stub);
    EXPECT_TRUE((co_await handled.finish()).ok());
    agrpc::ClientRPC<&CallKinds::Stub::PrepareAsyncBidiStream> not_handled(
        context(), [](grpc::ClientContext& c) { c.set_deadline(in(std::chrono::milliseconds(100))); });
    co_await not_handled.start(*stub);
    EXPECT_EQ((co_await not_handled.finish()).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  });
  EXPECT_EQ(registered.stops, 1);
  outcome late;
  auto never = ex::connect(agrpc::register_sender_rpc_handler<Server>(context(), service, handler),
                           observer{&late, source.get_token()});
  ex::start(never);
  EXPECT_EQ(late.stops, 1);
}

TEST_F(senders, HandlersThatReturnSendersHandleTheRpcsOfAMethod) {
  using Server = agrpc::ServerRPC<&CallKinds::AsyncService::RequestUnary>;
  outcome registered;
  auto handlers = ex::connect(agrpc::register_sender_rpc_handler<Server>(
                                  context(), service,
                                  [](Server& rpc, Server::Request& request) {
                                    Reply reply;
                                    reply.set_number(request.number());
                                    return ex::let_value(ex::just(std::move(reply)), [&rpc](Reply& response) {
                                      return rpc.finish(response, grpc::Status::OK, agrpc::use_sender);
                                    });
                                  }),
                              observer{&registered});
  ex::start(handlers);
  start();
  using Client = agrpc::ClientRPC<&CallKinds::Stub::PrepareAsyncUnary>;
  Query request;
  Reply response;
  for (int i = 1; i < 4; ++i) {
    grpc::ClientContext client_context;
    request.set_number(i);
    const auto status = ex::sync_wait(
        Client::request(context(), *stub, client_context, request, response, agrpc::use_sender));
    ASSERT_TRUE(status);
    EXPECT_TRUE(std::get<0>(*status).ok()) << std::get<0>(*status).error_message();
    EXPECT_EQ(response.number(), i);
  }
  shut_down();
  shutting_down.join();
  shutting_down = std::thread([] {});
  guard.reset();
  running->join();
  running.reset();
  EXPECT_EQ(registered.stops, 1);
}

TEST_F(senders, AnErrorOfAHandlerIsThatOfTheRegistration) {
  using Server = agrpc::ServerRPC<&CallKinds::AsyncService::RequestBidiStream>;
  outcome registered;
  auto handlers = ex::connect(
      agrpc::register_sender_rpc_handler<Server>(
          context(), service,
          [](Server&) { return ex::then(ex::just(), [] { throw std::runtime_error("of the handler"); }); }),
      observer{&registered});
  ex::start(handlers);
  run([&]() -> asio::awaitable<void> {
    agrpc::ClientRPC<&CallKinds::Stub::PrepareAsyncBidiStream> rpc(context());
    co_await rpc.start(*stub);
    EXPECT_FALSE((co_await rpc.finish()).ok());
  });
  EXPECT_TRUE(registered.error);
}

TEST_F(senders, RepeatedlyRequestTakesHandlersThatReturnSenders) {
  agrpc::repeatedly_request(
      &CallKinds::AsyncService::RequestUnary, service,
      asio::bind_executor(context(), [&](grpc::ServerContext&, Query& request,
                                         grpc::ServerAsyncResponseWriter<Reply>& writer) {
        Reply reply;
        reply.set_number(request.number());
        return ex::let_value(ex::just(std::move(reply)), [&](Reply& response) {
          return agrpc::finish(writer, response, grpc::Status::OK, agrpc::use_sender(context()));
        });
      }));
  run([&]() -> asio::awaitable<void> {
    grpc::ClientContext client_context;
    Query request;
    request.set_number(5);
    const auto reader =
        agrpc::request(&CallKinds::Stub::AsyncUnary, *stub, client_context, request, context());
    Reply response;
    grpc::Status status;
    co_await agrpc::finish(reader, response, status);
    EXPECT_EQ(response.number(), 5);
  });
}

}  // namespace agrpc_tests::senders_test
