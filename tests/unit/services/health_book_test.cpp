#include "services/health_book.hpp"
#include "support/manual_executor.hpp"

#include <gtest/gtest.h>

#include <deque>

namespace coracle::services::health_book_test {
namespace {

TEST(HealthBook, TakesSoManyWatchersAndAnotherWhenOneHasGone) {
  test::manual_executor loop;
  health_book book;
  std::deque<health_book::watcher> watchers;
  for (std::size_t i = 0; i < health_service::watchers_max; ++i)
    ASSERT_TRUE(watchers.emplace_back(book).admitted());
  EXPECT_FALSE(health_book::watcher(book).admitted());
  watchers.pop_front();
  EXPECT_TRUE(health_book::watcher(book).admitted());
}

TEST(HealthBook, TellsWhoeverWatches) {
  test::manual_executor loop;
  health_book book;
  health_book::watcher watcher(book);
  EXPECT_FALSE(watcher.changed.is_set());
  book.set("a", health_status::serving);
  EXPECT_TRUE(watcher.changed.is_set());
}

TEST(HealthBook, NothingServesOnceItIsClosed) {
  test::manual_executor loop;
  health_book book;
  book.set("a", health_status::serving);
  book.close();
  book.set("a", health_status::serving);
  book.set("b", health_status::serving);
  EXPECT_EQ(book.of("a").status, health_status::not_serving);
  EXPECT_EQ(book.of("b").status, std::nullopt);
  EXPECT_EQ(book.all(), (std::map<std::string, health_status>{{"", health_status::not_serving},
                                                              {"a", health_status::not_serving}}));
}

}  // namespace
}  // namespace coracle::services::health_book_test
