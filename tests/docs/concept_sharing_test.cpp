// The code of docs/concepts/sharing_state.md.
// --8<-- [start:includes]
#include <coracle/runtime.hpp>

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>
// --8<-- [end:includes]

#include <gtest/gtest.h>

namespace concept_sharing {

// --8<-- [start:lock]
class guest_book {
 public:
  std::size_t add(std::string name) {
    const std::lock_guard held(mutex_);  // never across a co_await
    guests_.push_back(std::move(name));
    return guests_.size();
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> guests_;
};
// --8<-- [end:lock]

// --8<-- [start:owner]
class tally {
 public:
  explicit tally(coracle::loop& owner) : owner_(owner) {}

  // For coroutines on any loop of the runtime.
  coracle::task<int> add(std::string name) { co_return co_await coracle::on(owner_, add_here(name)); }

 private:
  // Runs on the owner loop only, so `counts_` needs no lock.
  coracle::task<int> add_here(const std::string& name) { co_return ++counts_[name]; }

  coracle::loop& owner_;
  std::map<std::string, int> counts_;
};
// --8<-- [end:owner]

coracle::task<> add_often(guest_book& book, tally& counts, std::size_t times) {
  for (std::size_t i = 0; i < times; ++i) {
    book.add("Ada");
    co_await counts.add("Ada");
  }
}

TEST(ConceptSharing, LoopsShareState) {
  coracle::runtime runtime(2);
  guest_book book;
  tally counts(runtime.at(0));
  for (std::size_t i = 0; i < 4; ++i) runtime.spawn_on(runtime.at(i % 2), add_often(book, counts, 100));
  runtime.run();
  EXPECT_EQ(book.add("Grace"), 401u);
  EXPECT_EQ(coracle::sync_wait(runtime, counts.add("Ada")), 401);
}

}  // namespace concept_sharing
