#include "base/intrusive_queue.hpp"
#include "base/output_buffer.hpp"
#include "base/slab.hpp"
#include "coracle/base/impl/intrusive_list.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace coracle::base::containers_test {
namespace {

struct item : list_hook {
  explicit item(int v) : value(v) {}
  int value;
};

TEST(IntrusiveList, KeepsOrderAndForgetsTheDestroyed) {
  intrusive_list<item> list;
  item a(1);
  item c(3);
  {
    item b(2);
    list.push_back(b);
    list.push_front(a);
    list.push_back(c);
  }
  EXPECT_EQ(list.pop_front(), &a);
  EXPECT_EQ(list.pop_front(), &c);
  EXPECT_EQ(list.pop_front(), nullptr);
}

TEST(IntrusiveList, TakesAnothersElements) {
  item a(1);
  item b(2);
  intrusive_list<item> from;
  intrusive_list<item> to;
  to.push_back(a);
  from.push_back(b);
  to.take(from);
  EXPECT_TRUE(from.empty());
  EXPECT_EQ(to.pop_front()->value, 1);
  EXPECT_EQ(to.pop_front()->value, 2);
}

TEST(IntrusiveList, LeavesItsElementsWhenItGoesFirst) {
  item a(1);
  {
    intrusive_list<item> list;
    list.push_back(a);
  }
  EXPECT_FALSE(a.linked());
}

struct node {
  node* next = nullptr;
};

TEST(IntrusiveQueue, IsFirstInFirstOut) {
  node nodes[4];
  intrusive_queue<node> q;
  intrusive_queue<node> more;
  q.push(nodes[0]);
  q.push(nodes[1]);
  more.push(nodes[2]);
  more.push(nodes[3]);
  q.take(more);
  EXPECT_TRUE(more.empty());
  for (node& n : nodes) EXPECT_EQ(q.pop(), &n);
  EXPECT_EQ(q.pop(), nullptr);
  q.push(nodes[0]);
  EXPECT_EQ(q.pop(), &nodes[0]);
}

TEST(Slab, ReusesPlacesAndKeepsObjectsInTheirs) {
  slab<std::string, 4> s;
  std::vector<slab<std::string, 4>::index> at;
  for (int i = 0; i < 10; ++i) at.push_back(s.index_of(s.emplace(std::to_string(i))));
  const std::string* const third = &s[at[3]];
  s.erase(s[at[5]]);
  EXPECT_FALSE(s.live(at[5]));
  EXPECT_EQ(s.size(), 9u);
  EXPECT_EQ(s.index_of(s.emplace("new")), at[5]);
  for (int i = 0; i < 100; ++i) s.emplace("more");
  EXPECT_EQ(&s[at[3]], third);
  EXPECT_EQ(*third, "3");
}

TEST(Slab, DestroysWhatIsLeft) {
  auto shared = std::make_shared<int>(1);
  {
    slab<std::shared_ptr<int>> s;
    s.erase(s.emplace(shared));
    s.emplace(shared);
    EXPECT_EQ(shared.use_count(), 2);
  }
  EXPECT_EQ(shared.use_count(), 1);
}

TEST(Slab, GivesItsMemoryBackOnlyWhenItIsEmpty) {
  slab<std::string, 4> s;
  for (int i = 0; i < 10; ++i) s.emplace("long enough for the heap, so that a leak would show");
  s.release();
  EXPECT_EQ(s[9].substr(0, 4), "long");
  for (std::uint32_t i = 0; i < 10; ++i) s.erase(s[i]);
  s.release();
  EXPECT_EQ(s.bound(), 0u);
  EXPECT_FALSE(s.live(9));
  EXPECT_EQ(s.index_of(s.emplace("again")), 0u);
  EXPECT_EQ(s[0], "again");
}

TEST(SlabDeathTest, ErasingTwiceAborts) {
  slab<int> s;
  int& one = s.emplace(1);
  s.erase(one);
  EXPECT_DEATH(s.erase(one), "not in the slab");
}

TEST(Slab, ARefFindsItsObjectAloneAndOnlyWhileItLives) {
  slab<std::string, 4> s;
  using ref = slab<std::string, 4>::ref;
  EXPECT_EQ(s.find(ref()), nullptr);
  std::string& first = s.emplace("first");
  const ref to_first = s.ref_to(first);
  EXPECT_EQ(s.find(to_first), &first);
  s.erase(first);
  EXPECT_EQ(s.find(to_first), nullptr);
  std::string& second = s.emplace("second");
  ASSERT_EQ(&second, &first) << "the place is to be reused";
  EXPECT_EQ(s.find(to_first), nullptr);
  EXPECT_NE(s.ref_to(second), to_first);
  EXPECT_GT(s.ref_to(second), to_first);
}

TEST(Slab, ARefFindsNothingWhenTheMemoryIsGone) {
  slab<std::string, 4> s;
  std::string& first = s.emplace("first");
  const slab<std::string, 4>::ref to_first = s.ref_to(first);
  s.erase(first);
  s.release();
  EXPECT_EQ(s.find(to_first), nullptr);
  EXPECT_EQ(*s.find(s.ref_to(s.emplace("second"))), "second");
}

TEST(OutputBuffer, GivesBackWhatWasPutInHoweverItIsConsumed) {
  std::mt19937 random(7);
  output_buffer b;
  std::string in;
  std::string out;
  for (int i = 0; i < 5000; ++i) {
    if (random() % 2) {
      const std::string piece(random() % 300, static_cast<char>('a' + random() % 26));
      in += piece;
      b.append(as_bytes(piece));
    } else {
      const std::size_t n = random() % (b.size() + 1);
      out += as_text(b.pending().first(n));
      b.consume(n);
    }
  }
  out += as_text(b.pending());
  EXPECT_EQ(out, in);
  EXPECT_LT(b.capacity(), 100'000u) << "consumed bytes are not kept";
}

TEST(OutputBuffer, KeepsItsMemoryUntilReleased) {
  output_buffer b;
  b.append(as_bytes(std::string(100'000, 'x')));
  b.release(0);
  EXPECT_GE(b.capacity(), 100'000u) << "pending bytes stay";
  b.consume(100'000);
  b.release(200'000);
  EXPECT_GE(b.capacity(), 100'000u);
  b.release(1000);
  EXPECT_EQ(b.capacity(), 0u);
}

}  // namespace
}  // namespace coracle::base::containers_test
