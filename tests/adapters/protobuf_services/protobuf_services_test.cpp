// Stock protoc's classes of services over gRPC, against each other and against ours.
#include "coracle/protobuf_services.hpp"

#include "stock_echo.coracle.hpp"
#include "support/echo_fixture.hpp"
#include "support/kept_log.hpp"
#include "support/misuse.hpp"

#include "coracle/coro/event.hpp"
#include "coracle/coro/latch.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/rpc/message_codec.hpp"
#include "coracle/runtime/on.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace coracle::testing_support::protobuf_services_test {
namespace {

using namespace std::chrono_literals;
using google::protobuf::Closure;
using google::protobuf::NewCallback;
using google::protobuf::NewPermanentCallback;
using google::protobuf::RpcController;
using stock::EchoRequest;
using stock::EchoResponse;
using stock::EchoService_Stub;
using our_stub = stock::rpc::EchoService::stub;

EchoRequest request(const std::string& msg) {
  EchoRequest r;
  r.set_msg(msg);
  return r;
}

// Echoes; what else it does is chosen by the message.
class stock_service : public stock::EchoService {
 public:
  void Echo(RpcController* controller, const EchoRequest* request, EchoResponse* response,
            Closure* done) override {
    const std::string& msg = request->msg();
    if (msg == "throw") throw std::runtime_error("secret");
    if (msg == "notify and throw") {
      controller->NotifyOnCancel(NewCallback(this, &stock_service::count_end, controller));
      throw std::runtime_error("secret");
    }
    if (msg == "answer and throw") {
      controller->NotifyOnCancel(NewCallback(this, &stock_service::count_end, controller));
      done->Run();
      throw std::runtime_error("secret");
    }
    if (msg == "notify and answer")
      controller->NotifyOnCancel(NewCallback(this, &stock_service::count_end, controller));
    if (msg == "notify and fail") controller->NotifyOnCancel(failing_.get());
    if (msg == "notify twice") {
      controller->NotifyOnCancel(NewCallback(this, &stock_service::count_notified));
      const std::unique_ptr<Closure> second(NewPermanentCallback(this, &stock_service::count_notified));
      controller->NotifyOnCancel(second.get());
    }
    if (msg == "answer twice") done->Run();
    response->set_msg(msg);
    if (msg == "fail") controller->SetFailed("no echo");
    if (msg == "not found")
      static_cast<protobuf_server_controller*>(controller)->fail(status::not_found("no such echo"));
    if (msg.starts_with("later")) {
      controller->NotifyOnCancel(NewCallback(this, &stock_service::count_notified));
      const std::lock_guard lock(mutex_);
      kept_.emplace_back(done, controller);
      ++kept;
      kept.notify_all();
      on_kept();
      return;
    }
    done->Run();
  }
  // Runs the closures that are kept, the last one first.
  void answer_all() {
    std::vector<std::pair<Closure*, RpcController*>> all;
    {
      const std::lock_guard lock(mutex_);
      all.swap(kept_);
    }
    while (!all.empty()) {
      if (all.back().second->IsCanceled()) ++cancelled;
      all.back().first->Run();
      all.pop_back();
    }
  }
  std::function<void()> on_kept = [] {};
  std::function<void()> on_notified = [] {};
  std::atomic<int> kept{0};
  std::atomic<int> cancelled{0};
  std::atomic<int> notified{0};
  int ends = 0;
  int early_ends = 0;

 private:
  [[noreturn]] static void fail_later() { throw std::runtime_error("no such row"); }
  void count_end(RpcController* controller) {
    ++ends;
    if (controller->IsCanceled()) ++early_ends;
  }
  void count_notified() {
    ++notified;
    notified.notify_all();
    on_notified();
  }
  // One of NewCallback() would not be freed.
  const std::unique_ptr<Closure> failing_{NewPermanentCallback(&fail_later)};
  std::mutex mutex_;
  std::vector<std::pair<Closure*, RpcController*>> kept_;
};

class our_service : public stock::rpc::EchoService::service {
 public:
  reply<EchoResponse> Echo(server_context&, const EchoRequest& request) override {
    EchoResponse r;
    r.set_msg("ours: " + request.msg());
    return r;
  }
};

class protobuf_services : public testing::TestWithParam<world_kind> {
 protected:
  void SetUp() override {
    if (!world_.get()) GTEST_SKIP() << world_.missing();
    serve(served_);
  }
  void TearDown() override {
    stub_.reset();
    protobuf_channel_.reset();
    channel_.reset();
    server_.reset();
  }
  void serve(service& s, const server_options& options = {}) {
    TearDown();
    server_.emplace(rt(), options);
    server_->add(s);
    ASSERT_EQ(server_->listen("127.0.0.1:0", insecure()), status());
    channel_.emplace(rt(), "127.0.0.1:" + std::to_string(server_->port()), insecure());
    protobuf_channel_.emplace(*channel_);
    stub_.emplace(&*protobuf_channel_);
  }
  [[nodiscard]] runtime& rt() noexcept { return *world_.get(); }
  template <class T>
  T run(task<T> t) {
    return sync_wait(rt(), rt().at(0), std::move(t));
  }
  // Makes one call and returns its status.
  status call(const std::string& msg, EchoResponse& response, call_options options = {}) {
    return run(awaited(*stub_, msg, response, std::move(options)));
  }
  static task<status> awaited(EchoService_Stub& stub, std::string msg, EchoResponse& response,
                              call_options options) {
    protobuf_controller controller(std::move(options));
    const EchoRequest r = request(msg);
    stub.Echo(&controller, &r, &response, nullptr);
    const status outcome = co_await controller;
    EXPECT_EQ(controller.Failed(), !outcome.ok());
    EXPECT_EQ(controller.ErrorText(), outcome.message());
    co_return outcome;
  }

  any_world world_{GetParam(), 2};
  stock_service stock_;
  protobuf_service served_{stock_};
  std::optional<server> server_;
  std::optional<channel> channel_;
  std::optional<protobuf_channel> protobuf_channel_;
  std::optional<EchoService_Stub> stub_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, protobuf_services, all_kinds,
                         [](const auto& p) { return name_of(p.param); });

TEST_P(protobuf_services, AStubCallsAServiceAndRunsTheClosureLater) {
  struct ended {
    bool inside = true;
    bool ran = false;
    void run() {
      EXPECT_FALSE(inside);
      ran = true;
    }
  } end;
  protobuf_controller controller;
  EchoResponse response;
  {
    const EchoRequest r = request("hello");
    stub_->Echo(&controller, &r, &response, NewCallback(&end, &ended::run));
  }
  end.inside = false;
  rt().run();
  EXPECT_TRUE(end.ran);
  EXPECT_FALSE(controller.Failed()) << controller.ErrorText();
  EXPECT_EQ(response.msg(), "hello");
}

TEST_P(protobuf_services, EachAnswerReachesItsCallWhateverTheOrder) {
  auto one = [](EchoService_Stub& stub, int n, int& good) -> task<> {
    protobuf_controller controller;
    EchoResponse response;
    const EchoRequest r = request("later " + std::to_string(n));
    stub.Echo(&controller, &r, &response, nullptr);
    co_await controller;
    if (response.msg() == r.msg()) ++good;
  };
  auto all = [](EchoService_Stub& stub, stock_service& s, auto call) -> task<int> {
    constexpr int calls = 20;
    int good = 0;
    latch kept(calls);
    s.on_kept = [&kept] { kept.count_down(); };
    scope work;
    for (int i = 0; i < calls; ++i) work.spawn(call(stub, i, good));
    co_await kept;
    s.answer_all();
    co_await work.join();
    co_return good;
  };
  EXPECT_EQ(run(all(*stub_, stock_, one)), 20);
  EXPECT_EQ(stock_.cancelled, 0);
}

TEST_P(protobuf_services, AnswersComeFromOtherThreads) {
  if (world_.simulated()) return;  // its loops run on the test's thread
  rt().start();
  for (int i = 0; i < 50; ++i) {
    protobuf_controller controller;
    EchoResponse response;
    const EchoRequest r = request("later");
    stub_->Echo(&controller, &r, &response, nullptr);
    stock_.kept.wait(i);
    std::thread(&stock_service::answer_all, &stock_).join();
    controller.wait();
    EXPECT_EQ(response.msg(), "later");
  }
  for (int n = stock_.notified; n != 50; n = stock_.notified) stock_.notified.wait(n);
}

TEST_P(protobuf_services, ACallWithAClosureCanBeAwaitedToo) {
  struct ended {
    std::atomic<int> calls{0};
    void run() { ++calls; }
  } end;
  auto body = [](EchoService_Stub& stub, ended& e) -> task<int> {
    protobuf_controller controller;
    EchoResponse response;
    const EchoRequest r = request("hello");
    stub.Echo(&controller, &r, &response, NewCallback(&e, &ended::run));
    co_await controller;
    co_return e.calls;
  };
  EXPECT_EQ(run(body(*stub_, end)), 1);
  if (world_.simulated()) return;  // its loops run on the test's thread, which may not block
  rt().start();
  protobuf_controller controller;
  EchoResponse response;
  const EchoRequest r = request("hello");
  stub_->Echo(&controller, &r, &response, NewCallback(&end, &ended::run));
  controller.wait();
  EXPECT_EQ(response.msg(), "hello");
  rt().run();
  EXPECT_EQ(end.calls, 2);
}

TEST_P(protobuf_services, OurStubCallsTheStockService) {
  auto body = [](our_stub stub) -> task<result<EchoResponse>> {
    const EchoRequest r = request("from ours");
    co_return co_await stub.Echo(r);
  };
  const auto reply = run(body(our_stub(*channel_)));
  ASSERT_TRUE(reply) << reply.status();
  EXPECT_EQ(reply->msg(), "from ours");
}

TEST_P(protobuf_services, TheStockStubCallsOurService) {
  our_service ours;
  serve(ours);
  EchoResponse response;
  EXPECT_EQ(call("hello", response), status());
  EXPECT_EQ(response.msg(), "ours: hello");
  TearDown();
}

TEST_P(protobuf_services, TheCodecOfTheOptionsEncodesMessages) {
  server_options options;
  options.codecs = {&json_codec()};
  serve(served_, options);
  EchoResponse response;
  call_options json;
  json.codec = &json_codec();
  EXPECT_EQ(call("in JSON", response, json), status());
  EXPECT_EQ(response.msg(), "in JSON");
}

TEST_P(protobuf_services, AFailureOfTheServiceIsAStatus) {
  EchoResponse response;
  EXPECT_EQ(call("fail", response), status(status_code::unknown, "no echo"));
  EXPECT_EQ(call("not found", response), status::not_found("no such echo"));
  const status thrown = call("throw", response);
  EXPECT_EQ(thrown.code(), status_code::unknown);
  EXPECT_EQ(thrown.message().find("secret"), std::string_view::npos);
  EXPECT_EQ(call("hello", response, within(0s)).code(), status_code::deadline_exceeded);
}

// As protobuf documents it: called exactly once, and after the completion if the call was not cancelled.
TEST_P(protobuf_services, TheCallbackOfNotifyOnCancelRunsOnceWhenTheCallEnds) {
  EchoResponse response;
  EXPECT_EQ(call("notify and answer", response), status());
  EXPECT_EQ(stock_.ends, 1);
  // An exception ends the call as one of a handler does, which cancels nothing.
  EXPECT_EQ(call("notify and throw", response), status::unknown("the handler failed"));
  EXPECT_EQ(stock_.ends, 2);
  EXPECT_EQ(call("answer and throw", response), status::unknown("the handler failed"));
  EXPECT_EQ(stock_.ends, 3);
  EXPECT_EQ(stock_.early_ends, 0);
  EXPECT_EQ(call("notify twice", response), status::unknown("the handler failed"));
  EXPECT_EQ(stock_.notified, 1);
}

TEST_P(protobuf_services, ACancelReachesTheServiceWhoseClosureMayRunLater) {
  auto body = [](EchoService_Stub& stub, stock_service& s) -> task<status> {
    event<> kept;
    event<> notified;
    s.on_kept = [&kept] { kept.set(); };
    s.on_notified = [&notified] { notified.set(); };
    protobuf_controller controller;
    EchoResponse response;
    const EchoRequest r = request("later");
    stub.Echo(&controller, &r, &response, nullptr);
    co_await kept;
    controller.StartCancel();
    const status outcome = co_await controller;
    co_await notified;
    co_return outcome;
  };
  EXPECT_EQ(run(body(*stub_, stock_)).code(), status_code::cancelled);
  stock_.answer_all();
  EXPECT_EQ(stock_.cancelled, 1);
  EXPECT_EQ(stock_.notified, 1);
}

TEST_P(protobuf_services, AClosureMayRunAfterItsServerIsGone) {
  protobuf_controller controller;
  EchoResponse response;
  const EchoRequest r = request("later");
  stub_->Echo(&controller, &r, &response, nullptr);
  rt().run_while([&] { return stock_.kept == 0; });
  TearDown();
  rt().run();
  EXPECT_TRUE(controller.Failed());
  stock_.answer_all();
  EXPECT_EQ(stock_.cancelled, 1);
}

TEST_P(protobuf_services, AControllerIsUsedAgainAfterReset) {
  protobuf_controller controller;
  EchoResponse response;
  const EchoRequest fails = request("fail");
  stub_->Echo(&controller, &fails, &response, nullptr);
  rt().run();
  EXPECT_TRUE(controller.Failed());
  controller.Reset();
  EXPECT_FALSE(controller.Failed());
  const EchoRequest good = request("good");
  stub_->Echo(&controller, &good, &response, nullptr);
  test::expect_misuse(
      [&] { stub_->Echo(&controller, &good, &response, nullptr); },
      "the call of /stock.EchoService/Echo was started with the controller of a call in progress");
  rt().run();
  EXPECT_EQ(response.msg(), "good");
}

// A server and a client whose log a test reads.
class failing_closures : public testing::Test {
 protected:
  static runtime_options options_of(logger& log) {
    runtime_options options;
    options.log = &log;
    return options;
  }
  failing_closures() {
    server_.add(served_);
    channel_.emplace(channel(rt_, server_.in_process()));
    stub_.emplace(&*channel_);
  }
  kept_log log_;
  runtime rt_{options_of(log_)};
  stock_service stock_;
  protobuf_service served_{stock_};
  server server_{rt_};
  std::optional<protobuf_channel> channel_;
  std::optional<EchoService_Stub> stub_;
};

[[noreturn]] void fail() { throw std::runtime_error("no such row"); }

TEST_F(failing_closures, ThatOfACallIsLoggedWithTheMethodAndTheCallEnds) {
  protobuf_controller controller;
  EchoResponse response;
  const EchoRequest r = request("hello");
  const std::unique_ptr<Closure> failing(NewPermanentCallback(&fail));
  stub_->Echo(&controller, &r, &response, failing.get());
  rt_.run();
  EXPECT_EQ(response.msg(), "hello");
  EXPECT_THAT(log_.text(),
              ::testing::HasSubstr(
                  "the callback of /stock.EchoService/Echo threw std::runtime_error: no such row\n"));
}

TEST_F(failing_closures, ThatOfNotifyOnCancelIsLoggedWithTheMethod) {
  protobuf_controller controller;
  EchoResponse response;
  const EchoRequest r = request("notify and fail");
  stub_->Echo(&controller, &r, &response, nullptr);
  rt_.run();
  EXPECT_EQ(controller.status(), status());
  EXPECT_THAT(log_.text(),
              ::testing::HasSubstr(
                  "the callback of /stock.EchoService/Echo threw std::runtime_error: no such row\n"));
}

TEST_F(failing_closures, ASecondCallbackOfNotifyOnCancelIsLoggedWithTheRule) {
  protobuf_controller controller;
  EchoResponse response;
  const EchoRequest r = request("notify twice");
  stub_->Echo(&controller, &r, &response, nullptr);
  rt_.run();
  EXPECT_THAT(log_.text(),
              ::testing::HasSubstr("the call of /stock.EchoService/Echo got a second callback of "
                                   "NotifyOnCancel(): pass one for each call"));
}

// Makes one call of a server and a client of its own.
void call_once(const std::string& msg, void (*meanwhile)(protobuf_controller&)) {
  runtime rt;
  stock_service stock;
  protobuf_service served(stock);
  server s(rt);
  s.add(served);
  protobuf_channel to(channel(rt, s.in_process()));
  EchoService_Stub stub(&to);
  protobuf_controller controller;
  EchoResponse response;
  const EchoRequest r = request(msg);
  stub.Echo(&controller, &r, &response, nullptr);
  meanwhile(controller);
  rt.run();
}

TEST(ProtobufServicesDeath, OneLineNamesTheCallAndTheRule) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(call_once("answer twice", [](protobuf_controller&) {}),
               "the call of /stock.EchoService/Echo was answered twice: answer each call once");
  EXPECT_DEATH(call_once("hello", [](protobuf_controller& c) { c.Reset(); }),
               "the call of /stock.EchoService/Echo has lost its controller");
}

TEST_P(protobuf_services, OneTaskAwaitsACallOnItsLoop) {
  auto body = [](EchoService_Stub& stub, stock_service& s, runtime& on, std::string& misuse) -> task<> {
    protobuf_controller controller;
    EchoResponse response;
    const EchoRequest r = request("hello");
    stub.Echo(&controller, &r, &response, nullptr);
    auto waits = [](protobuf_controller& c, std::string& what) -> task<> {
      try {
        co_await c;
      } catch (const usage_error& e) {
        what = e.what();
      }
    };
    scope both;
    both.spawn(waits(controller, misuse));
    both.spawn(waits(controller, misuse));
    co_await both.join();
    EXPECT_THAT(misuse,
                ::testing::HasSubstr("the call of /stock.EchoService/Echo has two concurrent waits for its "
                                     "end: let one task wait"));
    event<> kept;
    s.on_kept = [&kept] { kept.set(); };
    protobuf_controller elsewhere;
    const EchoRequest later = request("later");
    stub.Echo(&elsewhere, &later, &response, nullptr);
    co_await kept;
    co_await coracle::on(on.at(1), waits(elsewhere, misuse));
    EXPECT_THAT(misuse,
                ::testing::HasSubstr("the call of /stock.EchoService/Echo was awaited on another loop"));
    s.answer_all();
    co_await elsewhere;
  };
  std::string misuse;
  run(body(*stub_, stock_, rt(), misuse));
}

TEST(ProtobufServicesMisuse, ThrowsWithTheRule) {
  runtime rt;
  protobuf_channel to(channel(rt, "127.0.0.1:1", insecure()));
  protobuf_controller controller;
  const EchoRequest r = request("x");
  EchoResponse response;
  EchoService_Stub stub(&to);
  test::expect_misuse([&] { stub.Echo(nullptr, &r, &response, nullptr); },
                      "requires a coracle::protobuf_controller");
  stock::StreamingService_Stub streams(&to);
  test::expect_misuse([&] { streams.Watch(&controller, &r, &response, nullptr); }, "no streams");
  class streaming : public stock::StreamingService {
    void Watch(RpcController*, const EchoRequest*, EchoResponse*, Closure*) override {}
  } service;
  test::expect_misuse([&] { protobuf_service{service}; }, "no streams");
  test::expect_misuse([&] { controller.SetFailed("x"); }, "SetFailed() is for the server's side");
  protobuf_server_controller server_side;
  test::expect_misuse([&] { server_side.StartCancel(); }, "StartCancel() is for the client's side");
  auto waits = [](protobuf_controller& c) -> task<> {
    c.wait();
    co_return;
  };
  test::expect_misuse([&] { sync_wait(rt, waits(controller)); }, "co_await the controller");
}

}  // namespace
}  // namespace coracle::testing_support::protobuf_services_test
