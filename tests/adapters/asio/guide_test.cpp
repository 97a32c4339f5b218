// The code of docs/guides/asio.md.
#include "asio_fixture.hpp"

#include "coracle/asio/yield.hpp"

#if defined(CORACLE_STANDALONE_ASIO)
#include <asio/experimental/awaitable_operators.hpp>
#else
#include <boost/asio/experimental/awaitable_operators.hpp>
#endif

#include <chrono>
#include <cstdio>
#include <exception>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace {

#if defined(CORACLE_STANDALONE_ASIO)
namespace asio = ::asio;
#else
namespace asio = boost::asio;
#endif
using namespace std::chrono_literals;
using echo::Text;
using echo_stub = echo::rpc::Echo::stub;

// --8<-- [start:callback]
void ask(const echo_stub& stub, const Text& question) {
  coracle::async_wait(stub.Say(question, coracle::within(1s)), [](coracle::result<Text> answer) {
    if (answer) std::printf("%s\n", answer->text().c_str());
    else std::printf("%s\n", answer.status().to_string().c_str());
  });
}
// --8<-- [end:callback]

// --8<-- [start:future]
std::future<coracle::result<Text>> ask_for_future(const echo_stub& stub, const Text& question) {
  return coracle::async_wait(stub.Say(question), asio::use_future);
}
// --8<-- [end:future]

// --8<-- [start:stream]
asio::awaitable<std::string> talk(echo_stub stub, Text word) {
  auto chat = stub.Chat(coracle::within(5s));
  const coracle::status written = co_await coracle::async_wait(chat.write(word), asio::use_awaitable);
  if (!written.ok()) co_return written.to_string();
  const auto heard = co_await coracle::async_wait(chat.next(), asio::use_awaitable);
  const coracle::status ended = co_await coracle::async_wait(chat.finish(), asio::use_awaitable);
  co_return ended.ok() && heard.value() ? heard.value()->text() : ended.to_string();
}
// --8<-- [end:stream]

// --8<-- [start:first]
asio::awaitable<bool> hears_within(coracle::bidi_call<Text, Text>& chat, std::chrono::milliseconds limit) {
  using namespace asio::experimental::awaitable_operators;
  asio::steady_timer timer(co_await asio::this_coro::executor, limit);
  const auto first = co_await (coracle::async_wait(chat.next(), asio::use_awaitable) ||
                               timer.async_wait(asio::use_awaitable));
  co_return first.index() == 0;  // else: the read has taken no message
}
// --8<-- [end:first]

// --8<-- [start:inherit]
asio::awaitable<coracle::result<Text>> relay(coracle::call_context call, echo_stub next,
                                             const Text& request) {
  co_return co_await coracle::async_wait(call, next.Say(request), asio::use_awaitable);
}

class relaying final : public echo::rpc::Echo::service {
 public:
  relaying(asio::io_context& io, echo_stub next) : io_(io), next_(std::move(next)) {}

 private:
  coracle::reply<Text> Say(coracle::server_context& context, const Text& request) override {
    co_return co_await coracle::on_executor(io_, relay(coracle::call_context(context), next_, request));
  }
  // --8<-- [end:inherit]
  // --8<-- [start:by_callback]
  coracle::reply<Text> SayAtOnce(coracle::server_context&, const Text& request) override {
    auto answer = asio::async_initiate<const coracle::use_task_t, void(coracle::result<Text>)>(
        [this, &request](auto handler) {
          timer_.expires_after(1ms);
          timer_.async_wait([&request, handler = std::move(handler)](auto /*error*/) mutable {
            std::move(handler)(request);  // or a status
          });
        },
        coracle::use_task);
    co_return co_await std::move(answer);
  }
  // --8<-- [end:by_callback]
  // --8<-- [start:with_yield]
  coracle::reply<Text> Misbehave(coracle::server_context& context, const Text& request) override {
    const coracle::call_context call(context);
    const auto body = [&, call](asio::yield_context yield) {
      return coracle::async_wait(call, next_.Say(request), yield);
    };
    co_return co_await coracle::on_executor(io_.get_executor(), body);
  }
  // --8<-- [end:with_yield]
  asio::io_context& io_;
  echo_stub next_;
  asio::steady_timer timer_{io_};
};

// --8<-- [start:use_task]
coracle::task<int> pause_and_compute(asio::io_context& io, asio::awaitable<int> compute) {
  asio::steady_timer timer(io, 1ms);
  co_await timer.async_wait(coracle::use_task);
  co_return co_await coracle::on_executor(io, std::move(compute));
}
// --8<-- [end:use_task]

using coracle::testing_support::world_kind;
class asio_guide : public coracle::testing_support::asio_tests::asio_fixture {};
INSTANTIATE_TEST_SUITE_P(On, asio_guide, coracle::testing_support::kernel_kinds, asio_guide::case_name);

TEST_P(asio_guide, EveryPieceOfCode) {
  const auto word = coracle::testing_support::asio_tests::text("word");
  relaying service(io, stub());
  coracle::server relays(rt());
  relays.add(service);
  ASSERT_EQ(relays.listen("127.0.0.1:0", coracle::insecure()), coracle::status());
  const coracle::channel to_relay(rt(), "127.0.0.1:" + std::to_string(relays.port()), coracle::insecure());
  const echo_stub relayed(to_relay);

  ask(relayed, word);
  auto future = ask_for_future(relayed, word);
  std::optional<std::string> heard;
  asio::co_spawn(io, talk(stub(), word),
                 [&](std::exception_ptr, std::string text) { heard = std::move(text); });
  int answered = 0;
  const auto count = [&](const coracle::result<Text>& r) { answered += r.ok() ? 1 : 0; };
  coracle::async_wait(relayed.SayAtOnce(word), count);
  coracle::async_wait(relayed.Misbehave(word), count);
  auto silent = stub().Chat();
  std::optional<bool> hears;
  asio::co_spawn(io, hears_within(silent, 1ms), [&](std::exception_ptr, bool h) { hears = h; });
  run_until(
      [&] { return heard && hears && answered == 2 && future.wait_for(0s) == std::future_status::ready; });
  EXPECT_EQ(heard, "word");
  EXPECT_FALSE(*hears);
  EXPECT_EQ(future.get().value().text(), "word");
  const auto seven = []() -> asio::awaitable<int> { co_return 7; };
  const auto keep = [](coracle::task<int> of, int& into) -> coracle::task<> {
    into = co_await std::move(of);
  };
  int computed = 0;
  rt().spawn(keep(pause_and_compute(io, seven()), computed));
  run_until([&] { return computed == 7; });
  driver.reset();
}

TEST_P(asio_guide, ThreeWaysToShareThreads) {
  driver.reset();
  {
    // --8<-- [start:one_thread]
    asio::io_context context;
    coracle::asio_driver drive(context, rt());
    coracle::async_wait(stub().Say(Text()), [&](coracle::result<Text>) { drive.stop(); });
    context.run();  // one thread
    // --8<-- [end:one_thread]
  }
  {
    // --8<-- [start:on_a_loop]
    coracle::loop_context context(rt().at(0));
    const auto work = [](echo_stub stub) -> asio::awaitable<void> {
      const auto answer = co_await coracle::async_wait(stub.Say(Text()), asio::use_awaitable);
      std::printf("%s\n", answer.status().to_string().c_str());
    };
    asio::co_spawn(context, work(stub()), asio::detached);
    rt().run();
    // --8<-- [end:on_a_loop]
  }
}

TEST(asio_guide_strand, SeveralThreads) {
  coracle::testing_support::echo_service service;
  // --8<-- [start:strand]
  coracle::runtime runtime({.backend = coracle::backend_choice::epoll});
  asio::io_context io;
  coracle::asio_driver driver(asio::make_strand(io), runtime);
  // --8<-- [end:strand]
  coracle::server server(runtime);
  server.add(service);
  const coracle::channel channel(runtime, server.in_process());
  std::optional<coracle::status> outcome;
  coracle::async_wait(echo_stub(channel).Say(Text()), [&](const coracle::result<Text>& r) {
    outcome = r.status();
    driver.stop();
  });
  std::thread other([&] { io.run(); });
  io.run();
  other.join();
  EXPECT_EQ(outcome, coracle::status());
}

}  // namespace
