// Messages in a call's arena: handlers that use it cause fewer allocations, with the same replies.
#include "support/allocation_counter.hpp"
#include "support/every_backend.hpp"

#include "coracle/client.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/server.hpp"

#include <google/protobuf/arena.h>
#include <google/protobuf/struct.pb.h>

#include <gtest/gtest.h>

namespace coracle::testing_support::arena_test {
namespace {

using google::protobuf::ListValue;

// Doubles each number of a list.
class lists : public service {
 public:
  explicit lists(bool in_arena) : in_arena_(in_arena) {}
  reply<ListValue> Double(server_context& context, const ListValue& request) {
    EXPECT_EQ(request.GetArena(), in_arena_ ? &context.arena() : nullptr);
    if (!in_arena_) {
      ListValue reply;
      fill(reply, request);
      co_return reply;
    }
    auto* reply = ListValue::default_instance().New(&context.arena());
    fill(*reply, request);
    co_return reply;
  }
  reply<ListValue> DoubleAtOnce(server_context& context, const ListValue& request) {
    auto* reply = ListValue::default_instance().New(&context.arena());
    fill(*reply, request);
    return reply;
  }
  [[nodiscard]] bool wants_arena() const noexcept override { return in_arena_; }
  [[nodiscard]] method_table methods() const noexcept override {
    static constexpr method table[] = {unary_method<&lists::Double>("/lists/Double"),
                                       unary_method<&lists::DoubleAtOnce>("/lists/DoubleAtOnce")};
    return table;
  }

 private:
  static void fill(ListValue& to, const ListValue& from) {
    for (const auto& v : from.values()) to.add_values()->set_number_value(2 * v.number_value());
  }
  bool in_arena_;
};

class arenas : public every_backend {
 protected:
  static ListValue numbers(int n) {
    ListValue list;
    for (int i = 1; i <= n; ++i) list.add_values()->set_number_value(i);
    return list;
  }
  static task<> call_often(generic_stub s, const char* path, const ListValue& request, int times) {
    for (int i = 0; i < times; ++i) {
      const auto reply = co_await s.unary<ListValue>(path, request);
      EXPECT_TRUE(reply.ok()) << reply.status();
      if (!reply) co_return;
      EXPECT_EQ(reply->values_size(), request.values_size());
      EXPECT_EQ(reply->values(request.values_size() - 1).number_value(), 2 * request.values_size());
    }
  }
  // Returns the allocations of one call, after the client and the server, on one loop, have made a few.
  static task<std::size_t> cost(generic_stub s, const char* path, const ListValue& request) {
    constexpr int calls = 20;
    co_await call_often(s, path, request, calls);
    const std::size_t before = test::allocation_count;
    co_await call_often(s, path, request, calls);
    co_return (test::allocation_count - before) / calls;
  }
  std::size_t cost_of(bool in_arena, const char* path, int n) {
    lists service(in_arena);
    server s(rt());
    s.add(service);
    EXPECT_EQ(s.listen("127.0.0.1:0", insecure()), status());
    channel c(rt(), "127.0.0.1:" + std::to_string(s.port()), insecure());
    const ListValue request = numbers(n);
    return run(cost(generic_stub(c), path, request));
  }
};
INSTANTIATE_TEST_SUITE_P(On, arenas, all_kinds, every_backend::case_name);

TEST_P(arenas, TakeTheAllocationsOfRequestAndReplyAway) {
  constexpr int n = 200;  // a request that is too large to be used again by the next call
  const std::size_t without = cost_of(false, "/lists/Double", n);
  const std::size_t with = cost_of(true, "/lists/Double", n);
  EXPECT_LE(with + 2 * n, without) << "each value of request and reply was an allocation";
  // Without a frame, which sanitizer builds allocate on the heap.
  EXPECT_LE(cost_of(true, "/lists/DoubleAtOnce", n), with);
  RecordProperty("without", static_cast<int>(without));
  RecordProperty("with", static_cast<int>(with));
}

// More than an arena keeps between calls.
TEST_P(arenas, HoldLargeMessagesToo) {
  EXPECT_GT(cost_of(true, "/lists/Double", 20'000), 0u);
  EXPECT_GT(cost_of(false, "/lists/DoubleAtOnce", 20'000), 0u);
}

}  // namespace
}  // namespace coracle::testing_support::arena_test
