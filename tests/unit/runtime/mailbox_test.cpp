#include "runtime/mailbox.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace coracle::runtime_internal::mailbox_test {
namespace {

struct letter : coro::runnable {
  int sender = 0;
  int number = 0;
};

TEST(Mailbox, GivesLettersInTheOrderTheyWereSent) {
  mailbox box;
  std::vector<letter> letters(5);
  for (int i = 0; i < 5; ++i) {
    letters[static_cast<std::size_t>(i)].number = i;
    box.push(letters[static_cast<std::size_t>(i)]);
  }
  base::intrusive_queue<coro::runnable> got;
  box.take_all(got);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(static_cast<letter*>(got.pop())->number, i);
  EXPECT_EQ(got.pop(), nullptr);
  EXPECT_TRUE(box.empty());
}

TEST(Mailbox, PutsThemBehindWhatTheQueueHas) {
  mailbox box;
  letter first;
  letter second;
  base::intrusive_queue<coro::runnable> got;
  got.push(first);
  box.push(second);
  box.take_all(got);
  EXPECT_EQ(got.pop(), &first);
  EXPECT_EQ(got.pop(), &second);
}

TEST(Mailbox, LosesNothingAndKeepsEachSendersOrderUnderContention) {
  constexpr int senders = 4;
  constexpr int each = 20'000;
  mailbox box;
  std::vector<std::vector<letter>> letters(senders, std::vector<letter>(each));
  std::vector<std::thread> threads;
  for (int s = 0; s < senders; ++s)
    threads.emplace_back([&, s] {
      for (int n = 0; n < each; ++n) {
        letter& l = letters[static_cast<std::size_t>(s)][static_cast<std::size_t>(n)];
        l.sender = s;
        l.number = n;
        box.push(l);
      }
    });
  std::vector<int> next(senders, 0);
  int total = 0;
  base::intrusive_queue<coro::runnable> got;
  while (total < senders * each) {
    box.take_all(got);
    while (coro::runnable* w = got.pop()) {
      auto* l = static_cast<letter*>(w);
      ASSERT_EQ(l->number, next[static_cast<std::size_t>(l->sender)]++);
      ++total;
    }
    std::this_thread::yield();
  }
  for (std::thread& t : threads) t.join();
  EXPECT_TRUE(box.empty());
}

}  // namespace
}  // namespace coracle::runtime_internal::mailbox_test
