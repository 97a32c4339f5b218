// Waits as senders, and repeatedly_request() as a sender and with a completion token.

#include "agrpc_fixture.hpp"
#include "observer.hpp"

#include <stdexec/execution.hpp>

#include <stdexcept>
#include <tuple>
#include <vector>

namespace agrpc_tests::wait_senders_test {

namespace ex = ::stdexec;
using call_kinds::CallKinds;
using call_kinds::Note;
using call_kinds::Query;
using call_kinds::Reply;

class wait_senders : public agrpc_fixture {
 public:
  const Reply no_ship;
  [[nodiscard]] auto find_until_it_fails() {
    return [this]() -> asio::awaitable<int> {
      for (int answered = 0;; ++answered) {
        grpc::ClientContext client_context;
        set_deadline(client_context);
        Query request;
        request.set_number(answered);
        Reply response;
        const auto status = co_await agrpc::ClientRPC<&CallKinds::Stub::PrepareAsyncUnary>::request(
            context(), *stub, client_context, request, response);
        if (!status.ok()) co_return answered;
        EXPECT_EQ(response.number(), answered);
        if (answered == 2) co_return answered;
      }
    };
  }
};

TEST_F(wait_senders, AWaiterPassesItsValuesAndAStopEndsTheWaitAlone) {
  agrpc::Waiter<void(bool)> waiter;
  agrpc::Alarm alarm(context());
  waiter.initiate([&](auto&& handler) { alarm.wait(in_a_minute(), std::move(handler)); });
  ex::inplace_stop_source source;
  outcome stopped, waits, late;
  auto first = ex::connect(waiter.wait(agrpc::use_sender), observer{&stopped, source.get_token()});
  auto second = ex::connect(waiter.wait(agrpc::use_sender), observer{&waits});
  ex::start(first);
  ex::start(second);
  source.request_stop();
  EXPECT_EQ(stopped.stops, 1);
  EXPECT_EQ(waits.values, 0);
  alarm.cancel();
  context().run();
  EXPECT_TRUE(waiter.is_ready());
  EXPECT_EQ(waits.values, 1);
  EXPECT_FALSE(waits.last);
  EXPECT_EQ(stopped.values, 0);
  auto third = ex::connect(waiter.wait(agrpc::use_sender), observer{&late});
  ex::start(third);
  EXPECT_EQ(late.values, 1);
  auto fourth = ex::connect(waiter.wait(agrpc::use_sender), observer{&late, source.get_token()});
  ex::start(fourth);
  EXPECT_EQ(late.stops, 1);
}

TEST_F(wait_senders, StopsAndEventsOfManyThreadsEndEachWaitOnce) {
  for (int round = 0; round != 200; ++round) {
    agrpc::CancelSafe<void(bool)> safe;
    ex::inplace_stop_source source;
    outcome seen;
    auto wait = ex::connect(safe.wait(agrpc::use_sender), observer{&seen, source.get_token()});
    auto set = safe.token();
    std::vector<std::thread> threads;
    threads.emplace_back([&] { ex::start(wait); });
    threads.emplace_back([&] { source.request_stop(); });
    threads.emplace_back([&] { set(true); });
    for (auto& t : threads) t.join();
    EXPECT_EQ(seen.values + seen.stops, 1);
  }
}

TEST_F(wait_senders, CancelSafeAndGrpcStreamWaitForAlarms) {
  agrpc::GrpcCancelSafe safe;
  grpc::Alarm first, second;
  agrpc::wait(first, in(std::chrono::milliseconds(1)), asio::bind_executor(context(), safe.token()));
  agrpc::GrpcStream stream(context());
  stream.initiate([&](auto&& token) {
    agrpc::wait(second, in(std::chrono::milliseconds(1)), std::forward<decltype(token)>(token));
  });
  outcome by_safe, by_stream, clean;
  auto waits_for_safe = ex::connect(safe.wait(agrpc::use_sender), observer{&by_safe});
  auto waits_for_stream = ex::connect(stream.next(agrpc::use_sender), observer{&by_stream});
  ex::start(waits_for_safe);
  ex::start(waits_for_stream);
  context().run();
  EXPECT_TRUE(by_safe.last);
  EXPECT_TRUE(by_stream.last);
  auto cleanup = ex::connect(stream.cleanup(agrpc::use_sender), observer{&clean});
  ex::start(cleanup);
  EXPECT_EQ(clean.values, 1);
}

struct watching : agrpc::DefaultServerRPCTraits {
  static constexpr bool NOTIFY_WHEN_DONE = true;
};

TEST_F(wait_senders, WaitForDoneIsASender) {
  using Server = agrpc::ServerRPC<&CallKinds::AsyncService::RequestBidiStream, watching>;
  outcome gone;
  auto handlers =
      ex::connect(agrpc::register_sender_rpc_handler<Server>(
                      context(), service, [](Server& rpc) { return rpc.wait_for_done(agrpc::use_sender); }),
                  observer{&gone});
  ex::start(handlers);
  run([&]() -> asio::awaitable<void> {
    agrpc::ClientRPC<&CallKinds::Stub::PrepareAsyncBidiStream> rpc(context());
    EXPECT_TRUE(co_await rpc.start(*stub));
    rpc.cancel();
    EXPECT_EQ((co_await rpc.finish()).error_code(), grpc::StatusCode::CANCELLED);
  });
  EXPECT_EQ(gone.stops, 1);
}

TEST_F(wait_senders, RepeatedlyRequestIsASenderThatEndsWithTheServer) {
  outcome ended;
  auto requests = ex::connect(
      agrpc::repeatedly_request(
          &CallKinds::AsyncService::RequestUnary, service,
          [this](grpc::ServerContext&, Query& request, grpc::ServerAsyncResponseWriter<Reply>& writer) {
            Reply reply;
            reply.set_number(request.number());
            return ex::let_value(ex::just(std::move(reply)), [this, &writer](Reply& response) {
              return agrpc::finish(writer, response, grpc::Status::OK, agrpc::use_sender(context()));
            });
          },
          agrpc::use_sender(context())),
      observer{&ended});
  ex::start(requests);
  run([&]() -> asio::awaitable<void> { EXPECT_EQ(co_await find_until_it_fails()(), 2); });
  EXPECT_EQ(ended.values, 1);
}

TEST_F(wait_senders, AStopEndsTheRequestsWithTheNextRpc) {
  ex::inplace_stop_source source;
  outcome ended;
  auto requests =
      ex::connect(agrpc::repeatedly_request(
                      &CallKinds::AsyncService::RequestUnary, service,
                      [&](grpc::ServerContext&, Query&, grpc::ServerAsyncResponseWriter<Reply>& writer) {
                        return agrpc::finish(writer, no_ship, grpc::Status::OK, agrpc::use_sender(context()));
                      },
                      agrpc::use_sender(context())),
                  observer{&ended, source.get_token()});
  ex::start(requests);
  source.request_stop();
  EXPECT_EQ(ended.stops, 0);
  run([&]() -> asio::awaitable<void> {
    grpc::ClientContext client_context;
    set_deadline(client_context);
    Query request;
    Reply response;
    const auto status = co_await agrpc::ClientRPC<&CallKinds::Stub::PrepareAsyncUnary>::request(
        context(), *stub, client_context, request, response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(ended.stops, 1);
  });
}

TEST_F(wait_senders, AnExceptionOfTheHandlerIsTheErrorOfTheRequests) {
  outcome ended;
  auto requests =
      ex::connect(agrpc::repeatedly_request(
                      &CallKinds::AsyncService::RequestUnary, service,
                      [&](grpc::ServerContext& rpc, Query&, grpc::ServerAsyncResponseWriter<Reply>& writer) {
                        rpc.TryCancel();  // nothing finishes it
                        if (stub) throw std::runtime_error("of the handler");
                        return agrpc::finish(writer, no_ship, grpc::Status::OK, agrpc::use_sender(context()));
                      },
                      agrpc::use_sender(context())),
                  observer{&ended});
  ex::start(requests);
  run([&]() -> asio::awaitable<void> { EXPECT_EQ(co_await find_until_it_fails()(), 0); });
  EXPECT_TRUE(ended.error);
}

TEST_F(wait_senders, RepeatedlyRequestTellsACompletionTokenWhenItEnds) {
  asio::cancellation_signal signal;
  int ended = 0;
  const auto handler =
      asio::bind_executor(context(),
                          [&](grpc::ServerContext&, Query& request,
                              grpc::ServerAsyncResponseWriter<Reply>& writer) -> asio::awaitable<void> {
                            Reply reply;
                            reply.set_number(request.number());
                            co_await agrpc::finish(writer, reply, grpc::Status::OK);
                          });
  agrpc::repeatedly_request(&CallKinds::AsyncService::RequestUnary, service, handler, [&] { ++ended; });
  asio::co_spawn(
      context(),
      [&]() -> asio::awaitable<void> {
        const auto talk = asio::bind_executor(
            context(),
            [](grpc::ServerContext&, grpc::ServerAsyncReaderWriter<Note, Note>& stream)
                -> asio::awaitable<void> { co_await agrpc::finish(stream, grpc::Status::OK); });
        co_await agrpc::repeatedly_request(&CallKinds::AsyncService::RequestBidiStream, service, talk,
                                           asio::bind_cancellation_slot(signal.slot(), asio::use_awaitable));
        ++ended;
      },
      rethrow());
  run([&]() -> asio::awaitable<void> {
    EXPECT_EQ(co_await find_until_it_fails()(), 2);
    signal.emit(asio::cancellation_type::all);
    EXPECT_EQ(ended, 0);
    agrpc::ClientRPC<&CallKinds::Stub::PrepareAsyncBidiStream> rpc(context());
    EXPECT_TRUE(co_await rpc.start(*stub));
    EXPECT_TRUE((co_await rpc.finish()).ok());
    EXPECT_EQ(ended, 1);
  });
  EXPECT_EQ(ended, 2);
}

}  // namespace agrpc_tests::wait_senders_test
