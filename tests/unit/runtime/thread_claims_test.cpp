// What the public headers of the rooms base, net and runtime, and the executors, claim about threads. Several
// plain threads make each such call at once while loops run; nothing may be lost, doubled or seen half
// written. ThreadSanitizer runs these tests, too.
//
//   base/log.hpp                  write(), set_min_level(); record() from several threads
//   base/line_logger.hpp          lines of several threads, while reopen() changes the file
//   base/status.hpp               copies share their text
//   coro/executor.hpp             post()
//   coro/impl/frame_pool.hpp, runtime/runtime_options.hpp  the memory resource is called by whichever thread
// frees a frame
//   coro/post_function.hpp        post_function()
//   net/address.hpp               each thread uses and copies its own
//   runtime/loop.hpp              post(), owner(), index(), log(), backend_name()
//   runtime/impl/parallel_chunks.hpp   next(), failed()
//   runtime/runtime.hpp           every member, with the constructor and the destructor
//   runtime/start.hpp             start(), cancel() and the end of a handle
//   runtime/sync_wait.hpp         sync_wait() by plain threads
//
// The primitives have primitive_thread_claims_test.cpp; what is above these rooms has
// tests/e2e/thread_claims_test.cpp.
#include "support/at_once.hpp"
#include "support/counting_resource.hpp"
#include "support/every_backend.hpp"

#include "coracle/base/line_logger.hpp"
#include "coracle/base/log.hpp"
#include "coracle/base/status.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/net/address.hpp"
#include "coracle/runtime/impl/parallel_chunks.hpp"
#include "coracle/runtime/offload.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/runtime/start.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "coro/post_function.hpp"

#include <gtest/gtest.h>

#include <stdlib.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <exception>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::testing_support::thread_claims_test {
namespace {

constexpr int threads = 4;
constexpr int rounds = 100;  // of each thread

// Counts lines by level.
class counting_log final : public logger {
 public:
  [[nodiscard]] int count(log_level level) const { return counts_[static_cast<std::size_t>(level)]; }
  [[nodiscard]] int broken() const { return broken_; }

 private:
  void record(log_level level, std::string_view message) noexcept override {
    ++counts_[static_cast<std::size_t>(level)];
    if (message.find('\n') != std::string_view::npos) ++broken_;
  }
  std::atomic<int> counts_[4] = {};
  std::atomic<int> broken_{0};
};

class claims_about_threads : public testing::TestWithParam<world_kind> {
 protected:
  [[nodiscard]] runtime_options options(std::size_t loops, std::pmr::memory_resource* memory = nullptr) {
    const auto asked = GetParam() == world_kind::epoll ? backend_choice::epoll : backend_choice::io_uring;
    return runtime_options{.loops = loops, .backend = or_what_is_left(asked), .log = &log_, .memory = memory};
  }
  void make(const runtime_options& o) {
    try {
      rt_.emplace(o);
    } catch (const status_error& e) {
      GTEST_SKIP() << e.what();
    }
  }
  void SetUp() override { make(options(2)); }
  [[nodiscard]] runtime& rt() { return *rt_; }

  static task<> count(std::atomic<int>& n) {
    ++n;
    co_return;
  }
  static task<int> give(int n) { co_return n; }

  counting_log log_;
  std::optional<runtime> rt_;
};
INSTANTIATE_TEST_SUITE_P(On, claims_about_threads, kernel_kinds, every_backend::case_name);

TEST(ThreadClaims, LinesOfSeveralThreadsDoNotMixWhileAFileIsReplaced) {
  std::string folder = (std::filesystem::temp_directory_path() / "log_lines_XXXXXX").string();
  ASSERT_TRUE(::mkdtemp(folder.data()));
  const auto file = line_logger::open(folder + "/log", log_format::logfmt);
  ASSERT_TRUE(file.ok()) << file.status();
  line_logger& log = **file;
  at_once(threads + 1, [&](int thread_index) {
    const std::string text(3'000, static_cast<char>('a' + thread_index));
    for (int i = 0; i < rounds; ++i) {
      if (thread_index < threads) {
        log.write(log_room::net, log_level::error, text);
        continue;
      }
      log.set_min_level(log_room::net, i % 2 ? log_level::debug : log_level::error);
      std::filesystem::rename(folder + "/log", folder + "/log." + std::to_string(i));
      EXPECT_EQ(log.reopen(), status());
    }
  });
  int lines = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line); ++lines) {
      ASSERT_TRUE(line.starts_with("time=")) << line;
      const std::string text = line.substr(line.find("msg=") + 4);
      ASSERT_EQ(text.find_first_not_of(text[0]), text.size() - 3) << text;  // up to the "..."
    }
  }
  EXPECT_EQ(lines, threads * rounds);
  EXPECT_EQ(log.lost(), 0u);
  std::filesystem::remove_all(folder);
}

struct numbered_work : coro::runnable {
  std::vector<int>* into = nullptr;
  int number = 0;
};

TEST_P(claims_about_threads, ALoopRunsTheWorksOfEachThreadInOrder) {
  rt().start();
  std::vector<int> posted[2][threads];  // by loop
  std::vector<int> called[2][threads];
  std::deque<numbered_work> works[threads];
  at_once(threads, [&](int thread_index) {
    for (int i = 0; i < rounds; ++i) {
      const auto at = static_cast<std::size_t>(i % 2);
      loop& to = rt().at(at);
      numbered_work& w = works[thread_index].emplace_back();
      w.into = &posted[at][thread_index];
      w.number = i;
      w.run = [](coro::runnable& self) noexcept {
        auto& mine = static_cast<numbered_work&>(self);
        mine.into->push_back(mine.number);
      };
      to.post(w);
      coro::post_function(to, [&all = called[at][thread_index], i] { all.push_back(i); });
      EXPECT_EQ(&to.owner(), &rt());
      EXPECT_EQ(to.index(), at);
      EXPECT_EQ(&to.log(), &log_);
      EXPECT_EQ(to.backend_name(), rt().backend_name());
    }
  });
  for (std::size_t at = 0; at < 2; ++at) {
    sync_wait(rt(), rt().at(at), give(0));  // behind all of that
    for (int thread_index = 0; thread_index < threads; ++thread_index) {
      std::vector<int> expected;
      for (int i = static_cast<int>(at); i < rounds; i += 2) expected.push_back(i);
      EXPECT_EQ(posted[at][thread_index], expected);
      EXPECT_EQ(called[at][thread_index], expected);
    }
  }
}

task<> fail(std::atomic<int>& n) {
  ++n;
  throw std::runtime_error("on purpose");
  co_return;
}

TEST_P(claims_about_threads, EveryRootThatAThreadSpawnsRunsOnce) {
  std::atomic<int> ran{0};
  std::atomic<int> failed{0};
  at_once(threads, [&](int thread_index) {
    const time_point began = rt().now();
    runtime::work_guard keep_going = rt().keep_running();
    rt().start();
    for (int i = 0; i < rounds; ++i) {
      rt().spawn(count(ran));
      rt().spawn_on(rt().next(), count(ran));
      rt().spawn([](std::atomic<int>& n) { return count(n); }, ran);
      rt().spawn(fail(ran), [&failed](const std::exception_ptr&) { ++failed; });
      if (i % 10 == 0) rt().dump_tasks();
      EXPECT_EQ(sync_wait(rt(), give(thread_index)), thread_index);
      EXPECT_EQ(rt().size(), 2u);
      EXPECT_EQ(&rt().log(), &log_);
      EXPECT_FALSE(rt().stopping());
    }
    EXPECT_GE(rt().now(), began);
  });
  rt().run();
  EXPECT_EQ(ran, 4 * threads * rounds);
  EXPECT_EQ(failed, threads * rounds);
}

TEST_P(claims_about_threads, AWaitThatAThreadStartsEndsOnceWhateverCancelsIt) {
  rt().start();
  std::atomic<int> ended{0};
  at_once(threads, [&](int thread_index) {
    const auto pause = [](duration d) -> task<> { co_await sleep_for(d); };
    for (int i = 0; i < rounds; ++i) {
      started waits = start(rt().next(), pause(std::chrono::microseconds(20 * (i % 5))),
                            [&](const outcome<void>&) { ++ended; });
      started stays = start(rt().next(), pause(std::chrono::hours(1)), [&](const outcome<void>& o) {
        EXPECT_TRUE(o.cancelled());
        ++ended;
      });
      if (i % 2 == 0) waits.cancel();
      if (thread_index % 2 == 0) stays.cancel();
      if (i % 3 == 0) waits.detach();
      static_cast<void>(waits.ended());
    }
  });
  rt().run();
  EXPECT_EQ(ended, 2 * threads * rounds);
}

TEST_P(claims_about_threads, AThreadThatFindsLoop0DrivenWaitsUntilNothingIsLeft) {
  std::atomic<int> ran{0};
  at_once(threads, [&](int thread_index) {
    for (int i = 0; i < rounds; ++i) {
      for (int n = 0; n < 3; ++n) rt().spawn(count(ran));
      if (thread_index == 0) rt().run_for(std::chrono::microseconds(i));
      else if (thread_index == 1) rt().run_until(rt().now());
      else rt().run();
    }
  });
  rt().run();
  EXPECT_EQ(ran, 3 * threads * rounds);
}

task<bool> is_stopped() {
  const coro::environment& e = co_await coro::this_environment();
  co_return e.stop.stop_requested();
}

TEST_P(claims_about_threads, StopsAndRestartsOfAllThreadsAreOne) {
  rt().start();
  for (int i = 0; i < rounds; ++i) {
    at_once(threads, [&](int) {
      rt().stop();
      EXPECT_TRUE(rt().stopping());
      EXPECT_TRUE(sync_wait(rt(), is_stopped()));
    });
    at_once(threads, [&](int) { rt().restart(); });
    EXPECT_FALSE(rt().stopping());
    for (std::size_t at = 0; at < 2; ++at) EXPECT_FALSE(sync_wait(rt(), rt().at(at), is_stopped()));
  }
}

TEST_P(claims_about_threads, RuntimesAreMadeAndEndedByManyThreads) {
  std::atomic<int> ran{0};
  at_once(threads, [&](int) {
    for (int i = 0; i < rounds / 10; ++i) {
      runtime own(options(2));
      for (int n = 0; n < 4; ++n) own.spawn(count(ran));
      const auto blocking = [](std::atomic<int>& n) -> task<> {
        co_await offload([](std::atomic<int>* of) { ++*of; }, &n);
      };
      own.spawn(blocking(ran));
      if (i % 2 == 0) own.run();
      else own.start();
    }
  });
  // A stop may find an offload() that has not begun.
  EXPECT_GE(ran, 4 * threads * (rounds / 10));
}

TEST_P(claims_about_threads, AFrameIsFreedByAnyThread) {
  counting_resource resource;
  rt_.reset();
  make(options(2, &resource));
  const auto make_some = [](int n) -> task<std::vector<task<int>>> {
    std::vector<task<int>> made;
    for (int i = 0; i < n; ++i) made.push_back(give(i));
    co_return made;
  };
  at_once(threads, [&](int thread_index) {
    for (int i = 0; i < rounds; ++i) {
      std::vector<task<int>> made =
          sync_wait(rt(), rt().at(static_cast<std::size_t>(thread_index % 2)), make_some(10));
      EXPECT_EQ(sync_wait(rt(), std::move(made.back())), 9);
    }
  });
  EXPECT_GE(resource.taken(), std::size_t{threads * rounds * 10});
  rt_.reset();
  EXPECT_EQ(resource.open_blocks(), 0);
}

TEST_P(claims_about_threads, ChunksAreTakenOnceAndTheFirstErrorIsKept) {
  constexpr std::size_t elements = 100'000;
  coro::parallel_chunks chunks(elements);
  std::vector<std::atomic<int>> taken(elements);
  at_once(threads, [&](int) {
    while (const auto c = chunks.next())
      for (std::size_t i = c->begin; i < c->end; ++i) ++taken[i];
  });
  for (const std::atomic<int>& n : taken) ASSERT_EQ(n, 1);
  chunks.throw_if_failed();

  coro::parallel_chunks failing(elements);
  std::atomic<std::size_t> first{elements};
  at_once(threads, [&](int) {
    while (const auto c = failing.next()) {
      for (std::size_t lowest = first; c->index < lowest && !first.compare_exchange_weak(lowest, c->index);) {
      }
      failing.failed(*c, std::make_exception_ptr(std::runtime_error(std::to_string(c->index))));
    }
  });
  try {
    failing.throw_if_failed();
    FAIL() << "there was an error";
  } catch (const std::runtime_error& e) {
    EXPECT_EQ(e.what(), std::to_string(first));
  }
}

TEST(ClaimsAboutThreads, ALoggerTakesLinesAndLevelsFromAllThreads) {
  counting_log log;
  logger& kept = stderr_logger();
  at_once(threads, [&](int thread_index) {
    for (int i = 0; i < rounds; ++i) {
      log.set_min_level((thread_index + i) % 2 == 0 ? log_level::info : log_level::error);
      log.write(log_level::error, "always");
      log.write(log_level::warning, "at times");
      log.write(log_level::debug, "never");
      log.error("also always, ", thread_index, '.', i);
      EXPECT_NE(log.min_level(), log_level::debug);
      EXPECT_FALSE(kept.is_enabled(log_level::debug) && !kept.is_enabled(log_level::error));
    }
  });
  EXPECT_EQ(log.count(log_level::error), 2 * threads * rounds);
  EXPECT_LE(log.count(log_level::warning), threads * rounds);
  EXPECT_EQ(log.count(log_level::debug), 0);
  EXPECT_EQ(log.broken(), 0);
}

TEST(ClaimsAboutThreads, CopiesOfAStatusShareTheirTextBetweenThreads) {
  for (int round = 0; round < rounds; ++round) {
    std::optional<status> made(std::in_place, status_code::not_found, "a text of some length, on the heap",
                               "details");
    std::vector<status> copies(threads, *made);
    made.reset();
    at_once(threads, [&](int thread_index) {
      status& mine = copies[static_cast<std::size_t>(thread_index)];
      for (int i = 0; i < 10; ++i) {
        const status another = mine;
        EXPECT_EQ(another.message(), "a text of some length, on the heap");
        EXPECT_EQ(another, mine);
      }
      mine = status();  // the last one frees the text
    });
  }
}

TEST(ClaimsAboutThreads, EachThreadUsesAnAddressOfItsOwn) {
  const auto all = *net::address::parse("[2001:db8::1]:50051");
  at_once(threads, [&](int thread_index) {
    for (int i = 0; i < rounds; ++i) {
      const net::address mine = all.with_port(static_cast<std::uint16_t>(1000 + thread_index));
      EXPECT_EQ(mine.to_string(), "[2001:db8::1]:" + std::to_string(1000 + thread_index));
      EXPECT_EQ(*net::address::parse(mine.to_string()), mine);
    }
  });
}

}  // namespace
}  // namespace coracle::testing_support::thread_claims_test
