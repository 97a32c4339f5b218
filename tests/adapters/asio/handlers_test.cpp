// The completion tokens that are handlers, alone or wrapped, with every kind of wait.
#include "kinds.hpp"

#include "coracle/asio/tokens.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <memory_resource>
#include <thread>
#include <tuple>
#include <utility>

namespace coracle::testing_support::asio_tests::handlers_test {
namespace {

class handlers : public kinds_fixture {
 protected:
  // A handler that reports its arguments.
  template <class Kind>
  auto reporting() {
    return [this](auto&&... args) { done.with<Kind>(std::forward<decltype(args)>(args)...); };
  }
  ended done;
};
INSTANTIATE_TEST_SUITE_P(On, handlers, kernel_kinds, asio_fixture::case_name);

TEST_P(handlers, ACallback) {
  for_each_kind(*this, done, [&]<class Kind>() { Kind::start(*this, reporting<Kind>()); });
}

TEST_P(handlers, AMoveOnlyCallback) {
  for_each_kind(*this, done, [&]<class Kind>() {
    Kind::start(*this, [this, owned = std::make_unique<int>(1)](auto&&... args) {
      EXPECT_EQ(*owned, 1);
      done.with<Kind>(std::forward<decltype(args)>(args)...);
    });
  });
}

TEST_P(handlers, ACallbackThatIsKeptByItsCallerIsCopied) {
  int calls = 0;
  const auto count = [&](const result<echo::Text>&) { ++calls; };
  auto counting = std::function<void(const result<echo::Text>&)>(count);
  async_wait(stub().Say(text("1")), counting);
  async_wait(stub().Say(text("2")), counting);
  run_until([&] { return calls == 2; });
  EXPECT_TRUE(counting);
}

TEST_P(handlers, DetachedNeedsNobody) {
  async_wait(stub().Say(text("hello")), asio::detached);
  async_wait(here(), sleep_until(rt().now()), asio::detached);
  chat.emplace(stub().Chat());
  async_wait(chat->write(text("hello")), asio::detached);
  std::optional<result<std::optional<echo::Text>>> read;
  async_wait(chat->next(), [&](result<std::optional<echo::Text>> r) { read = std::move(r); });
  run_until([&] { return read.has_value(); });
  ASSERT_TRUE(read->ok());
  EXPECT_EQ(read->value()->text(), "hello");
}

TEST_P(handlers, AnExecutorThatIsBound) {
  asio::io_context other;
  auto work = asio::make_work_guard(other);
  std::thread runs([&] { other.run(); });
  for_each_kind(*this, done, [&]<class Kind>() {
    Kind::start(*this, asio::bind_executor(other, [&, report = reporting<Kind>()](auto&&... args) {
      EXPECT_EQ(std::this_thread::get_id(), runs.get_id());
      asio::post(io, [report, all = std::make_tuple(std::forward<decltype(args)>(args)...)]() mutable {
        std::apply(report, std::move(all));
      });
    }));
  });
  work.reset();
  runs.join();
}

TEST_P(handlers, AnExecutorCountsAnOperationAsWork) {
  asio::io_context other;
  bool called = false;
  async_wait(stub().Say(text("hello")),
             asio::bind_executor(other, [&](const result<echo::Text>& r) { called = r.ok(); }));
  std::thread runs([&] { other.run(); });  // returns when no work is left
  bool joined = false;
  std::thread joins([&] {
    runs.join();
    asio::post(io, [&] { joined = true; });
  });
  run_until([&] { return joined; });
  joins.join();
  EXPECT_TRUE(called);
}

TEST_P(handlers, AnExecutorThatIsGivenIsUsedByHandlersWithoutOne) {
  auto on = asio::make_strand(io);
  bool called = false;
  async_wait(on, stub().Say(text("hello")), [&](const result<echo::Text>&) {
    EXPECT_TRUE(on.running_in_this_thread());
    called = true;
  });
  run_until([&] { return called; });
  called = false;
  async_wait(on, here(), sleep_until(rt().now()), [&](error_code) {
    EXPECT_TRUE(on.running_in_this_thread());
    called = true;
  });
  run_until([&] { return called; });
}

// Counts what it has lent.
class counting_memory final : public std::pmr::memory_resource {
 public:
  std::size_t blocks = 0;
  std::size_t lent = 0;

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    ++blocks;
    ++lent;
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override {
    --lent;
    std::pmr::new_delete_resource()->deallocate(p, bytes, alignment);
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }
};

TEST_P(handlers, AnAllocatorThatIsBoundGivesTheMemoryAndGetsItBackBeforeTheCall) {
  counting_memory memory;
  const std::pmr::polymorphic_allocator<std::byte> allocator(&memory);
  for_each_kind(*this, done, [&]<class Kind>() {
    const std::size_t before = memory.blocks;
    Kind::start(*this, asio::bind_allocator(allocator, [&](auto&&... args) {
      EXPECT_EQ(memory.lent, 0u);
      done.with<Kind>(std::forward<decltype(args)>(args)...);
    }));
    EXPECT_GT(memory.blocks, before);
  });
  // With an executor, too.
  bool called = false;
  async_wait(stub().Say(text("hello")),
             asio::bind_executor(io, asio::bind_allocator(allocator, [&](const result<echo::Text>&) {
                                   EXPECT_EQ(memory.lent, 0u);
                                   called = true;
                                 })));
  run_until([&] { return called; });
}

TEST_P(handlers, ASlotThatIsBoundAndNotUsed) {
  asio::cancellation_signal signal;
  for_each_kind(*this, done, [&]<class Kind>() {
    Kind::start(*this, asio::bind_cancellation_slot(signal.slot(), reporting<Kind>()));
  });
  signal.emit(asio::cancellation_type::all);  // reaches nothing
}

TEST_P(handlers, AsTuple) {
  for_each_kind(*this, done, [&]<class Kind>() {
    Kind::start(*this, asio_tokens::as_tuple([this](auto&& all) {
      std::apply([this](auto&&... args) { done.with<Kind>(std::move(args)...); }, std::move(all));
    }));
  });
}

TEST_P(handlers, AppendAndPrepend) {
  for_each_kind(*this, done, [&]<class Kind>() {
    Kind::start(*this, asio_tokens::prepend(
                           [this](int first, auto&&... args) {
                             EXPECT_EQ(first, 7);
                             done.with<Kind>(std::forward<decltype(args)>(args)...);
                           },
                           7));
  });
  std::optional<int> last;
  async_wait(stub().Say(text("hello")), asio_tokens::append(
                                            [&](const result<echo::Text>& r, int l) {
                                              EXPECT_TRUE(r.ok());
                                              last = l;
                                            },
                                            8));
  run_until([&] { return last.has_value(); });
  EXPECT_EQ(last, 8);
}

TEST_P(handlers, RedirectErrorTakesTheErrorOfATimer) {
  error_code into = asio::error::eof;
  for_each_kind(*this, done,
                [&]<class Kind>() { Kind::start(*this, asio::redirect_error(reporting<Kind>(), into)); });
  EXPECT_FALSE(into);
}

#if CORACLE_ASIO_VERSION >= 102400
TEST_P(handlers, ConsignKeepsAnObjectUntilTheCall) {
  for_each_kind(*this, done, [&]<class Kind>() {
    auto kept = std::make_shared<int>(1);
    std::weak_ptr<int> watched = kept;
    Kind::start(*this, asio_tokens::consign(
                           [this, watched](auto&&... args) {
                             EXPECT_FALSE(watched.expired());
                             done.with<Kind>(std::forward<decltype(args)>(args)...);
                           },
                           std::move(kept)));
    EXPECT_FALSE(watched.expired());
  });
}
#endif

#if CORACLE_ASIO_VERSION >= 102600
TEST_P(handlers, AHandlerWithoutItsType) {
  bool called = false;
  asio_tokens::any_completion_handler<void(result<echo::Text>)> any = [&](const result<echo::Text>& r) {
    called = r.ok();
  };
  async_wait(stub().Say(text("hello")), std::move(any));
  run_until([&] { return called; });
  called = false;
  asio_tokens::any_completion_handler<void(result<echo::Text>)> bound =
      asio::bind_executor(io, [&](const result<echo::Text>& r) { called = r.ok(); });
  async_wait(stub().Say(text("hello")), std::move(bound));
  run_until([&] { return called; });
}
#endif

}  // namespace
}  // namespace coracle::testing_support::asio_tests::handlers_test
