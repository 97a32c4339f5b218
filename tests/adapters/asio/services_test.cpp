// Handlers that are written with Asio: as awaitables, with yield_context, and by callback.
#include "asio_fixture.hpp"

#include "coracle/asio/yield.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace coracle::testing_support::asio_tests::services_test {
namespace {

using namespace std::chrono_literals;

// What the handlers share.
class asio_service : public echo::rpc::Echo::service {
 public:
  asio::io_context* io = nullptr;
  const channel* onward = nullptr;
  int cancelled = 0;
};

class awaitable_service final : public asio_service {
  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    co_return co_await on_executor(*io, say(*io, call_context(context), request));
  }
  reply<echo::Text> Collect(server_context& context, reader<echo::Text> texts) override {
    co_return co_await on_executor(*io, collect(call_context(context), texts));
  }
  replies<echo::Text> Repeat(server_context& context, const echo::Text& request) override {
    const writer<echo::Text> out = co_await replies<echo::Text>::writer();
    co_await on_executor(*io, repeat(call_context(context), request, out));
    co_return ok;
  }
  replies<echo::Text> Chat(server_context& context, reader<echo::Text> texts) override {
    const writer<echo::Text> out = co_await replies<echo::Text>::writer();
    co_return co_await on_executor(*io, chat(call_context(context), texts, out));
  }
  reply<echo::Text> Misbehave(server_context& context, const echo::Text& request) override {
    co_return co_await on_executor(*io, misbehave(call_context(context), request));
  }

  static asio::awaitable<result<echo::Text>> say(asio::io_context& on, call_context,
                                                 const echo::Text& request) {
    asio::steady_timer pause(on, 1ms);
    co_await pause.async_wait(asio::use_awaitable);
    if (request.text().empty()) co_return status::not_found("no text");
    co_return request;
  }
  static asio::awaitable<echo::Text> collect(call_context call, reader<echo::Text> texts) {
    echo::Text all;
    for (;;) {
      const auto one = co_await async_wait(call, texts.next(), asio::use_awaitable);
      if (!one) co_return all;
      all.mutable_text()->append(one->text());
    }
  }
  static asio::awaitable<void> repeat(call_context call, const echo::Text& request, writer<echo::Text> out) {
    for (int i = 0; i < request.count(); ++i)
      co_await async_wait(call, out.write(text(request.text(), i)), asio::use_awaitable);
  }
  static asio::awaitable<status> chat(call_context call, reader<echo::Text> texts, writer<echo::Text> out) {
    for (;;) {
      const auto one = co_await async_wait(call, texts.next(), asio::use_awaitable);
      if (!one) co_return ok;
      co_await async_wait(call, out.write(*one), asio::use_awaitable);
    }
  }
  asio::awaitable<echo::Text> misbehave(call_context call, const echo::Text& request) {
    if (request.text() == "throw") throw std::runtime_error("secret");
    if (request.text() == "relay") {
      // The deadline of this call passes to the next one unmentioned.
      const echo_stub next(*onward);
      const auto answer = co_await async_wait(call, next.Misbehave(text("deadline")), asio::use_awaitable);
      co_return answer.value();
    }
    asio::steady_timer hour(*io, 1h);
    try {
      co_await hour.async_wait(asio::use_awaitable);
    } catch (const system_error& e) {
      if (e.code() == asio::error::operation_aborted) ++cancelled;
      throw;
    }
    co_return request;
  }
};

class yield_service final : public asio_service {
  reply<echo::Text> Say(server_context&, const echo::Text& request) override {
    const auto body = [this, &request](asio::yield_context yield) -> result<echo::Text> {
      asio::steady_timer pause(*io, 1ms);
      pause.async_wait(yield);
      if (request.text().empty()) return status::not_found("no text");
      return request;
    };
    co_return co_await on_executor(io->get_executor(), body);
  }
  reply<echo::Text> Collect(server_context& context, reader<echo::Text> texts) override {
    const call_context call(context);
    const auto body = [call, texts](asio::yield_context yield) mutable {
      echo::Text all;
      while (const auto one = async_wait(call, texts.next(), yield)) all.mutable_text()->append(one->text());
      return all;
    };
    co_return co_await on_executor(io->get_executor(), body);
  }
  replies<echo::Text> Repeat(server_context& context, const echo::Text& request) override {
    writer<echo::Text> out = co_await replies<echo::Text>::writer();
    const call_context call(context);
    const auto body = [call, out, &request](asio::yield_context yield) mutable {
      for (int i = 0; i < request.count(); ++i) async_wait(call, out.write(text(request.text(), i)), yield);
    };
    co_await on_executor(io->get_executor(), body);
    co_return ok;
  }
  replies<echo::Text> Chat(server_context& context, reader<echo::Text> texts) override {
    writer<echo::Text> out = co_await replies<echo::Text>::writer();
    const call_context call(context);
    const auto body = [call, texts, out](asio::yield_context yield) mutable {
      while (const auto one = async_wait(call, texts.next(), yield)) async_wait(call, out.write(*one), yield);
    };
    co_await on_executor(io->get_executor(), body);
    co_return ok;
  }
  reply<echo::Text> Misbehave(server_context&, const echo::Text&) override {
    const auto body = [](asio::yield_context) -> echo::Text { throw std::runtime_error("secret"); };
    co_return co_await on_executor(io->get_executor(), body);
  }
};

// Handlers by callback: the handler of Asio that answers may be kept for as long as it takes.
class callback_service final : public asio_service {
  template <class Signature, class Begin>
  static auto answered(Begin begin) {
    return asio::async_initiate<const use_task_t, Signature>(std::move(begin), use_task);
  }
  reply<echo::Text> Say(server_context&, const echo::Text& request) override {
    auto answer = answered<void(result<echo::Text>)>([this, &request](auto handler) {
      auto pause = std::make_shared<asio::steady_timer>(*io, 1ms);
      pause->async_wait([pause, &request, handler = std::move(handler)](error_code) mutable {
        if (request.text().empty()) std::move(handler)(status::not_found("no text"));
        else std::move(handler)(request);
      });
    });
    co_return co_await std::move(answer);
  }
  // Reads and writes until the end; each callback begins the next operation.
  template <class Handler>
  struct conversation : std::enable_shared_from_this<conversation<Handler>> {
    conversation(call_context c, reader<echo::Text> r, writer<echo::Text> w, Handler h)
        : call(c), texts(r), out(w), handler(std::move(h)) {}
    void read() {
      async_wait(call, texts.next(),
                 [self = this->shared_from_this()](std::exception_ptr error, std::optional<echo::Text> one) {
                   if (error || !one) return std::move(self->handler)(error);
                   self->write(*one);
                 });
    }
    void write(const echo::Text& one) {
      async_wait(call, out.write(one), [self = this->shared_from_this()](std::exception_ptr error) {
        if (error) return std::move(self->handler)(error);
        self->read();
      });
    }
    call_context call;
    reader<echo::Text> texts;
    writer<echo::Text> out;
    Handler handler;
  };
  replies<echo::Text> Chat(server_context& context, reader<echo::Text> texts) override {
    writer<echo::Text> out = co_await replies<echo::Text>::writer();
    auto answer = answered<void(std::exception_ptr)>([&context, texts, out](auto handler) {
      using chat = conversation<decltype(handler)>;
      std::make_shared<chat>(call_context(context), texts, out, std::move(handler))->read();
    });
    co_await std::move(answer);
    co_return ok;
  }
  reply<echo::Text> Misbehave(server_context&, const echo::Text&) override {
    auto answer = answered<void(result<echo::Text>)>([](auto handler) { auto dropped = std::move(handler); });
    co_return co_await std::move(answer);
  }
};

template <class Service>
class services : public asio_fixture {
 public:
  Service service;

 protected:
  void SetUp() override {
    if (!kernel.get()) GTEST_SKIP() << kernel.missing();
    service.io = &io;
    serve(service);
    driver.emplace(io, rt());
  }
  result<echo::Text> say(const echo::Text& request) {
    return finished<result<echo::Text>>(stub().Say(request));
  }
  template <class Result, class Operation>
  Result finished(Operation operation) {
    std::optional<Result> got;
    async_wait(std::move(operation), [&](Result r) { got.emplace(std::move(r)); });
    run_until([&] { return got.has_value(); });
    return *std::move(got);
  }
  void expect_answers() {
    EXPECT_EQ(say(text("hello")).value().text(), "hello");
    EXPECT_EQ(say(text("")).status().code(), status_code::not_found);
  }
  void expect_a_collection() {
    auto upload = stub().Collect();
    EXPECT_EQ(finished<status>(upload.write(text("a"))), status());
    EXPECT_EQ(finished<status>(upload.write_last(text("b"))), status());
    EXPECT_EQ(finished<result<echo::Text>>(upload.finish()).value().text(), "ab");
  }
  void expect_repetitions() {
    auto repeated = stub().Repeat(text("again", 3));
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(finished<result<std::optional<echo::Text>>>(repeated.next()).value()->count(), i);
    EXPECT_FALSE(finished<result<std::optional<echo::Text>>>(repeated.next()).value());
    EXPECT_EQ(finished<status>(repeated.finish()), status());
  }
  void expect_a_chat() {
    auto chat = stub().Chat();
    for (const char* word : {"one", "two"}) {
      EXPECT_EQ(finished<status>(chat.write(text(word))), status());
      EXPECT_EQ(finished<result<std::optional<echo::Text>>>(chat.next()).value()->text(), word);
    }
    EXPECT_EQ(finished<status>(chat.finish()), status());
  }
};

using awaitable_handlers = services<awaitable_service>;
INSTANTIATE_TEST_SUITE_P(On, awaitable_handlers, kernel_kinds, asio_fixture::case_name);

TEST_P(awaitable_handlers, EveryKindOfCall) {
  expect_answers();
  expect_a_collection();
  expect_repetitions();
  expect_a_chat();
}

TEST_P(awaitable_handlers, AnExceptionIsUnknownAndSecret) {
  const auto answer = finished<result<echo::Text>>(stub().Misbehave(text("throw")));
  EXPECT_EQ(answer.status().code(), status_code::unknown);
  EXPECT_EQ(answer.status().message().find("secret"), std::string::npos);
}

TEST_P(awaitable_handlers, ACancelledCallCancelsTheCoroutine) {
  asio::cancellation_signal cancel;
  std::optional<result<echo::Text>> got;
  async_wait(stub().Misbehave(text("hang")),
             asio::bind_cancellation_slot(cancel.slot(), [&](result<echo::Text> r) { got = std::move(r); }));
  bool reached = false;  // the handler has begun when a later call on the same connection is answered
  async_wait(stub().Say(text("hello")), [&](const result<echo::Text>&) { reached = true; });
  run_until([&] { return reached; });
  cancel.emit(asio::cancellation_type::terminal);
  run_until([&] { return got && service.cancelled > 0; });
  EXPECT_EQ(got->status().code(), status_code::cancelled);
  EXPECT_EQ(service.cancelled, 1);
}

TEST_P(awaitable_handlers, TheDeadlinePassesToTheCallsOfTheCoroutine) {
  echo_service last;
  server behind(rt());
  behind.add(last);
  ASSERT_EQ(behind.listen("127.0.0.1:0", insecure()), status());
  const channel onward(rt(), "127.0.0.1:" + std::to_string(behind.port()), insecure());
  service.onward = &onward;
  const auto left = finished<result<echo::Text>>(stub().Misbehave(text("relay"), within(20s)));
  EXPECT_GT(left.value().count(), 0);
  const auto none = finished<result<echo::Text>>(stub().Misbehave(text("relay")));
  EXPECT_EQ(none.value().count(), -1);
  driver.reset();
}

// A call_context belongs to the loop of its handler.
class strict_service final : public asio_service {
 public:
  bidi_call<echo::Text, echo::Text>* elsewhere = nullptr;  // a stream of another loop
  const channel* strange = nullptr;  // of another runtime
  std::vector<std::string> misuses;

 private:
  template <class Wrong>
  void misuse(Wrong wrong) {
    try {
      wrong();
      misuses.emplace_back("nothing was thrown");
    } catch (const usage_error& e) {
      misuses.emplace_back(e.what());
    }
  }
  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    const call_context call(context);
    std::thread([&] { misuse([&] { const call_context without(context); }); }).join();
    misuse([&] { async_wait(call, echo_stub(*strange).Say(request), asio::detached); });
    misuse([&] { async_wait(call, elsewhere->next(), asio::detached); });
    return request;
  }
};

using strict_handlers = services<strict_service>;
INSTANTIATE_TEST_SUITE_P(On, strict_handlers, kernel_kinds, asio_fixture::case_name);

TEST_P(strict_handlers, ACallContextIsForItsLoopAndRuntime) {
  runtime other(1);
  const channel strange(other, "127.0.0.1:1", insecure());
  service.strange = &strange;
  other.start();
  auto chat = echo_stub(strange).Chat();
  std::promise<void> started;
  async_wait(chat.start(), [&] { started.set_value(); });
  started.get_future().wait();
  service.elsewhere = &chat;
  EXPECT_EQ(say(text("hello")).value().text(), "hello");
  EXPECT_THAT(service.misuses, ::testing::ElementsAre(
                                   ::testing::HasSubstr("a call_context is made on the loop of the handler"),
                                   ::testing::HasSubstr("a call_context of another runtime"),
                                   ::testing::HasSubstr("a call_context of another loop")));
}

using yield_handlers = services<yield_service>;
INSTANTIATE_TEST_SUITE_P(On, yield_handlers, kernel_kinds, asio_fixture::case_name);

TEST_P(yield_handlers, EveryKindOfCall) {
  expect_answers();
  expect_a_collection();
  expect_repetitions();
  expect_a_chat();
}

TEST_P(yield_handlers, AnExceptionIsUnknown) {
  const auto answer = finished<result<echo::Text>>(stub().Misbehave(text("throw")));
  EXPECT_EQ(answer.status().code(), status_code::unknown);
}

using callback_handlers = services<callback_service>;
INSTANTIATE_TEST_SUITE_P(On, callback_handlers, kernel_kinds, asio_fixture::case_name);

TEST_P(callback_handlers, UnaryAndStreaming) {
  expect_answers();
  expect_a_chat();
}

TEST_P(callback_handlers, AHandlerThatIsDroppedEndsTheCall) {
  const auto answer = finished<result<echo::Text>>(stub().Misbehave(text("drop")));
  EXPECT_EQ(answer.status().code(), status_code::unknown);
}

}  // namespace
}  // namespace coracle::testing_support::asio_tests::services_test
