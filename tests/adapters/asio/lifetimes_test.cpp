// The ends of programs: an io_context, a runtime, calls and servers are destroyed in each order, with calls
// in progress in coroutines and callbacks.
#include "asio_fixture.hpp"

#include "coracle/asio/yield.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace coracle::testing_support::asio_tests::lifetimes_test {
namespace {

using namespace std::chrono_literals;

// Whose destructor runs, one after the other.
enum class part { driver, io_context, channel, server, runtime };
using order = std::array<part, 5>;

// The objects of a program, each of which a test destroys when it wants.
struct program {
  explicit program(world_kind kind) : kernel(std::make_unique<any_world>(kind)), io(std::in_place, 1) {
    if (!kernel->get()) return;
    serving.emplace(*kernel->get());
    serving->add(echoes);
    EXPECT_EQ(serving->listen("127.0.0.1:0", insecure()), status());
    to.emplace(*kernel->get(), "127.0.0.1:" + std::to_string(serving->port()), insecure());
    driver.emplace(*io, *kernel->get());
  }
  void destroy(part which) {
    switch (which) {
      case part::driver: driver.reset(); return;
      case part::io_context: io.reset(); return;
      case part::channel: to.reset(); return;
      case part::server: serving.reset(); return;
      case part::runtime: kernel.reset(); return;
    }
  }
  template <class Done>
  void run_until(Done done) {
    while (!done()) io->run_one();
  }

  std::unique_ptr<any_world> kernel;
  std::optional<asio::io_context> io;
  echo_service echoes;
  std::optional<server> serving;
  std::optional<channel> to;
  std::optional<asio_driver> driver;
};

// Notes its destruction, as the frame of a coroutine that has it.
class witness {
 public:
  explicit witness(int& count) noexcept : count_(&count) {}
  witness(witness&& other) noexcept : count_(std::exchange(other.count_, nullptr)) {}
  ~witness() {
    if (count_) ++*count_;
  }

 private:
  int* count_;
};

// Calls that wait for what does not come. Each notes in `waiting` that it has begun.
asio::awaitable<void> ask(echo_stub stub, int& waiting, witness) {
  ++waiting;
  (void)co_await async_wait(stub.Misbehave(text("hang")), asio::use_awaitable);
}
asio::awaitable<void> chat(echo_stub stub, int& waiting, witness) {
  auto call = stub.Chat();
  (void)co_await async_wait(call.write(text("x")), asio::use_awaitable);
  (void)co_await async_wait(call.next(), asio::use_awaitable);
  ++waiting;
  (void)co_await async_wait(call.next(), asio::use_awaitable);
}
asio::awaitable<void> collect(echo_stub stub, int& waiting, witness) {
  auto call = stub.Collect();
  (void)co_await async_wait(call.write(text("x")), asio::use_awaitable);
  ++waiting;
  // Waits for something else than its call.
  asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
  co_await timer.async_wait(asio::use_awaitable);
  (void)co_await async_wait(call.finish(), asio::use_awaitable);
}
asio::awaitable<void> repeat(echo_stub stub, int& waiting, witness) {
  auto call = stub.Repeat(text("x", 1000000));
  (void)co_await async_wait(call.next(), asio::use_awaitable);
  ++waiting;
  asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
  co_await timer.async_wait(asio::use_awaitable);
}
asio::awaitable<void> wait_for_an_hour(loop& on, int& waiting, witness) {
  ++waiting;
  co_await async_wait(on, sleep_until(on.now() + 1h), asio::use_awaitable);
}

class lifetimes : public testing::TestWithParam<std::tuple<world_kind, order>> {
 protected:
  void SetUp() override {
    made_ = std::make_unique<program>(std::get<0>(GetParam()));
    if (!made_->kernel->get()) GTEST_SKIP() << made_->kernel->missing();
  }
  void destroy_in_order() {
    for (const part which : std::get<1>(GetParam())) made_->destroy(which);
  }
  [[nodiscard]] echo_stub stub() { return echo_stub(*made_->to); }

  std::unique_ptr<program> made_;
  int waiting_ = 0;
  int destroyed_ = 0;
};

std::string name_of_case(const testing::TestParamInfo<lifetimes::ParamType>& info) {
  std::string name = name_of(std::get<0>(info.param));
  for (const part which : std::get<1>(info.param)) {
    switch (which) {
      case part::driver: name += "_driver"; break;
      case part::io_context: name += "_io"; break;
      case part::channel: name += "_channel"; break;
      case part::server: name += "_server"; break;
      case part::runtime: name += "_runtime"; break;
    }
  }
  return name;
}

// The driver uses the runtime and the io_context, so that it goes first. The io_context goes after the
// runtime, whose calls end on it: Asio itself permits nothing else. All else may be in each order.
std::vector<order> orders() {
  std::vector<order> all;
  std::array<part, 4> rest{part::io_context, part::channel, part::server, part::runtime};
  std::sort(rest.begin(), rest.end());
  do {
    const auto place = [&](part which) { return std::find(rest.begin(), rest.end(), which); };
    if (place(part::runtime) < place(part::io_context))
      all.push_back({part::driver, rest[0], rest[1], rest[2], rest[3]});
  } while (std::next_permutation(rest.begin(), rest.end()));
  return all;
}
INSTANTIATE_TEST_SUITE_P(Each, lifetimes, testing::Combine(kernel_kinds, testing::ValuesIn(orders())),
                         name_of_case);

TEST_P(lifetimes, OfCoroutinesWithCallsInProgress) {
  asio::io_context& io = *made_->io;
  loop& here = made_->kernel->get()->at(0);
  asio::co_spawn(io, ask(stub(), waiting_, witness(destroyed_)), asio::detached);
  asio::co_spawn(io, chat(stub(), waiting_, witness(destroyed_)), asio::detached);
  asio::co_spawn(io, collect(stub(), waiting_, witness(destroyed_)), asio::detached);
  asio::co_spawn(io, repeat(stub(), waiting_, witness(destroyed_)), asio::detached);
  asio::co_spawn(io, wait_for_an_hour(here, waiting_, witness(destroyed_)), asio::detached);
  made_->run_until([&] { return waiting_ == 5; });
  destroy_in_order();
  EXPECT_EQ(destroyed_, 5);
}

TEST_P(lifetimes, OfCallbacksWithCallsInProgress) {
  asio::io_context& io = *made_->io;
  loop& here = made_->kernel->get()->at(0);
  auto call = std::make_shared<bidi_call<echo::Text, echo::Text>>(stub().Chat());
  bool sent = false;
  async_wait(io.get_executor(), call->write(text("x")), [&](const status& s) { sent = s.ok(); });
  made_->run_until([&] { return sent; });
  const auto on_the_context = [&](auto wait) {
    async_wait(
        io.get_executor(), std::move(wait),
        [call, mine = std::make_shared<witness>(destroyed_)](auto&&...) { FAIL() << "it was not run"; });
  };
  on_the_context(call->next());  // has a message, whose handler is not run any more
  on_the_context(stub().Misbehave(text("hang")));
  on_the_context(stub().Say(text("x")));
  async_wait(io.get_executor(), here, sleep_until(here.now() + 1h),
             [mine = std::make_shared<witness>(destroyed_)](error_code) { FAIL() << "it was not run"; });
  call.reset();
  destroy_in_order();
  EXPECT_EQ(destroyed_, 4);
}

// Futures become ready: they need no io_context.
TEST_P(lifetimes, OfFutures) {
  auto reply = async_wait(stub().Misbehave(text("hang")), asio::use_future);
  auto of_context = async_wait(made_->io->get_executor(), stub().Misbehave(text("hang")), asio::use_future);
  destroy_in_order();
  EXPECT_FALSE(reply.get().ok());
  EXPECT_FALSE(of_context.get().ok());
}

// A stackful coroutine is unwound by its io_context.
TEST_P(lifetimes, OfStackfulCoroutines) {
  const auto body = [this](asio::yield_context yield) {
    const witness mine(destroyed_);
    auto call = stub().Chat();
    (void)async_wait(call.write(text("x")), yield);
    ++waiting_;
    (void)async_wait(call.wait_for_initial_metadata(), yield);
    (void)async_wait(call.next(), yield);
    (void)async_wait(call.next(), yield);
  };
#if CORACLE_ASIO_VERSION < 102400
  asio::spawn(*made_->io, body);
#else
  asio::spawn(*made_->io, body, asio::detached);
#endif
  made_->run_until([&] { return waiting_ == 1; });
  destroy_in_order();
  EXPECT_EQ(destroyed_, 1);
}

}  // namespace
}  // namespace coracle::testing_support::asio_tests::lifetimes_test
